#!/bin/bash
# Builds the Debian packages of the committed tree (HEAD) in OUT: exports it to OUT/seqd, puts packaging/debian there as debian/,
# and calls dpkg-buildpackage. All times in the packages are that of the commit, so that another build makes the same bytes.
# Does nothing where OUT has the packages of this commit, with this version, already.
# usage: build-deb.sh VERSION OUT
#   VERSION is the program's. A commit that has the tag vVERSION becomes VERSION-1. Another one is later than that release,
#   VERSION+gitDATE.TIME.COMMIT-1, or, as long as nothing has the tag, earlier: VERSION~gitDATE.TIME.COMMIT-1.
#   DEB_BUILD_OPTIONS: of dpkg-buildpackage; without it, "nocheck parallel=" and the number of processors.
set -euo pipefail
cd "$(dirname "$0")/.."
version=$1 out=$(realpath -m "$2")
commit=$(git rev-parse HEAD)
released=
[ "$(git tag --points-at "$commit" --list "v$version")" != "v$version" ] || released=yes
if [ -z "$released" ]; then
  released_before=+
  git rev-parse -q --verify "refs/tags/v$version" >/dev/null || released_before='~'
  version=$version${released_before}git$(TZ=UTC git log -1 --date=format-local:%Y%m%d.%H%M%S --format=%cd "$commit").${commit:0:7}
fi
# A commit that was built before it became a release is built again, as that.
if [ -e "$out/built" ] && [ "$(cat "$out/built")" = "$version $commit" ]; then
  echo "deb: $2 has the packages of ${commit:0:10}"
  exit
fi
[ -z "$(git status --porcelain)" ] || echo "deb: what is not committed is not in the packages" >&2

unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES
# Behind ccache g++ may get preprocessed text, of which it writes other debug information.
export CCACHE_DISABLE=1
export DEB_BUILD_OPTIONS=${DEB_BUILD_OPTIONS-nocheck parallel=$(nproc)}
# What is needed for the tests alone need not be installed then.
case " $DEB_BUILD_OPTIONS " in *" nocheck "*) export DEB_BUILD_PROFILES="${DEB_BUILD_PROFILES:+$DEB_BUILD_PROFILES }nocheck" ;; esac
umask 022

rm -rf "$out"
mkdir -p "$out"
git archive --prefix=seqd/ "$commit" | gzip -9n >"$out/seqd_$version.orig.tar.gz"
tar -C "$out" -xzf "$out/seqd_$version.orig.tar.gz"
cp -R "$out/seqd/packaging/debian" "$out/seqd/debian"
if [ -z "$released" ]; then
  {
    printf 'seqd (%s-1) unstable; urgency=medium\n\n  * Packages of the commit %s.\n\n' "$version" "$commit"
    printf ' -- %s  %s\n\n' "$(sed -n 's/^Maintainer: //p' packaging/debian/control)" "$(TZ=UTC git log -1 --date='format-local:%a, %d %b %Y %H:%M:%S +0000' --format=%cd "$commit")"
    cat packaging/debian/changelog
  } >"$out/seqd/debian/changelog"
fi

(cd "$out/seqd" && LC_ALL=C.UTF-8 dpkg-buildpackage -us -uc) >"$out/build.log" 2>&1 || {
  tail -n 40 "$out/build.log" >&2
  echo "deb: the build failed; all it said is in $2/build.log" >&2
  exit 1
}
echo "$version $commit" >"$out/built"
(cd "$out" && stat -c 'deb: %8s bytes  %n' -- *.deb)
