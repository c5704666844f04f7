#!/bin/bash
# `make run`: the daemon in the foreground on paths that need no root, and the one line to try it with.
# usage: run.sh SEQD SEQCTL SOCKET STATE CONFIG
set -euo pipefail
seqd=$1 seqctl=$2 socket=$(realpath -m "$3") state=$(realpath -m "$4") config=$5

length=$(printf %s "$socket" | wc -c)
if [ "$length" -gt 107 ]; then
  echo "make run: the path of the socket is $length bytes long and 107 are allowed: $socket" >&2
  echo "make run: choose a shorter one, for example: make run SOCKET=/tmp/seqd-$(id -un).sock" >&2
  exit 2
fi
mkdir -p "$(dirname "$socket")"
mkdir -p "$state"
chmod 0700 "$state"

# Without CONFIG= a file of its own, so that the packaged configuration of this host is left out of it.
if [ -z "$config" ]; then
  config=build/run/seqd.toml
  mkdir -p build/run
  [ -e "$config" ] || echo "# Everything has a default; packaging/seqd.toml shows what there is." >"$config"
fi

# The witness must vanish with a reboot, so it lies on a tmpfs: one folder for each user and state directory.
tmpfs=/dev/shm
if [ -n "${XDG_RUNTIME_DIR:-}" ] && [ "$(stat -f -c %T "$XDG_RUNTIME_DIR" 2>/dev/null)" = tmpfs ]; then
  tmpfs=$XDG_RUNTIME_DIR
fi
witness=$tmpfs/seqd-$(id -u)-$(printf %s "$state" | md5sum | cut -c1-12)
[ -e "$witness" ] || mkdir -m 0700 "$witness"
if [ -L "$witness" ] || [ ! -O "$witness" ]; then
  echo "make run: $witness belongs to somebody else; remove it or set XDG_RUNTIME_DIR" >&2
  exit 1
fi
chmod 0700 "$witness"

echo "seqd: socket $socket, state $state"
echo "seqd: try it from another shell: SEQD_SOCKET=$socket $(realpath "$seqctl") next orders"
exec "$seqd" --config "$config" --socket "$socket" --state-dir "$state" --witness-dir "$witness"
