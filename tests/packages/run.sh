#!/bin/bash
# Boots a Debian 12 of its own with a real systemd and does there with the packages what an administrator does: first_boot.sh,
# second_boot.sh, stores_boot.sh. apt takes them from files, and their dependencies from a cache that is filled before, because the booted system
# has no network. The version before is the same tree with a lower number. Prints "N passed, N failed".
# usage: run.sh PACKAGES KILL_CLIENT     PACKAGES is what build-deb.sh made   (needs root)
set -euo pipefail
cd "$(dirname "$0")/../.."
packages=$1 kill_client=$2
# shellcheck source=tests/machine/boot.sh
source tests/machine/boot.sh
# shellcheck source=tests/machine/debian.sh
source tests/machine/debian.sh
as_root "$0" "$@"

# The same objects: only what debhelper makes of them is made again.
before=build/deb-before
now_is=$(dpkg-parsechangelog -l "$packages/seqd/debian/changelog" -S Version)
before_is=${now_is%-*}-0~before
if [ ! -e "$before/built" ] || [ "$(cat "$before/built")" != "$before_is" ]; then
  rm -rf "$before"
  mkdir -p "$before"
  cp -a "$packages/seqd" "$before"
  rm "$before/seqd/debian/files"
  sed -i "1s/(.*)/($before_is)/" "$before/seqd/debian/changelog"
  (cd "$before/seqd" && env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL DEB_BUILD_OPTIONS="nocheck noautodbgsym" DEB_BUILD_PROFILES=nocheck \
    LC_ALL=C.UTF-8 dpkg-buildpackage -b -nc -us -uc) >"$before/build.log" 2>&1 || { tail -n 30 "$before/build.log" >&2; exit 1; }
  echo "$before_is" >"$before/built"
fi

mongod=$(/usr/bin/python3 -B -c "import sys; sys.path.insert(0, 'tests/integration/servers'); import mongod_binary; print(mongod_binary.find_mongod())")

work=$PWD/build/packages-machine
make_base "$work/base.tar" systemd,systemd-sysv,python3-minimal,libpython3-stdlib,gcc,g++,libc6-dev,pkg-config,zsh,fish,bash-completion,man-db
if [ ! "$work/base/etc/debian_version" -nt "$work/base.tar" ]; then
  unpack_base "$work/base.tar" "$work/base"
  touch "$work/base/etc/debian_version"
fi
mkdir -p "$work/archives"
enter_overlay "$work/base"
mkdir -p "$root"/packages/{before,before-modules,now,modules}
cp "$before"/*.deb "$root/packages/before"
find "$packages" -maxdepth 1 -name '*.deb' ! -name '*-dbgsym_*' -exec cp {} "$root/packages/now" \;
mv "$root"/packages/now/seqd-{mongodb,dynamodb}_*.deb "$root/packages/modules"
mv "$root"/packages/before/seqd-{mongodb,dynamodb}_*.deb "$root/packages/before-modules"

reach "$root"
systemd-nspawn -q -D "$root" -M "seqd-packages-$$" --register=no --keep-unit --pipe "${reaching[@]}" --bind="$work/archives:/var/cache/apt/archives" \
  /bin/bash -c 'mkdir -p /var/cache/apt/archives/partial
    apt-get -qq update && apt-get -qq -y --download-only install /packages/now/*.deb /packages/modules/*.deb &&
    cp -R /var/cache/apt/archives /packages/cache' \
  </dev/null >"$work/download.log" 2>&1 || { tail -n 30 "$work/download.log" >&2; exit 1; }
mkdir -p "$root/var/cache/apt/archives"
mv "$root/packages/cache"/*.deb "$root/var/cache/apt/archives"

cp tests/service/{checks.sh,load.sh,knocking.py,every_id_once.py} tests/packages/*.sh tests/packages/*.py "$kill_client" "$mongod" "$exchange"
cp -R packaging/debian/tests "$exchange/autopkgtest"
# What the README says about taking the first IDs.
sed -nE 's/^ +\$ (seqctl .*)/\1/p' README.md >"$exchange/readme.sh"
printf '%s\n' "$before_is" >"$exchange/before"
printf '%s\n' "$now_is" >"$exchange/now"

boot first_boot
boot second_boot
boot stores_boot
read -r passed failed <"$exchange/score"
if [ "$failed" -ne 0 ]; then
  echo "--- journal of seqd"
  tail -n 80 "$exchange/journal.txt" 2>/dev/null || true
fi
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
