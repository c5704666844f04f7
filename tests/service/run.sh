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
# The programs that the README shows are built inside, too.
program_of_the_readme() { awk -v fence='\140\140\140' '$0 == fence { inside = 0 } inside; $0 == fence language { inside = 1 }' language="$1" README.md; }
program_of_the_readme c >"$exchange/readme.c"
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
