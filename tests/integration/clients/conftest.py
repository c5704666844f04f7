"""What the tests of seqctl share: commands that are read while they run, and fake daemons."""

import tempfile
from pathlib import Path

import pytest

from watching import HELLO, FakeDaemon, Watching


@pytest.fixture
def watching():
    """Starts commands that end with the test."""
    started = []

    def start(*arguments, **options):
        started.append(Watching(*arguments, **options))
        return started[-1]

    yield start
    for each in started:
        each.close()


@pytest.fixture
def fake_daemon():
    """Makes a fake daemon, which ends with the test: its socket."""
    started = []
    with tempfile.TemporaryDirectory(prefix="seqd-test-", dir="/dev/shm") as directory:
        def start(**results):
            path = Path(directory) / "s"
            started.append(FakeDaemon(path, {"hello": HELLO, "ping": "pong", **results}))
            return path

        yield start
        for each in started:
            each.close()
