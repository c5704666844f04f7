#!/bin/bash
# Installs the build into a throwaway copy of this system (an overlay of /), boots a real systemd there twice, and runs
# the checks of first_boot.sh and second_boot.sh inside. Prints "N passed, N failed".
# usage: run.sh BUILD   (needs root; fails where a container cannot be booted)
set -euo pipefail
cd "$(dirname "$0")/../.."
build=${1:-build}

if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null && exec sudo -n "$0" "$@"
  echo "service tests: booting systemd in a container needs root" >&2
  exit 1
fi

scratch=$(mktemp -d)
exchange=$scratch/exchange # what the container and we share
root=$scratch/root
leave() {
  umount "$root" 2>/dev/null || umount -l "$root" 2>/dev/null || true
  umount "$scratch" 2>/dev/null || umount -l "$scratch" 2>/dev/null || true
  rmdir "$scratch" 2>/dev/null || true # still busy, it goes with the machine
}
mount -t tmpfs tmpfs "$scratch"
trap leave EXIT
mkdir "$scratch"/{upper,overlay-work,root,exchange}
mount -t overlay overlay -o "lowerdir=/,upperdir=$scratch/upper,workdir=$scratch/overlay-work" "$root"

# What this machine's own installation may hold is not what is tested.
rm -rf "$root"/etc/seqd "$root"/var/lib/seqd "$root"/etc/credstore "$root"/etc/systemd/system/seqd*
make --no-print-directory BUILD="$build" DESTDIR="$root" PREFIX=/usr install
cp tests/service/*.sh tests/service/*.py "$build/tools/kill_client" "$exchange"
# The programs that the README shows are built inside, too.
program_of_the_readme() { awk -v fence='\140\140\140' '$0 == fence { inside = 0 } inside; $0 == fence language { inside = 1 }' language="$1" README.md; }
program_of_the_readme c >"$exchange/readme.c"
cp client-lib/examples/next.cc "$exchange/example.cc"
echo 0 0 >"$exchange/score"

# boot NAME: runs NAME.sh as the only job of a booted system and shows what it said. The limits end what hangs.
boot() {
  rm -f "$exchange/finished"
  cat >"$root/etc/systemd/system/service-test.service" <<UNIT
[Unit]
DefaultDependencies=no
Requires=basic.target
After=basic.target
[Service]
Type=oneshot
TimeoutStartSec=720s
ExecStart=/bin/bash /exchange/$1.sh
StandardOutput=append:/exchange/$1.out
StandardError=append:/exchange/$1.out
# However the checks end, the container does.
ExecStopPost=/bin/systemctl exit
UNIT
  local status=0
  timeout --kill-after=10 900 systemd-nspawn -q -D "$root" --boot --register=no --keep-unit --private-network \
    -M "seqd-service-$$" --bind="$exchange:/exchange" systemd.unit=service-test.service \
    </dev/null >"$exchange/$1.console" 2>&1 || status=$?
  cat "$exchange/$1.out" 2>/dev/null || true
  if [ ! -e "$exchange/finished" ]; then
    echo "FAIL $1: the checks did not come to their end (container status $status); its console said:"
    tail -n 25 "$exchange/$1.console"
    read -r passed failed <"$exchange/score"
    echo "$passed $((failed + 1))" >"$exchange/score"
  fi
}
boot first_boot
boot second_boot
read -r passed failed <"$exchange/score"
if [ "$failed" -ne 0 ]; then
  echo "--- journal of seqd"
  tail -n 80 "$exchange/journal.txt" 2>/dev/null || true
fi

# What install brought, uninstall takes away: in a tree that holds nothing else.
mkdir "$scratch/installed"
make --no-print-directory BUILD="$build" DESTDIR="$scratch/installed" PREFIX=/usr install
brought=$(find "$scratch/installed" -type f | wc -l)
make --no-print-directory BUILD="$build" DESTDIR="$scratch/installed" PREFIX=/usr uninstall
left=$(find "$scratch/installed" ! -type d)
if [ "$brought" -gt 10 ] && [ -z "$left" ]; then
  passed=$((passed + 1)); echo "ok   UninstallLeavesNothing ($brought files came and went)"
else
  failed=$((failed + 1)); echo "FAIL UninstallLeavesNothing: $brought came, these stayed: $left"
fi

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
