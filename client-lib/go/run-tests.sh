#!/bin/bash
# Runs the tests of the Go client, plainly and with the race detector, and closes with "N passed, N failed".
# A skipped test has failed. usage: run-tests.sh GO [FLAGS OF go test]
set -uo pipefail
cd "$(dirname "$0")" || exit 1
go=$1
shift

log=$(mktemp)
trap 'rm -f "$log"' EXIT
failed=0
run() {
  "$go" test -count=1 -v "$@" 2>&1 | tee -a "$log" | grep -vE '^(=== |(    )*--- PASS: |PASS$)' || true
  [ "${PIPESTATUS[0]}" -eq 0 ] || failed=1
}

"$go" vet . || failed=1
"$go" vet ../examples/next.go || failed=1
[ -z "$("${go}fmt" -l . ../examples/next.go | tee /dev/stderr)" ] || failed=1
run "$@" .
run -race "$@" .

passed=$(grep -c '^--- PASS: ' "$log")
failures=$(grep -cE '^--- (FAIL|SKIP): ' "$log")
# What ends without a word of a test, as by a panic or an error of the compiler, has failed too.
[ "$failed" -eq 0 ] || [ "$failures" -gt 0 ] || failures=1
echo "$passed passed, $failures failed"
[ "$passed" -gt 0 ] && [ "$failures" -eq 0 ]
