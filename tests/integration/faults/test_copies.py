"""Copies, clones and older versions of a state directory: of all that begin with the same remainder, one at most uses it."""

import random
import shutil

import pytest

import harness
from accounting import Ledger
from disks import LoopDisk

COPIES = 20
EXIT_LOCKED = 75
DEFAULTS = {"lease_min": 1000, "lease_max": 1000, "max_available": 5000}


@pytest.fixture(name="store", params=["sqlite", "mongodb"])
def one_store_for_all_of_them(request, scratch):
    if request.param == "sqlite":
        return {"default": {"type": "sqlite", "path": scratch / "shared.db"}}
    uri = request.getfixturevalue("mongo").uri()
    return {"default": {"type": "mongodb", "uri": uri, "database": f"copies{random.randrange(1 << 40)}"}}


def started_at_once(make_daemon, state, store, count: int) -> list:
    """That many copies of the directory, each with a daemon of its own, all started together."""
    copies = []
    for number in range(count):
        copy = make_daemon(f"copy-{number}", stores=store, defaults=DEFAULTS)
        copy.state.rmdir()
        harness.copy_state(state, copy.state)
        copies.append(copy)
    for copy in copies:
        copy.spawn()
    for copy in copies:
        copy.wait_ready(60)
    return copies


def one_of_each(daemons, timeout_ms: int = 40_000) -> list:
    """One ID of each daemon, asked of all at the same time."""
    clients = [daemon.connect(60) for daemon in daemons]
    asked = [client.request("next", "orders", {"timeout_ms": timeout_ms}) for client in clients]
    ids = [client.result(number) for client, number in zip(clients, asked)]
    for client in clients:
        client.close()
    return ids


@pytest.mark.limit(120)
def test_OfManyCopiesOfACleanStateExactlyOneGoesOn(make_daemon, store):
    """An image that was made after an orderly stop, started twenty times: one wins the claim, the others forfeit."""
    origin = make_daemon("origin", stores=store, defaults=DEFAULTS).start()
    ledger = Ledger("orders")
    with origin.connect() as client:
        ledger.add(client.many("orders", 100))
    origin.terminate()
    copies = started_at_once(make_daemon, origin.state, store, COPIES)
    ids = one_of_each(copies)
    ledger.add(ids)
    assert ids.count(101) == 1, f"the remainder begins at 101; these came: {sorted(ids)}"
    for copy, first in zip(copies, ids):
        said = copy.stderr()
        assert ("fenced: " in said) == (first != 101), said
    for _ in range(3):
        for copy in copies:
            with copy.connect() as client:
                ledger.add(client.many("orders", 100))
    ledger.assert_no_duplicate()


@pytest.mark.limit(120)
def test_NoCopyOfARunningStateUsesTheRemainder(make_daemon, store):
    """Copied under a running daemon, and started twenty times beside it: all forfeit, the original goes on without a hole."""
    origin = make_daemon("origin", stores=store, defaults=DEFAULTS).start()
    ledger = Ledger("orders")
    with origin.connect() as client:
        ledger.add(client.many("orders", 100))
        copies = started_at_once(make_daemon, origin.state, store, COPIES)
        ids = one_of_each(copies)
        assert min(ids) > 1000, f"the remainder of the original ends at 1000; these came: {sorted(ids)}"
        ledger.add(ids)
        following = client.many("orders", 900)
        assert following == list(range(101, 1001))
        ledger.add(following)
    for copy in copies:
        with copy.connect() as other:
            assert other.call("status")["state_how"].startswith("forfeited: there is no witness")
            ledger.add(other.many("orders", 300))
    ledger.assert_no_duplicate()


def test_TwoDaemonsRacingForOneDirectoryNeverBothServe(make_daemon, scratch):
    """A hundred times: one serves, the other ends with 75 before it touches anything."""
    racers = [make_daemon(f"racer-{number}", state=scratch / "state") for number in range(2)]
    for racer in racers:  # the same machine
        racer.configure(daemon={"witness_dir": racers[0].witness})
    expected = 1
    for _ in range(100):
        for racer in racers:
            racer.spawn()
        served = []
        for racer in racers:
            try:
                racer.wait_ready()
                served.append(racer)
            except harness.Died as died:
                assert died.code == EXIT_LOCKED, died.stderr
        assert len(served) == 1
        with served[0].connect() as client:
            assert client.next() == expected
        expected += 1
        served[0].kill()


class Backup:
    """The state directory as it was once, and what was received since."""

    def __init__(self, daemon, scratch):
        self.daemon = daemon
        self.ledger = Ledger("orders")
        self.place = scratch / "backup"

    def take(self, count: int = 100) -> None:
        with self.daemon.connect(30) as client:
            self.ledger.add([client.next(timeout_ms=20_000)])
            self.ledger.add(client.many("orders", count - 1))

    def keep(self) -> None:
        shutil.rmtree(self.place, ignore_errors=True)
        harness.copy_state(self.seen(), self.place)

    def put_back(self, in_place: bool) -> None:
        """As new files, or as other bytes in the same ones, as a restored disk image has them."""
        for path in self.place.iterdir():
            if path.name.startswith(("log", "lock")):
                target = self.seen() / path.name
                if not in_place:
                    target.unlink()
                    shutil.copy2(path, target)
                else:
                    with open(target, "r+b") as file:
                        file.write(path.read_bytes())

    def seen(self):
        return self.daemon.seen


@pytest.mark.limit(60)
@pytest.mark.parametrize("in_place", [True, False], ids=["same-files", "new-files"])
@pytest.mark.parametrize("end", ["kill", "terminate"])
@pytest.mark.parametrize("kept", ["running", "stopped"])
def test_AnOlderStatePutBackInTheSameBootIsNotBelieved(make_daemon, scratch, kept, end, in_place):
    daemon = make_daemon(stores={"default": {"type": "sqlite", "path": scratch / "shared.db"}}, defaults=DEFAULTS).start()
    daemon.seen = daemon.state
    backup = Backup(daemon, scratch)
    backup.take()
    if kept == "stopped":
        daemon.terminate()
        backup.keep()
        daemon.start()
    else:
        backup.keep()
    backup.take()
    for _ in range(2):
        getattr(daemon, end)()
        backup.put_back(in_place)
        daemon.start()
        backup.take()
    backup.ledger.assert_no_duplicate()
    assert "fenced: " in daemon.stderr() or "forfeited: " in daemon.stderr()


@pytest.mark.limit(60)
@pytest.mark.parametrize("in_place", [True, False], ids=["same-files", "new-files"])
@pytest.mark.parametrize("kept", ["running", "stopped"])
def test_AnOlderStatePutBackAfterARebootIsNotBelieved(make_daemon, scratch, kept, in_place):
    disk = LoopDisk(scratch / "disk")
    try:
        daemon = make_daemon(state=disk.state, prefix=disk.prefix, defaults=DEFAULTS,
                             stores={"default": {"type": "sqlite", "path": scratch / "shared.db"}}).start()
        backup = Backup(daemon, scratch)
        daemon.seen = disk.inside("state")
        backup.take()
        if kept == "stopped":
            daemon.terminate()
            backup.keep()
            daemon.start()
        else:
            backup.keep()
        backup.take()
        for end in (daemon.terminate, daemon.kill):
            end()
            backup.put_back(in_place)
            disk.boot(daemon.witness)
            daemon.start()
            backup.take()
        backup.ledger.assert_no_duplicate()
        assert "fenced: " in daemon.stderr() or "forfeited: " in daemon.stderr()
    finally:
        disk.close()


def test_AContainerWithAFreshRunForfeitsAfterAKillAndNotAfterAStop(make_daemon):
    """The volume stays, the tmpfs of the witness does not."""
    daemon = make_daemon(defaults=DEFAULTS).start()
    with daemon.connect() as client:
        assert client.many("orders", 10) == list(range(1, 11))
    daemon.terminate()
    shutil.rmtree(daemon.witness)
    daemon.witness.mkdir()
    daemon.start()
    with daemon.connect() as client:
        assert client.next() == 11
    daemon.kill()
    shutil.rmtree(daemon.witness)
    daemon.witness.mkdir()
    daemon.start()
    with daemon.connect() as client:
        assert client.call("status")["state_how"].startswith("forfeited: there is no witness")
        assert client.next() == 1001
