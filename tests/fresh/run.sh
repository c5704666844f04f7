#!/bin/bash
# Makes a minimal Debian 12 with nothing but make and git, clones this tree into it, and does there what the README says: inside.sh.
# The network and the certificates are those of this machine, and so are the sources of its packages.
# usage: run.sh quick|slow [TEST-TARGET...]     (needs root)
#   slow: on one core, beside a process that never rests
set -euo pipefail
cd "$(dirname "$0")/../.."
pace=$1
shift
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null && exec sudo -n --preserve-env "$0" "$pace" "$@"
  echo "fresh machine: a Debian of its own needs root" >&2
  exit 1
fi

work=$PWD/build/fresh
base=$work/base.tar
root=$work/root
neighbour=
leave() {
  [ -z "$neighbour" ] || kill "$neighbour" 2>/dev/null || true
  rm -rf --one-file-system "$root"
}
trap leave EXIT

# What this machine knows about reaching others: apt's settings of it, certificates, and where pip and maven look.
settings_of_apt() { apt-config dump --format '%F "%v";%n' Acquire | grep -vE '^Acquire::(Changelogs|IndexTargets|Languages|CompressionTypes|GzipIndexes)' || true; }
sources=()
for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.{list,sources}; do
  if [ -s "$file" ] && grep -q bookworm "$file"; then sources+=("$file"); fi
done

mkdir -p "$work"
if [ ! -e "$base" ]; then
  settings_of_apt >"$work/apt.conf"
  mmdebstrap --variant=minbase --include=make,git --aptopt="$work/apt.conf" bookworm "$work/unfinished.tar" "${sources[@]}" >"$work/bootstrap.log" 2>&1 ||
    { tail -n 30 "$work/bootstrap.log" >&2; exit 1; }
  mv "$work/unfinished.tar" "$base"
fi
rm -rf --one-file-system "$root"
mkdir -p "$root"
tar -C "$root" --numeric-owner --exclude './dev/*' -xf "$base"
settings_of_apt >"$root/etc/apt/apt.conf.d/90reach"
for path in /usr/local/share/ca-certificates /etc/pip.conf; do
  [ ! -e "$path" ] || { mkdir -p "$root$(dirname "$path")"; cp -rT "$path" "$root$path"; }
done
setting=()
while IFS='=' read -r name value; do
  setting+=("--setenv=$name=$value")
  # A folder of this machine, not a file that the machine makes itself.
  case $value in /etc/*) ;; /*) [ ! -d "$value" ] || setting+=("--bind-ro=$value") ;; esac
done < <(env | grep -iE '^(https?_proxy|no_proxy|PIP_[A-Z_]+|SSL_CERT_(FILE|DIR))=' || true)

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
  --resolv-conf=replace-host "${setting[@]}" /bin/bash /seqd/tests/fresh/inside.sh "$@" </dev/null
