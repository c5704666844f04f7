"""The file of the history: damaged, without room, as large as it may be, and without those who took IDs."""

import os
import resource
import sqlite3
import time

import pytest

from servers.mongod import expect_soon
from test_history import SMALL, audit, explain, take


@pytest.mark.parametrize("harm", ["missing", "not-sqlite", "newer", "truncated", "directory"])
def test_AHistoryThatCannotBeUsedNeverStopsTheDaemon(make_daemon, harm):
    daemon = make_daemon(defaults=SMALL).start()
    take(daemon, 10)
    daemon.terminate()
    history = daemon.state / "history.db"
    assert history.stat().st_size > 0
    # Where the daemon's reader closed the file last, it all lies in the write-ahead log, which mends any harm.
    database = sqlite3.connect(history)
    database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    database.close()
    assert not history.with_name("history.db-wal").exists()
    if harm == "missing":
        history.unlink()
    elif harm == "not-sqlite":
        history.write_bytes(b"x" * 10_000)
    elif harm == "newer":
        with sqlite3.connect(history) as database:
            database.execute("PRAGMA user_version = 99")
        database.close()
    elif harm == "truncated":
        history.write_bytes(history.read_bytes()[:6_000])
    else:
        history.unlink()
        history.mkdir()
        (history / "something").write_text("")
    daemon.start()
    assert take(daemon, 10) == list(range(11, 21))
    if harm != "directory":
        answer = audit(daemon)
        assert answer["issued"] == 20 and answer["unaccounted"] == 0
        assert explain(daemon, 15)["answer"] == "issued"
        assert explain(daemon, 5)["answer"] in ("older", "issued")
        assert audit(daemon.restart())["issued"] == 20
    if harm not in ("missing", "truncated", "directory"):
        assert "history_failed" in daemon.stderr() and (daemon.state / "history.db.set-aside").exists()
    if harm == "directory":
        assert "history_failed" in daemon.stderr()


def test_AFullDiskForTheHistoryDisturbsNobodyAndIsMadeUpFor(make_daemon):
    daemon = make_daemon(daemon={"state_log_size": "256KiB"}, defaults={"lease_min": 1_000_000})

    def no_large_files() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, resource.RLIM_INFINITY))

    daemon.preexec = no_large_files
    daemon.start()
    expected = 1
    with daemon.connect() as first, daemon.connect() as second:
        first.call("hello", {"name": "first"})
        second.call("hello", {"name": "second"})
        while True:  # a batch that is merged coarser may still find room
            for client in (first, second) * 500:
                assert client.next() == expected
                expected += 1
            asked = daemon.seqctl("explain", "orders", "1", expect=None)
            if asked.returncode != 0:
                break
        assert asked.returncode == 75 and "UNAVAILABLE" in asked.stderr and "history" in asked.stderr
        assert "history_failed" in daemon.stderr()
        for client in (first, second) * 500:
            assert client.next() == expected
            expected += 1
        # There is room again.
        resource.prlimit(daemon.process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        expect_soon("the history to recover", lambda: daemon.seqctl("audit", "orders", expect=None).returncode == 0)
        assert first.call("explain", "orders", expected - 1)["answer"] == "issued"
    answer = audit(daemon)
    assert answer["issued"] == expected - 1 == answer["history"]["recorded"]["issued"]


def test_TheHistoryStaysWithinItsSizeAndSaysWhatItDropped(make_daemon):
    daemon = make_daemon(daemon={"history_max_size": "1MiB"}, defaults={"lease_min": 10_000, "lease_max": 100_000}).start()
    with daemon.connect() as first, daemon.connect() as second:
        first.call("hello", {"name": "first"})
        second.call("hello", {"name": "second"})
        while True:
            for client in (first, second) * 1000:
                number = client.next()
            answer = first.call("audit", "orders")
            assert answer["history"]["size"] <= 1 << 20
            if answer["history"]["dropped"]["issued"] > 0:
                break
    assert answer["good"], answer
    old = explain(daemon, 1)
    assert old["answer"] == "issued" and "older than the history" in old["text"]
    assert explain(daemon, number)["issued"]["callers"]
    assert (daemon.state / "history.db").stat().st_size < 3 << 20


def test_WhoTookAnIdIsRemovedWhenItsTimeIsOverThoughNothingIsWritten(make_daemon):
    """history_max_age is a minute at least; the file is made older instead."""
    daemon = make_daemon(daemon={"history_max_age": "60s"}).start()
    with daemon.connect() as client:
        client.call("hello", {"name": "a-distinctive-caller"})
        assert client.many("orders", 3) == [1, 2, 3]
        assert client.call("explain", "orders", 2)["issued"]["callers"][0]["name"] == "a-distinctive-caller"
    daemon.terminate()
    aside = daemon.state / "history.db.set-aside"
    aside.write_text("a-distinctive-caller, too")
    long_ago = time.time() - 3600
    os.utime(aside, (long_ago, long_ago))
    with sqlite3.connect(daemon.state / "history.db") as history:
        history.execute("UPDATE span SET began_ms = began_ms - 3600000")
    history.close()
    files = [daemon.state / name for name in ("history.db", "history.db-wal", "history.db.set-aside")]
    assert any(b"a-distinctive-caller" in path.read_bytes() for path in files if path.exists())
    daemon.start()  # nothing is asked of it, and nothing is taken
    expect_soon("what is too old to go", lambda: not aside.exists() and
                not any(b"a-distinctive-caller" in path.read_bytes() for path in files if path.exists()))
    answer = explain(daemon, 2)
    assert answer["answer"] == "issued" and answer["issued"] is None, answer
    assert "older than the history" in answer["text"]


def test_CallersCanBeSwitchedOffAndTheWholeHistoryToo(make_daemon):
    daemon = make_daemon(defaults=SMALL).start()
    assert take(daemon, 3) == [1, 2, 3]
    assert explain(daemon, 2)["issued"]["callers"]
    daemon.configure(daemon={"history_callers": False}, defaults=SMALL)
    daemon.seqctl("reload")
    assert take(daemon, 3) == [4, 5, 6]
    answer = explain(daemon, 5)
    assert answer["issued"]["callers"] == [] and answer["issued"]["unnamed"] == "off"
    assert "killed" not in answer["text"]
    expect_soon("the former callers to go", lambda: explain(daemon, 2)["issued"]["unnamed"] == "dropped")
    assert audit(daemon)["issued"] == 6
    daemon.terminate()
    assert (daemon.state / "history.db").exists()
    daemon.configure(daemon={"history": False}, defaults=SMALL)
    daemon.start()
    assert take(daemon, 3) == [7, 8, 9]
    assert not list(daemon.state.glob("history.db*"))
    for command in (("explain", "orders", "5"), ("gaps", "orders"), ("audit", "orders")):
        assert "UNAVAILABLE" in daemon.seqctl(*command, expect=75).stderr
    daemon.kill()
    daemon.configure(daemon={"history": True}, defaults=SMALL)
    daemon.start()
    assert take(daemon, 1) == [10]
    assert explain(daemon, 5)["answer"] == "older"  # from before the history began
    assert explain(daemon, 10)["issued"]["callers"]
    audit(daemon)
