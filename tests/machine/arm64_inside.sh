#!/bin/bash
# Runs seqd for arm64 by qemu. Inside of the system that arm64.sh makes; the kernel is that of the machine, so it is the code of seqd and
# of its libraries that is shown, not the memory order of a real CPU.
# usage: arm64_inside.sh BUILD
set -euo pipefail
build=$1
emulated() { qemu-aarch64-static "$@"; }
state=$(mktemp -d)
export SEQD_SOCKET=$state/seqd.sock
printf '[daemon]\nsocket = "%s"\nstate_dir = "%s/state"\n' "$SEQD_SOCKET" "$state" >"$state/seqd.toml"
mkdir -m 0700 "$state/state"

# Not by emulated(): of a function in the background the process is a shell, and a signal would end that one alone.
begin() {
  qemu-aarch64-static "$build/seqd" --config "$state/seqd.toml" &
  daemon=$!
  emulated "$build/seqctl" -t 60 wait
}
trap 'kill -9 "$daemon" 2>/dev/null || true' EXIT

# equal FOUND WANTED WHAT
equal() { [ "$1" = "$2" ] || { echo "arm64: $3 is \"$1\", not \"$2\"" >&2; exit 1; }; }

# How the daemon found its state.
start() { emulated "$build/seqctl" -o json status | sed -n 's/.*"state_how": *"\([a-z]*\)".*/\1/p'; }

version=$(emulated "$build/seqd" --version | head -n 1)
equal "$(emulated "$build/seqd" --version | grep -c '^module .*\.so$')" 2 "the number of modules"
# The driver refuses this URI, so it was loaded.
printf '[store.central]\ntype = "mongodb"\nuri = "mongodb://127.0.0.1:9/?w=1"\n' | cat "$state/seqd.toml" - >"$state/mongodb.toml"
code=0
emulated "$build/seqd" --config "$state/mongodb.toml" 2>"$state/said" || code=$?
equal "$code" 78 "the exit code with a weak write concern"
grep -Eq "w=1|w:1|write concern|majority" "$state/said" || { cat "$state/said" >&2; exit 1; }
begin
equal "$(emulated "$build/seqctl" next orders)" 1 "the first ID"
equal "$(emulated "$build/seqctl" range orders 3 | xargs)" "2 3 1" "a range"
kill -9 "$daemon"
wait "$daemon" || true
begin
equal "$(start)" witness "the start after a kill -9"
equal "$(emulated "$build/seqctl" next orders)" 5 "the ID after a kill -9"
emulated "$build/seqctl" audit orders
kill "$daemon"
wait "$daemon"
begin
equal "$(start)" clean "the start after a stop"
equal "$(emulated "$build/seqctl" next orders)" 6 "the ID after a stop"
kill "$daemon"
wait "$daemon"
echo "arm64: good ($version, $(uname -m) runs it by qemu)"
