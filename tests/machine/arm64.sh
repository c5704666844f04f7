#!/bin/bash
# seqd for arm64: built by Debian's cross compiler in a Debian 12 of its own, which has the libraries of both architectures (added to
# this machine, they would change it), and run there by qemu: the version, IDs, and the next ID after a kill -9.
# usage: arm64.sh BUILD PACKAGE...     BUILD is where it is built; PACKAGE are those to build with   (needs root)
set -euo pipefail
cd "$(dirname "$0")/../.."
build=$1
shift
# shellcheck source=tests/machine/boot.sh
source tests/machine/boot.sh
# shellcheck source=tests/machine/debian.sh
source tests/machine/debian.sh
as_root "$0" "$build" "$@"

# Of the architecture of what is built, unless they are the same for all.
foreign=()
for package in "$@"; do
  if [ "$(apt-cache show --no-all-versions "$package" | sed -n 's/^Architecture: //p' | head -n 1)" != all ]; then package+=:arm64; fi
  foreign+=("$package")
done
work=$PWD/build/arm64-machine
make_base "$work/base.tar" "make,pkg-config,g++-aarch64-linux-gnu,qemu-user-static,$(IFS=,; echo "${foreign[*]}")" amd64,arm64
if [ ! "$work/base/etc/debian_version" -nt "$work/base.tar" ]; then
  unpack_base "$work/base.tar" "$work/base"
  touch "$work/base/etc/debian_version"
fi

inside() {
  systemd-nspawn -q -D "$work/base" -M "seqd-arm64-$$" --register=no --keep-unit --pipe --private-network \
    --bind="$PWD:/seqd" --chdir=/seqd "$@" </dev/null
}

cross=aarch64-linux-gnu
inside make --no-print-directory -j"${JOBS:-$(nproc)}" BUILD="$build" INSTALL_PACKAGES=no \
  CXX=$cross-g++ CC=$cross-gcc AR=$cross-ar all
[[ $(file -b "$build/seqd") == *aarch64* ]] || { echo "arm64: $build/seqd is $(file -b "$build/seqd")" >&2; exit 1; }
inside /bin/bash -euo pipefail tests/machine/arm64_inside.sh "$build"
