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
  "$go" test -count=1 -v "$@" 2>&1 | tee -a "$log" | { grep -vE '^(=== |(    )*--- PASS: |PASS$)' || true; }
  [ "${PIPESTATUS[0]}" -eq 0 ] || failed=1
}

"$go" vet . || failed=1
"$go" vet ../examples/next.go || failed=1
[ -z "$("${go}fmt" -l . ../examples/next.go | tee /dev/stderr)" ] || failed=1
run "$@" .
run -race "$@" .

# With blocks, by the libseqd of the clone.
build=$(realpath "${SEQD_BUILD:-../../build}")
export CGO_CFLAGS=-I$PWD/.. CGO_LDFLAGS="-L$build -Wl,-rpath,$build"
"$go" vet -tags seqd_blocks . || failed=1
# Debian's gcc makes position-independent programs, in which the race detector does not find its memory.
fixed=-ldflags=-extldflags=-no-pie
run -tags seqd_blocks "$fixed" -run Blocks "$@" .
run -tags seqd_blocks "$fixed" -run Blocks -race "$@" .

passed=$(grep -c '^--- PASS: ' "$log")
failures=$(grep -cE '^--- (FAIL|SKIP): ' "$log")
# What ends without a word of a test, as by a panic or an error of the compiler, has failed too.
[ "$failed" -eq 0 ] || [ "$failures" -gt 0 ] || failures=1
echo "$passed passed, $failures failed"
[ "$passed" -gt 0 ] && [ "$failures" -eq 0 ]
