#!/bin/bash
# What libseqd promises to others, checked on what was built: check-abi.sh LIBSEQD_SO
#  - libseqd.so exports the functions that seqd.h and seqd_blocks.h declare, all of them and nothing else;
#  - its soname is libseqd.so.0;
#  - it asks no directory of users or groups, which may be in the network: a call would last beyond its time-out.
set -euo pipefail
library=$1
headers=("$(dirname "$0")"/{seqd,seqd_blocks}.h)

exported=$(nm -D --defined-only "$library" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' | sort)
declared=$(grep -oE 'seqd_[a-z_]+\(' <(cat "${headers[@]}" | tr '\n' ' ' | grep -oE 'SEQD_(API|CHECKED) [^;]*;') | tr -d '(' | sort -u)
if ! difference=$(diff <(echo "$declared") <(echo "$exported")); then
  echo "libseqd.so exports (>) other functions than the headers declare (<):"
  echo "$difference"
  exit 1
fi

soname=$(readelf -d "$library" | sed -nE 's/.*\(SONAME\).*\[(.*)\]/\1/p')
if [ "$soname" != libseqd.so.0 ]; then
  echo "the soname of $library is $soname, not libseqd.so.0"
  exit 1
fi
if asked=$(nm -D --undefined-only "$library" | grep -oE '\bget(pw|gr)[a-z_]+|\bgetaddrinfo'); then
  echo "libseqd.so asks a directory, which may take longer than the time-out of a call: $asked"
  exit 1
fi
echo "abi: good ($(wc -l <<<"$exported") functions)"
