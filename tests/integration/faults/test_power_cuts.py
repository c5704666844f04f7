"""The power fails under load: an ext4 in a file loses all that was not synced, the machine boots with another boot id and
an empty /run, and the daemon goes on. Nothing is issued twice, and what is missing was journalled. `make test-power-cuts
CUTS=500` is the long run."""

import os
import random
import signal

import pytest

import harness
from accounting import Ledger, journalled_gaps
from books import Books
from clients import Process, RepeatingClients
from disks import LoopDisk
from rpc import Closed, Connection, RpcError

CUTS = int(os.environ.get("CUTS", "20"))
SEED = int(os.environ.get("SEED", str(random.SystemRandom().randrange(2**32))))
# What a daemon may answer that sees its disk go, before it is gone itself.
LAST_WORDS = ("STATE_IO", "STORE_REFUSED", "STORE_DOWN", "UNAVAILABLE")
EXIT_STATE = 74
CLIENTS, DEPTH = 3, 8
# Small numbers, so that leases, reservations and rotations of the log are all under way when the power goes.
DEFAULTS = {"lease_min": 50, "lease_max": 2000, "lease_duration": "50ms", "max_available": 10_000, "max_unsynced": 100}


@pytest.fixture(name="disk")
def a_disk_that_can_lose_its_power(scratch):
    disk = LoopDisk(scratch / "disk")
    yield disk
    disk.close()


@pytest.fixture(name="machine")
def daemon_on_that_disk(make_daemon, disk, scratch):
    """Makes a daemon whose state is on the disk and whose store survives elsewhere, or is on the disk as well."""

    def make(after: str, store_beside: bool):
        where = disk.state if store_beside else scratch
        return make_daemon(state=disk.state, prefix=disk.prefix, daemon={"after_power_loss": after, "state_log_size": "256KiB"},
                           stores={"default": {"type": "sqlite", "path": where / "sequences.db"}}, defaults=DEFAULTS)

    return make


class Load:
    """Clients without end, however often the daemon goes; every ID they received is in the ledger."""

    def __init__(self, daemon, scratch, ledger: Ledger):
        self.daemon, self.scratch, self.ledger = daemon, scratch, ledger
        self.rounds = 0
        self.clients = None

    def go_on(self) -> None:
        if self.clients is not None and self.clients.running():
            return
        self.take()
        self.rounds += 1
        self.clients = RepeatingClients(self.daemon, self.scratch / f"round-{self.rounds}" / "ids", clients=CLIENTS,
                                        depth=DEPTH, seconds=5)
        with self.daemon.connect(30) as client:
            before = client.call("status")["issued"]
            while client.call("status")["issued"] == before:
                pass

    def take(self) -> None:
        if self.clients is not None:
            self.ledger.add(self.clients.stop(LAST_WORDS))
            self.clients = None


def wait(daemon, seconds: float) -> None:
    """Lets the load run; the daemon must not end by itself."""
    pid = os.pidfd_open(daemon.process.pid)
    died = harness.readable(seconds, pid)
    os.close(pid)
    assert not died, f"seqd ended by itself:\n{daemon.stderr()}"


def cut_the_power(daemon, disk, freeze: bool) -> None:
    """Frozen first, the daemon does nothing any more; otherwise it may still answer from memory what is durable."""
    if freeze:
        daemon.process.send_signal(signal.SIGSTOP)
    disk.cut_power()
    daemon.kill()
    disk.boot(daemon.witness)


@pytest.mark.limit(60 + CUTS)
@pytest.mark.parametrize("store", ["beside", "elsewhere"])
@pytest.mark.parametrize("after", ["forfeit", "resume"])
def test_APowerCutUnderLoadRepeatsNothingAndJournalsWhatIsLost(machine, disk, scratch, figures, after, store):
    print(f"SEED={SEED}")  # shown when the test fails
    moments = random.Random(f"{SEED} {after} {store}")
    daemon = machine(after, store == "beside").start()
    ledger = Ledger("orders")
    books = Books("orders", (disk.state if store == "beside" else scratch) / "sequences.db")
    load = Load(daemon, scratch, ledger)
    cuts = (CUTS + 3) // 4
    for _ in range(cuts):
        load.go_on()
        wait(daemon, moments.uniform(0.005, 0.060))
        cut_the_power(daemon, disk, freeze=moments.random() < 0.5)
        daemon.start()
        with daemon.connect() as client:
            how = client.call("status")["state_how"]
        assert how.startswith("resumed" if after == "resume" else "forfeited") or how == "clean", f"{how}\n{daemon.stderr()[-4000:]}"
        books.note(daemon)
    load.take()
    lost = books.unaccounted(daemon, ledger, cuts * CLIENTS * DEPTH)
    figures("power cuts", cuts, IDs=ledger.count, duplicates=len(ledger.twice), unaccounted=lost)
    ledger.assert_no_duplicate()
    assert ledger.count > 0 and lost == 0


@pytest.mark.limit(60 + CUTS)
@pytest.mark.parametrize("after", ["forfeit", "resume"])
def test_ThePowerFailsAgainDuringTheStartAndNothingIsRepeated(machine, disk, scratch, after):
    print(f"SEED={SEED}")
    moments = random.Random(f"{SEED} {after}")
    daemon = machine(after, False).start()
    ledger = Ledger("orders")
    load = Load(daemon, scratch, ledger)
    for _ in range(max(2, CUTS // 10)):
        load.go_on()
        wait(daemon, moments.uniform(0.005, 0.030))
        cut_the_power(daemon, disk, freeze=False)
        for _ in range(3):
            daemon.spawn()
            pid = os.pidfd_open(daemon.process.pid)
            harness.readable(moments.uniform(0.0, 0.020), pid)
            os.close(pid)
            cut_the_power(daemon, disk, freeze=False)
        daemon.start()
    load.take()
    ledger.assert_no_duplicate()
    assert ledger.count > 0


@pytest.mark.limit(60 + CUTS)
def test_ADiskThatComesBackInTheSameBootWithoutWhatWasNotSyncedIsNotBelieved(machine, disk, scratch):
    """The disk alone loses its power. The machine and its witness know of turns that are not on the disk any more."""
    print(f"SEED={SEED}")
    moments = random.Random(SEED)
    daemon = machine("forfeit", False).start()
    ledger = Ledger("orders")
    books = Books("orders", scratch / "sequences.db")
    load = Load(daemon, scratch, ledger)
    cuts = max(5, CUTS // 4)
    hows = set()
    for _ in range(cuts):
        load.go_on()
        wait(daemon, moments.uniform(0.005, 0.060))
        if moments.random() < 0.5:
            daemon.process.send_signal(signal.SIGSTOP)
        disk.cut_power()
        daemon.kill()
        disk.mount_again()
        daemon.start()
        with daemon.connect() as client:
            hows.add(client.call("status")["state_how"].split(":")[0])
        books.note(daemon)
    load.take()
    assert hows <= {"witness", "forfeited", "clean"}, hows
    lost = books.unaccounted(daemon, ledger, cuts * CLIENTS * DEPTH)
    ledger.assert_no_duplicate()
    assert ledger.count > 0 and lost == 0


def take_all_that_is_reserved(socket: str) -> list:
    """Until the daemon goes. Each reply waits for a reservation of its own, and so for a sync."""
    ids: list = []
    try:
        with Connection(socket, 30) as client:
            while True:
                for first, count, step in client.call("range", "orders", 15):
                    ids.extend(range(first, first + count * step, step))
    except (Closed, ConnectionResetError, RpcError):
        return ids


@pytest.mark.limit(60 + CUTS)
def test_WhatWasConfirmedWhenTheFileSystemStoppedIsThereAfterAReboot(machine, disk):
    """ext4 meets a damaged block under load, goes read-only, and the machine boots again after fsck. The sync of a block that was
    only set aside may be called good at that moment, and the block is empty afterwards: so each round has files of its own."""
    print(f"SEED={SEED}")
    moments = random.Random(SEED)
    daemon = machine("resume", False)
    ledger = Ledger("orders")
    for _ in range(CUTS):
        disk.remount("errors=remount-ro")
        with daemon.start().connect(30) as connection:
            before = connection.call("status")["issued"]
            client = Process(take_all_that_is_reserved, str(daemon.socket))
            while connection.call("status")["issued"] == before:
                pass
        wait(daemon, moments.uniform(0.001, 0.020))
        disk.meet_a_damaged_block()
        assert daemon.wait_exit() == EXIT_STATE and "Read-only file system" in daemon.stderr()
        ids = client.result()
        ledger.add(ids)
        disk.mend()
        disk.boot(daemon.witness)
        with daemon.start().connect() as connection:
            how = connection.call("status")["state_how"]
            assert how.startswith("resumed") or (how == "clean" and not ids), how
            ledger.add(connection.many("orders", 500))
        daemon.terminate()
        for name in ("log.0", "log.1"):
            disk.inside(f"state/{name}").unlink()
    ledger.assert_no_duplicate()
    assert ledger.count > CUTS * 500


def test_ThePowerFailsRightAfterTheFirstStart(machine, disk):
    """Files that were made are in their directory: what was leased is known after the power cut, and is a gap."""
    daemon = machine("forfeit", False).start()
    with daemon.connect() as client:
        ids = client.many("orders", 10)
    cut_the_power(daemon, disk, freeze=True)
    with daemon.start().connect() as client:
        assert client.call("status")["state_how"].startswith("forfeited: the machine was restarted")
        following = client.next()
    assert following > max(ids)
    assert set(range(1, following)) - set(ids) <= {number for gap in journalled_gaps(daemon.stderr_file, "orders") for number in gap}


def test_AnOrderlyStopSurvivesThePowerCut(machine, disk):
    """The clean record is on the medium when the daemon has ended: no gap."""
    daemon = machine("forfeit", False).start()
    following = 1
    for _ in range(3):
        with daemon.connect() as client:
            assert client.many("orders", 10) == list(range(following, following + 10))
        following += 10
        daemon.terminate()
        disk.cut_power()
        disk.boot(daemon.witness)
        daemon.start()
    with daemon.connect() as client:
        assert client.next() == following
