#!/bin/bash
# Two builds of the packages of one commit have the same bytes. What tells when and where a build was made (.buildinfo, and .changes,
# which has its checksum) is not compared.
# usage: compare-debs.sh BUILD BUILD
set -euo pipefail

files_of() { (cd "$1" && sha256sum -- *.deb *.dsc *.tar.*); }
one=$(files_of "$1")
other=$(files_of "$2")
if ! difference=$(diff <(echo "$one") <(echo "$other")); then
  echo "reproducible: these differ between $1 and $2 (diffoscope shows where):" >&2
  echo "$difference" >&2
  exit 1
fi
echo "reproducible: $(wc -l <<<"$one") files are the same in both builds"
