"""gevent and eventlet, which replace what threads wait with: before the package is imported, afterwards, or after the client was made and
used; and native threads beside greenlets, as gevent's pool has them."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from conftest import HERE
from hostile import Server
from servers.patience import PATIENCE, PROGRAM_SECONDS

# argv: library, when it patches, who works, the socket, calls of each of ten workers.
PROGRAM = """
import sys
library, when, who, path, calls = *sys.argv[1:5], int(sys.argv[5])

def patch():
    if library == "gevent":
        from gevent import monkey
        monkey.patch_all(thread=when != "without threads")
    else:
        import eventlet
        eventlet.monkey_patch()

if when in ("before the import", "without threads"):
    patch()
import seqd
client = seqd.Client(path, timeout=%r)
if when == "after a call":
    first = [client.next("orders")]
if when in ("after the import", "after a call"):
    patch()

ids, errors = [], []

def work():
    try:
        for number in range(calls):
            ids.extend(client.next_many("orders", 3) if number %% 7 == 3 else [client.next("orders")])
    except BaseException as error:
        errors.append(repr(error))

if library == "eventlet":
    import eventlet
    for worker in [eventlet.spawn(work) for _ in range(10)]:
        worker.wait()
else:
    import gevent
    pool = gevent.get_hub().threadpool
    threads = 0 if who == "greenlets" else 10 if who == "threads" else 5
    native = [pool.spawn(work) for _ in range(threads)]
    gevent.joinall([gevent.spawn(work) for _ in range(10 - threads)])
    for thread in native:
        thread.get()
print(len(ids), len(set(ids)), *errors)
client.close()
"""
WHEN = ["before the import", "after the import", "after a call"]
WHO = [("gevent", "greenlets"), ("eventlet", "greenlets"), ("gevent", "threads"), ("gevent", "both")]


def run(library, when, who, path, calls):
    """The last line of the program, which ends by itself."""
    done = subprocess.run([sys.executable, "-B", "-X", "faulthandler", "-c", PROGRAM % (20.0 * PATIENCE), library, when, who, str(path),
                           str(calls)], env={**os.environ, "PYTHONPATH": str(HERE.parent / "src")}, capture_output=True, text=True,
                          timeout=PROGRAM_SECONDS, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[-1]


@pytest.mark.limit(60)
@pytest.mark.parametrize("when", WHEN)
@pytest.mark.parametrize("library, who", WHO, ids=[" ".join(one) for one in WHO])
def test_GreenletsAndNativeThreadsShareAClient(daemon, library, who, when):
    assert run(library, when, who, daemon.socket, 100) == "1280 1280"


@pytest.mark.parametrize("when", WHEN[:2])
@pytest.mark.parametrize("library", ["gevent", "eventlet"])
def test_AGreenletThatWaitsLetsOthersCall(library, when):
    """The server answers when it has the requests of all."""
    def act(line):
        line.greet()
        requests = [line.request() for _ in range(10)]
        for request in requests:
            line.say(request[1], request[1])
        line.until_closed()

    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        server = Server(Path(folder) / "s", act)
        try:
            assert run(library, when, "greenlets", server.path, 1) == "10 10"
        finally:
            server.close()
    assert not server.failures


def test_GreenletsNeedPatchedThreads(daemon):
    """A greenlet that waited on a lock of the system would stop the one that it waits for."""
    told = run("gevent", "without threads", "greenlets", daemon.socket, 1)
    assert "RuntimeError" in told and "threads patched" in told
