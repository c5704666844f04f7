#!/bin/bash
# Installs the Debian packages named as arguments that are not installed yet, and says one line about each. Asks nothing.
# As root directly, else by sudo. Ends with 0 when all are there.
set -euo pipefail

# One at a time: apt-get waits for dpkg's lock, not for that of the package lists.
exec 9<"$0"
flock 9

missing=()
for package in "$@"; do
  state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$state" = installed ] || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || {
    echo "seqd: these packages are missing and there is no sudo; as root: apt-get install ${missing[*]}" >&2
    exit 1
  }
  as_root=(sudo)
fi

for package in "${missing[@]}"; do echo "seqd: installing the Debian package $package"; done
log=$(mktemp)
trap 'rm -f "$log"' EXIT
apt() { "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -y -o Dpkg::Use-Pty=0 -o DPkg::Lock::Timeout=300 "$@" >"$log" 2>&1 9<&-; }
install() { apt install --no-install-recommends "${missing[@]}"; }
# A package list that was never fetched, or is old, knows too little: fetch it and try once more.
install || { apt update && install; } || {
  cat "$log" >&2
  echo "seqd: apt-get could not install: ${missing[*]}" >&2
  exit 1
}
