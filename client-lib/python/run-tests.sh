#!/bin/bash
# The tests of the Python client, with a seqd that is built (make all). Installs the Debian packages that are missing, and
# into build/frameworks the newer frameworks of tests/models, each verified by its digest.
# usage: run-tests.sh [PYTEST ARGUMENTS]     KILLS=500 CALLS=1000000: the long runs
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
project=$here/../..
python=${PYTHON:-/usr/bin/python3}

"$project/packaging/ensure-packages.sh" python3 python3-msgpack python3-pytest python3-pymongo python3-sqlalchemy python3-greenlet \
  python3-aiosqlite python3-django python3-gevent python3-eventlet mypy python3-venv python3-pip python3-setuptools python3-wheel

for lock in "$here"/tests/models/*.txt; do
  place=$project/build/frameworks/$(basename "$lock" .txt)
  cmp -s "$lock" "$place/lock" && continue
  rm -rf "$place"
  "$python" -m pip install --quiet --disable-pip-version-check --root-user-action ignore --no-deps --no-compile --only-binary :all: --require-hashes \
    --target "$place" -r "$lock"
  cp "$lock" "$place/lock"
done

# Paths among the arguments are those of the caller's directory.
paths=no
for argument in "$@"; do
  if [ -e "${argument%%::*}" ]; then paths=yes; fi
done
[ "$paths" = yes ] || set -- "$@" "$here/tests"
export PYTHONDONTWRITEBYTECODE=1
exec "$python" -m pytest -c "$here/pyproject.toml" -p no:cacheprovider -q -ra --durations=0 --durations-min=5 "$@"
