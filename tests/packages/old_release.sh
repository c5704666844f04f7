#!/bin/bash
# Builds the packages of seqd 0.1.0, the last version whose daemon links the drivers of all stores itself, of this repository's
# history; once, since they do not change.
# usage: old_release.sh OUT
set -euo pipefail
cd "$(dirname "$0")/../.."
out=$(realpath -m "$1")

# The tag, or what was there before the number of the version got a file of its own, with 0.2.0.
commit=$(git rev-parse -q --verify 'refs/tags/v0.1.0^{commit}') || {
  next=$(git log --diff-filter=A --format=%H -- protocol/version.h | tail -n 1)
  commit=$(git rev-parse -q --verify "${next:-none}^") || {
    echo "packages: the history of this repository does not reach back to 0.1.0: git fetch --unshallow" >&2
    exit 1
  }
}
[ ! -e "$out/built" ] || [ "$(cat "$out/built")" != "$commit" ] || exit 0
echo "packages: building those of 0.1.0 (${commit:0:10})"
rm -rf "$out"
mkdir -p "$out/seqd"
git archive "$commit" | tar -C "$out/seqd" -x
cp -R "$out/seqd/packaging/debian" "$out/seqd/debian"
(cd "$out/seqd" && env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL DEB_BUILD_OPTIONS="nocheck noautodbgsym parallel=$(nproc)" \
  DEB_BUILD_PROFILES=nocheck LC_ALL=C.UTF-8 dpkg-buildpackage -b -us -uc) >"$out/build.log" 2>&1 || { tail -n 30 "$out/build.log" >&2; exit 1; }
rm -rf "$out/seqd"
echo "$commit" >"$out/built"
