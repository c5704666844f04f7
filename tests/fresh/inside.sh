#!/bin/bash
# On the fresh machine, in the clone: `make run`, the first ID, `make test`; what a stranger does who follows the README.
# It says how long each took, judges none of it by that, and ends with 0 when make test did.
# usage: inside.sh [TEST-TARGET...]     default: test
set -euo pipefail
cd "$(dirname "$0")/../.."
targets=("$@")
[ ${#targets[@]} -gt 0 ] || targets=(test)

began=$SECONDS
setsid make run >run.log 2>&1 </dev/null &
run=$!
end_run() { kill -TERM -- "-$run" 2>/dev/null || true; wait "$run" || true; }
trap end_run EXIT
socket=build/run/seqd.sock
until [ -S "$socket" ]; do
  kill -0 "$run" 2>/dev/null || { cat run.log; echo "fresh machine: make run ended before there was a socket" >&2; exit 1; }; sleep 0.2
done
echo "fresh machine: the socket is there after $((SECONDS - began)) s"
id=$(build/seqctl --socket "$socket" next orders)
[ "$id" = 1 ] || { echo "fresh machine: the first ID is '$id'" >&2; exit 1; }
echo "fresh machine: the first ID is $id, after $((SECONDS - began)) s; it installed $(grep -c '^seqd: installing' run.log) packages"
end_run
trap - EXIT

status=0
for target in "${targets[@]}"; do
  began=$SECONDS
  make "$target" 2>&1 </dev/null | tee "$target.log" || status=1
  echo "fresh machine: make $target ended after $((SECONDS - began)) s: $(tail -n 1 "$target.log")"
done
exit "$status"
