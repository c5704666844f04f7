#!/bin/bash
# Installs the build into a throwaway copy of this system (an overlay of /), boots a real systemd there twice, and runs
# the checks of first_boot.sh and second_boot.sh inside. Prints "N passed, N failed".
# usage: run.sh BUILD   (needs root; fails where a container cannot be booted)
set -euo pipefail
cd "$(dirname "$0")/../.."
build=${1:-build}

# shellcheck source=tests/machine/boot.sh
source tests/machine/boot.sh

as_root "$0" "$@"
enter_overlay /

# What this machine's own installation may hold is not what is tested.
rm -rf "$root"/etc/seqd "$root"/var/lib/seqd* "$root"/etc/credstore "$root"/etc/systemd/system/seqd*
make --no-print-directory BUILD="$build" DESTDIR="$root" PREFIX=/usr install
cp tests/service/*.sh tests/service/*.py "$build/tools/kill_client" "$exchange"
# Programs that are built inside: one of the calls in C that the README has, and the examples that it links to.
once=$(grep -o 'seqd_open([^)]*)' README.md)
each=$(grep -o 'seqd_next([^)]*)' README.md)
cat >"$exchange/readme.c" <<END
#include <inttypes.h>
#include <seqd.h>
#include <stdio.h>

int main(void) {
  seqd_client* client = NULL;
  int64_t id = 0;
  int code = ${once:?the README has no call of seqd_open};
  if (code == SEQD_OK) code = ${each:?the README has no call of seqd_next};
  if (code == SEQD_OK) printf("%" PRId64 "\\n", id);
  seqd_close(client);
  return code == SEQD_OK ? 0 : 1;
}
END
cp client-lib/examples/next.c "$exchange/example.c"
cp client-lib/examples/next.cc "$exchange/example.cc"

boot first_boot
boot second_boot
read -r passed failed <"$exchange/score"
if [ "$failed" -ne 0 ]; then
  echo "--- journal of seqd"
  tail -n 80 "$exchange/journal.txt" 2>/dev/null || true
fi

# What install brought, uninstall takes away: in a tree that holds nothing else.
mkdir "$scratch/installed"
make --no-print-directory BUILD="$build" DESTDIR="$scratch/installed" PREFIX=/usr install
brought=$(find "$scratch/installed" -type f | wc -l)
links=$(/usr/bin/python3 -B tests/service/installed_links.py "$scratch/installed/usr/share/doc/seqd") && sound=0 || sound=1
make --no-print-directory BUILD="$build" DESTDIR="$scratch/installed" PREFIX=/usr uninstall
left=$(find "$scratch/installed" ! -type d)
if [ "$brought" -gt 10 ] && [ -z "$left" ]; then
  passed=$((passed + 1)); echo "ok   UninstallLeavesNothing ($brought files came and went)"
else
  failed=$((failed + 1)); echo "FAIL UninstallLeavesNothing: $brought came, these stayed: $left"
fi
if [ "$sound" -eq 0 ]; then
  passed=$((passed + 1)); echo "ok   LinksOfInstalledDocumentsLeadSomewhere ($links)"
else
  failed=$((failed + 1)); echo "FAIL LinksOfInstalledDocumentsLeadSomewhere: $links"
fi

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
