#!/bin/bash
# Makes a minimal Debian 12 with nothing but make and git, clones this tree into it, and does there what the README says: inside.sh.
# The network and the certificates are those of this machine, and so are the sources of its packages.
# usage: run.sh quick|slow [TEST-TARGET...]     (needs root)
#   slow: on one core, beside a process that never rests
set -euo pipefail
cd "$(dirname "$0")/../.."
pace=$1
shift
# shellcheck source=tests/machine/boot.sh
source tests/machine/boot.sh
# shellcheck source=tests/machine/debian.sh
source tests/machine/debian.sh
as_root "$0" "$pace" "$@"

work=$PWD/build/fresh
base=$work/base.tar
root=$work/root
neighbour=
leave() {
  [ -z "$neighbour" ] || kill "$neighbour" 2>/dev/null || true
  rm -rf --one-file-system "$root"
}
trap leave EXIT

make_base "$base" make,git
unpack_base "$base" "$root"
reach "$root"
setting=("${reaching[@]}")

git clone -q --no-hardlinks "file://$PWD" "$root/seqd"
echo "fresh machine: $(git -C "$root/seqd" log -1 --format='%h %s'); what is not committed is not in it"

on=()
if [ "$pace" = slow ]; then
  core=$(taskset -cp $$ | sed 's/.*: *//; s/[-,].*//')
  on=(taskset -c "$core")
  "${on[@]}" bash -c 'while :; do :; done' &
  neighbour=$!
fi
# All that root may do on a machine of its own: the tests boot a container in it, mount loop devices, write to /sys and trace system calls.
for device in /dev/loop-control /dev/loop[0-9]*; do [ ! -e "$device" ] || setting+=("--bind=$device"); done
SYSTEMD_SECCOMP=0 SYSTEMD_NSPAWN_API_VFS_WRITABLE=1 "${on[@]}" systemd-nspawn -q -D "$root" --register=no --keep-unit --pipe --capability=all \
  "${setting[@]}" /bin/bash /seqd/tests/fresh/inside.sh "$@" </dev/null
