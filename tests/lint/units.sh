#!/bin/bash
# The units, as installed, hold against systemd itself: they are understood, and the sandbox stays tight.
# usage: units.sh BUILD
set -euo pipefail
build=$(realpath "$1")
units=$(mktemp -d)
trap 'rm -rf "$units"' EXIT

# The programs of the build stand in for the installed ones, because verify looks whether they are there.
for unit in seqd.service seqd-purge@.service; do
  sed -e "s,@sbindir@,$build,g; s,@bindir@,$build,g" "packaging/systemd/$unit.in" >"$units/$unit"
done
cp packaging/systemd/*.socket packaging/systemd/*.timer "$units"
! grep -n '@[a-z]*dir@' "$units"/*.service || { echo "units: a name was not filled in" >&2; exit 1; }

verify() {
  local complaints
  complaints=$(systemd-analyze --man=no --recursive-errors=no verify "$@" 2>&1)
  [ -z "$complaints" ] || { echo "$complaints" >&2; exit 1; }
}
verify "$units/seqd.service" "$units/seqd.socket" "$units/seqd-purge@orders.service" "$units/seqd-purge@orders.timer"

exposure() { systemd-analyze security --offline=true --no-pager --threshold="$2" "$1" | tail -n 1; }
exposure "$units/seqd.service" 6
exposure "$units/seqd-purge@.service" 5
# With a drop-in that opens the network; offline, systemd-analyze reads one file only.
mkdir "$units/open"
for drop_in in 40-metrics-port:11 50-mongodb:13 50-dynamodb:13; do
  cat "$units/seqd.service" "packaging/systemd/${drop_in%:*}.conf" >"$units/open/seqd.service"
  exposure "$units/open/seqd.service" "${drop_in#*:}"
done

mkdir "$units/seqd.service.d"
cp packaging/systemd/[45]0-*.conf "$units/seqd.service.d"
verify "$units/seqd.service"

dry=$(systemd-sysusers --dry-run --inline "$(grep '^u' packaging/systemd/sysusers.conf)" 2>&1) || { echo "$dry" >&2; exit 1; }
echo "units: good"
