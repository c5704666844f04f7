"""A running daemon is stopped for long, gets no more memory, or its state is replaced or removed under it."""

import os
import resource
import shutil
import signal

import pytest

import harness
from accounting import Ledger
from clients import RepeatingClients
from repeating import RepeatingClient
from rpc import Closed
from test_disks import DEFAULTS, EXIT_LOCKED, EXIT_STATE, assert_goes_on, take_until_it_ends


def shared_store(scratch) -> dict:
    return {"default": {"type": "sqlite", "path": scratch / "shared.db"}}


@pytest.mark.parametrize("what", ["directory", "lock", "log.0", "log.1"])
def test_AStateThatIsReplacedUnderTheDaemonIsNoticedBeforeTheNextReservation(make_daemon, scratch, what):
    """Somebody puts a copy in place and starts a second daemon on it: the first ends, the second forfeits."""
    first = make_daemon("first", stores=shared_store(scratch), defaults=DEFAULTS).start()
    second = make_daemon("second", state=first.state, stores=shared_store(scratch), defaults=DEFAULTS)
    one, two = RepeatingClient(), RepeatingClient()
    assert one.take(first, 20, 20)
    if what == "directory":
        first.state.rename(scratch / "aside")
        harness.copy_state(scratch / "aside", first.state)
    else:
        shutil.copy2(first.state / what, scratch / what)
        os.replace(scratch / what, first.state / what)
    try:
        second.start()
        assert two.take(second, 20, 20)
    except harness.Died as died:  # one of the files is still locked by the first
        assert what != "directory" and died.code == EXIT_LOCKED
    take_until_it_ends(first, one)
    assert first.wait_exit() in (EXIT_STATE, EXIT_LOCKED)
    assert "was removed or replaced" in first.stderr()
    if not second.running():
        second.start()
    assert two.take(second, 20, 20)
    ledger = Ledger("orders")
    ledger.add(one.ids)
    ledger.add(two.ids)
    ledger.assert_no_duplicate()


def test_AStateThatIsRemovedUnderTheDaemonEndsIt(make_daemon, scratch):
    """rm -rf of the directory of a running daemon: it ends; the next one starts again, above all that was leased."""
    daemon = make_daemon(stores=shared_store(scratch), defaults=DEFAULTS).start()
    client = RepeatingClient()
    assert client.take(daemon, 20, 20)
    while daemon.state.exists():  # the history may make a file while its directory is being removed
        shutil.rmtree(daemon.state, ignore_errors=True)
    take_until_it_ends(daemon, client)
    assert daemon.wait_exit() in (EXIT_STATE, EXIT_LOCKED)
    assert "was removed or replaced" in daemon.stderr()
    daemon.state.mkdir()
    daemon.start()
    with daemon.connect() as connection:
        assert connection.call("status")["state_how"] == "fresh"
    assert client.take(daemon, 20, 20)
    ledger = Ledger("orders")
    ledger.add(client.ids)
    ledger.assert_no_duplicate()


@pytest.mark.limit(60)
def test_AProcessStoppedForLongerThanItsTimeOutsLosesNothing(make_daemon, mongo, scratch):
    """Frames, waits and store calls are all beyond their deadlines when it wakes up."""
    store = {"central": {"type": "mongodb", "uri": mongo.uri(), "database": f"pause{os.getpid()}", "timeout": "500ms"}}
    daemon = make_daemon(stores=store, limits={"frame_timeout": "300ms"}, daemon={"default_store": "central"},
                         defaults={"lease_min": 20, "lease_max": 100, "lease_duration": "20ms", "max_available": 400}).start()
    load = RepeatingClients(daemon, scratch / "load" / "ids", clients=3, depth=8)
    pid = os.pidfd_open(daemon.process.pid)
    for _ in range(3):
        assert not harness.readable(0.5, pid)
        daemon.process.send_signal(signal.SIGSTOP)
        assert not harness.readable(1.0, pid)  # longer than any of the time-outs
        daemon.process.send_signal(signal.SIGCONT)
        load.wait_for_more(100)
    os.close(pid)
    ledger = Ledger("orders")
    ledger.add(load.stop())
    with daemon.connect() as client:
        following = client.next(timeout_ms=20_000)
    ledger.assert_complete(1, following)


def test_MemoryThatIsRefusedLosesNothing(make_daemon):
    """The address space is capped while it serves. The first allocation that fails ends the process at once, as kill -9 would:
    what was issued stays issued, and the next start goes on there."""
    # One heap for all threads, which cannot grow any more; others have room of their own that was mapped before.
    daemon = make_daemon(defaults=DEFAULTS, environment={"MALLOC_ARENA_MAX": "1"}).start()
    client = RepeatingClient()
    for _ in range(3):
        assert client.take(daemon, 20, 20)
        size = daemon.memory_kib("VmSize") * 1024
        resource.prlimit(daemon.process.pid, resource.RLIMIT_AS, (size, resource.RLIM_INFINITY))
        crowd = []
        try:
            while len(crowd) < 2000:
                client.take(daemon, 2, 20)
                crowd.append(daemon.connect())
                crowd[-1].send(b"\x94\x00\x07\xa4ping" + b"\xdc\x40\x00" + b"\x00" * 16000)  # a request that does not end
        except (OSError, Closed):
            pass
        for other in crowd:
            other.close()
        assert daemon.wait_exit() == -signal.SIGABRT
        assert daemon.stderr(1 << 20).count("no memory is left") == 1
        daemon.stderr_file.write_text("")
        assert_goes_on(daemon, client)
