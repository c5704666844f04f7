#!/bin/bash
# Unpacks a Debian package into a directory without installing it: for programs that tests run and whose package would start a
# service on the machine. Needs no right but for an update of the package lists.
# usage: unpack-package.sh PACKAGE DIRECTORY
set -euo pipefail

package=$1
to=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
# The downloader of apt may have a user of its own.
chmod 0777 "$scratch"

as_root=()
[ "$(id -u)" -eq 0 ] || as_root=(sudo)
download() { (cd "$scratch" && apt-get -qq download "$package") >"$scratch/log" 2>&1; }
echo "seqd: unpacking the Debian package $package into $to"
download || { "${as_root[@]}" apt-get -qq update >"$scratch/log" 2>&1 && download; } || {
  cat "$scratch/log" >&2
  echo "seqd: apt-get could not download $package" >&2
  exit 1
}
mkdir -p "$to"
dpkg-deb -x "$scratch/$package"_*.deb "$to"
