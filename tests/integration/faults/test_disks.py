"""The file system under a running daemon goes read-only, fills up, loses its permissions or gets slow.

What the daemon cannot record it does not issue: it answers errors or ends with a named exit code, and when the file system
is well again the next start in the same boot goes on where it was.
"""

import contextlib
import os
import resource
import subprocess
from pathlib import Path

import pytest

import harness
from accounting import Ledger
from clients import RepeatingClients
from disks import LoopDisk, SmallDisk
from disturbance import Measure, timed
from repeating import RepeatingClient
from rpc import RpcError
from servers.mongod import die_with_parent, wait_for

EXIT_STATE, EXIT_LOCKED = 74, 75
MOST_TAKEN = 2000  # times a thousand IDs, until a daemon has noticed what is wrong with its disk
# The log is flushed often, so that what is wrong is noticed soon.
DEFAULTS = {"lease_min": 100, "lease_max": 400, "max_available": 2000, "max_unsynced": 50}


@pytest.fixture(name="disk")
def a_disk_of_its_own(scratch):
    disk = LoopDisk(scratch / "disk")
    yield disk
    disk.close()


def take_until_it_ends(daemon, client: RepeatingClient) -> None:
    for _ in range(MOST_TAKEN):
        if not daemon.running() or not client.take(daemon, 50, 20):
            return
    raise AssertionError(f"seqd goes on:\n{daemon.stderr()}")


def assert_gapless(client: RepeatingClient) -> None:
    assert client.ids == list(range(1, len(client.ids) + 1)), f"a hole or a repeat after {len(client.ids)} IDs"


def assert_goes_on(daemon, client: RepeatingClient) -> None:
    """Started again in the same boot: what was available is still there."""
    daemon.start()
    assert client.take(daemon, 20, 20)
    assert_gapless(client)


def test_AFileSystemThatGoesReadOnlyEndsTheDaemonAndLosesNothing(make_daemon, disk, scratch):
    """As ext4 does with errors=remount-ro when it meets a damaged block."""
    daemon = make_daemon(state=disk.state, prefix=disk.prefix, defaults=DEFAULTS,
                         stores={"default": {"type": "sqlite", "path": scratch / "sequences.db"}})
    disk.remount("errors=remount-ro")
    client = RepeatingClient()
    daemon.start()
    assert client.take(daemon, 20, 20)
    disk.meet_a_damaged_block()
    take_until_it_ends(daemon, client)
    assert daemon.wait_exit() == EXIT_STATE
    assert "STATE_IO" in daemon.stderr() and "Read-only file system" in daemon.stderr()
    with pytest.raises(harness.Died) as died:  # as long as it is read-only
        daemon.start()
    assert died.value.code == EXIT_STATE
    disk.mend()
    daemon.start()
    assert client.take(daemon, 20, 20)
    ledger = Ledger("orders")
    ledger.add(client.ids)
    ledger.assert_no_duplicate()
    # The page cache went with the mount, as in a power loss; the witness tells that, and what is lost is in the journal.
    with daemon.connect() as connection:
        how = connection.call("status")["state_how"]
    assert how == "witness" or how.startswith("forfeited"), how


# struct statfs of x86-64 and arm64: an ext4 that is mounted read-only.
READ_ONLY_EXT4 = (0xEF53).to_bytes(8, "little") + bytes(72) + os.ST_RDONLY.to_bytes(8, "little")


@contextlib.contextmanager
def made_read_only(daemon, call):
    """strace says from here on what such a file system would."""
    tracer = subprocess.Popen(["strace", "-f", "-qq", "-o", "/dev/null", "-p", str(daemon.process.pid), "-e", f"trace={call}", "-e",
                               f"inject={call}:retval=0:poke_exit=@arg2={READ_ONLY_EXT4.hex()}"],
                              stdin=subprocess.DEVNULL, preexec_fn=die_with_parent)
    tasks = Path(f"/proc/{daemon.process.pid}/task")
    wait_for("strace", lambda: all("TracerPid:\t0" not in (task / "status").read_text() for task in tasks.iterdir()))
    yield
    tracer.terminate()
    tracer.wait()


def test_ASyncOfTheLogIsNotBelievedWhereTheFileSystemWasMadeReadOnlyByForce(make_daemon):
    """As by SysRq-u: it reports each sync as done and writes nothing."""
    daemon = make_daemon(defaults=DEFAULTS)
    daemon.start()
    client = RepeatingClient()
    assert client.take(daemon, 20, 20)
    with made_read_only(daemon, "fstatfs"):
        take_until_it_ends(daemon, client)
        assert daemon.wait_exit() == EXIT_STATE
    assert "fdatasync: Read-only file system" in daemon.stderr()
    assert_goes_on(daemon, client)


def test_NoLeaseIsUsedWhoseFileSystemWasMadeReadOnlyByForce(make_daemon):
    """Neither as the reply to its commit nor as what a look-up finds."""
    daemon = make_daemon(defaults={**DEFAULTS, "wait_timeout": "300ms"})
    daemon.start()
    with daemon.connect() as client:
        ids = client.many("orders", 50)
        with made_read_only(daemon, "statfs"):
            left = client.call("peek", "orders")["available"]
            while len(ids) < 50 + left:
                with contextlib.suppress(RpcError):
                    ids.append(client.next())
            for _ in range(5):
                answer = str(client.error("next", "orders"))
        assert "its file system was made read-only" in answer + daemon.stderr(-1)
        assert client.next(timeout_ms=20_000) == 51 + left


@pytest.mark.parametrize("gone", ["directory", "files"])
def test_PermissionsThatGoAwayEndTheDaemonAndLoseNothing(make_daemon, gone):
    """Root without the right to pass over permissions, or any other user."""
    lost = "-dac_override,-dac_read_search"  # a container may make them inheritable, too
    may_all = ["setpriv", f"--inh-caps={lost}", f"--bounding-set={lost}"] if os.getuid() == 0 else []
    daemon = make_daemon(prefix=may_all, defaults=DEFAULTS)
    client = RepeatingClient()
    daemon.start()
    assert client.take(daemon, 20, 20)
    paths = [daemon.state] if gone == "directory" else [path for path in daemon.state.iterdir() if path.name.startswith("log")]
    modes = [path.stat().st_mode & 0o777 for path in paths]
    for path in paths:
        path.chmod(0)
    if gone == "directory":
        take_until_it_ends(daemon, client)
        assert daemon.wait_exit() in (EXIT_STATE, EXIT_LOCKED)
    else:
        assert client.take(daemon, 200, 20)  # what is open stays open
        daemon.kill()
    with pytest.raises(harness.Died) as died:
        daemon.start()
    assert died.value.code == EXIT_STATE and "Permission denied" in died.value.stderr
    for path, mode in zip(paths, modes):
        path.chmod(mode)
    assert_goes_on(daemon, client)


def test_ARealDiskThatIsFullAtTheFirstStartIsRefused(make_daemon, disk):
    daemon = make_daemon(state=disk.state, prefix=disk.prefix)
    disk.fill()
    with pytest.raises(harness.Died) as died:
        daemon.start()
    assert died.value.code == EXIT_STATE and "No space left on device" in died.value.stderr
    disk.free()
    with daemon.start().connect() as client:
        assert client.next() == 1


def test_ARealDiskThatFillsUpLaterStopsLeasesOnly(make_daemon, disk):
    """The log has its room since the first start. The embedded store beside it may fail; available IDs are issued."""
    daemon = make_daemon(state=disk.state, prefix=disk.prefix, daemon={"state_log_size": "256KiB"},
                         defaults={**DEFAULTS, "wait_timeout": "200ms"}).start()
    client = RepeatingClient()
    issued_without_room = 0
    for _ in range(3):
        assert client.take(daemon, 17, 20)
        disk.fill()
        with daemon.connect() as connection:
            available = connection.call("peek", "orders")["available"]
        client.errors.clear()
        if available > 0:
            assert client.take(daemon, 1, available)
            issued_without_room += available
            assert not client.errors, f"{available} were available: {client.errors}"
        client.take(daemon, 32, 20)  # may be answered, or told that the store has no room
        assert daemon.running(), f"seqd ended with {daemon.process.returncode}"
        disk.free()
        daemon.kill()
        daemon.start()
    assert client.take(daemon, 5, 20)
    assert_gapless(client)
    assert issued_without_room > 0


def forget_the_write_ahead_log(disk: LoopDisk, path: Path) -> None:
    """What is in it goes to the database; its blocks stay, and say nothing any more, as after a crash while it began again."""
    disk.run("python3", "-c", """if True:
        import os, sqlite3, sys
        connection = sqlite3.connect(sys.argv[1])
        connection.execute("SELECT * FROM sequence").fetchall()
        blocked, frames, moved = connection.execute("PRAGMA wal_checkpoint(FULL)").fetchone()
        assert blocked == 0 and frames == moved > 0, (blocked, frames, moved)
        with open(sys.argv[1] + "-wal", "r+b") as log:
            log.write(bytes(32))
        os._exit(0)  # a connection that is closed removes it""", str(path))


def test_ADiskWithoutRoomForSQLitesSharedMemoryIsAnErrorAndNotADeath(make_daemon, disk):
    """Its write-ahead log has room, the memory that it maps beside it is made of holes, and there are no blocks to fill them.
    The daemon starts and issues what is available; it leases as soon as there is room."""
    path = disk.path / "sequences.db"
    daemon = make_daemon(state=disk.state, prefix=disk.prefix, daemon={"history": False}, stores={"default": {"type": "sqlite", "path": path}},
                         defaults={**DEFAULTS, "wait_timeout": "5s"}).start()
    client = RepeatingClient()
    assert client.take(daemon, 17, 20)
    daemon.kill()
    forget_the_write_ahead_log(disk, path)
    disk.inside("sequences.db-shm").unlink(missing_ok=True)
    disk.fill()
    disk.free_only(14 << 10)  # of 32 KiB: room for the ends of the eight pages that SQLite writes, and for the first page
    with open(disk.inside("sequences.db-wal"), "rb"):  # the log that SQLite removes keeps its blocks
        daemon.start()
        with daemon.connect() as connection:
            available = connection.call("peek", "orders")["available"]
        assert available > 0 and client.take(daemon, 1, available) and not client.errors
        assert client.take(daemon, 1, 20)
        assert [error.code for error in client.errors] == ["UNAVAILABLE"] and "the disk is full; make room" in str(client.errors[0])
        with daemon.connect() as connection:
            assert "the disk is full" in connection.call("status")["stores"][0]["error"]
    disk.free()
    waiting = RepeatingClient()
    while not waiting.ids:
        assert waiting.take(daemon, 1, 1)
    client.ids += waiting.ids
    client.errors.clear()
    assert client.take(daemon, 50, 20) and not client.errors
    assert_gapless(client)


@pytest.mark.parametrize("used, room", [(False, 0), (True, 0), (True, 1)], ids=["file", "log", "memory"])
def test_ADiskWithoutAnInodeForSQLiteEndsNoStart(make_daemon, scratch, used, room):
    """The file, its write-ahead log or the memory beside it cannot be created: the daemon starts, and leases when it can."""
    disk = SmallDisk(scratch / "disk", "4m", files=16)
    try:
        path = disk.path / "sequences.db"
        daemon = make_daemon(prefix=disk.prefix, daemon={"history": False}, stores={"default": {"type": "sqlite", "path": path}},
                             defaults={**DEFAULTS, "wait_timeout": "5s"})
        client = RepeatingClient()
        if used:
            daemon.start()
            assert client.take(daemon, 17, 20)
            daemon.kill()
            # Whoever closes it last leaves the file alone.
            disk.run("python3", "-c", "import sqlite3, sys; print(sqlite3.connect(sys.argv[1]).execute('SELECT * FROM sequence').fetchall())", str(path))
            assert [file.name for file in disk.inside().iterdir()] == ["sequences.db"]
        others = []
        with contextlib.suppress(OSError):
            for number in range(32):
                disk.inside(f"other-{number}").touch()
                others.append(disk.inside(f"other-{number}"))
        for _ in range(room):
            others.pop().unlink()
        assert 0 < len(others) < 16
        daemon.start()
        with daemon.connect() as connection:
            available = connection.call("peek", "orders")["available"]
        if used:
            assert available > 0 and client.take(daemon, 1, available)
        assert not client.errors
        assert client.take(daemon, 1, 20)
        assert [error.code for error in client.errors] == ["UNAVAILABLE"] and "no inode" in str(client.errors[0])
        for other in others:
            other.unlink()
        waiting = RepeatingClient()
        while not waiting.ids:
            assert waiting.take(daemon, 1, 1)
        client.ids += waiting.ids
        client.errors.clear()
        assert client.take(daemon, 50, 20) and not client.errors
        assert_gapless(client)
    finally:
        disk.close()


def test_AFileSizeLimitIsAnErrorAndNotADeath(make_daemon):
    """RLIMIT_FSIZE: SIGXFSZ is ignored, the write fails, the daemon ends with its exit code."""
    daemon = make_daemon(defaults=DEFAULTS)
    daemon.preexec = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, resource.RLIM_INFINITY))
    with pytest.raises(harness.Died) as died:
        daemon.start()
    assert died.value.code == EXIT_STATE and "File too large" in died.value.stderr
    daemon.preexec = None
    daemon.start()
    client = RepeatingClient()
    assert client.take(daemon, 20, 20)
    resource.prlimit(daemon.process.pid, resource.RLIMIT_FSIZE, (512, resource.RLIM_INFINITY))
    take_until_it_ends(daemon, client)
    assert daemon.wait_exit() == EXIT_STATE
    assert "File too large" in daemon.stderr()
    assert_goes_on(daemon, client)


def test_AFullWitnessDirectoryIsRefusedAndIsNoBusError(make_daemon, scratch):
    """The witness is mapped memory of a tmpfs: it gets its room before it is mapped."""
    run = SmallDisk(scratch / "run", "512k")
    try:
        daemon = make_daemon(prefix=run.prefix)
        daemon.configure(daemon={"witness_dir": run.path})
        run.fill()
        with pytest.raises(harness.Died) as died:
            daemon.start()
        assert died.value.code == EXIT_STATE and "No space left on device" in died.value.stderr
        run.free()
        daemon.start()
        run.fill()
        client = RepeatingClient()
        assert client.take(daemon, 200, 20)
        daemon.kill()
        assert_goes_on(daemon, client)
    finally:
        run.close()


@pytest.mark.limit(60)
def test_ASlowDiskDelaysNobodyWhoseIdsAreReserved(make_daemon, scratch):
    """Every flush takes 0.8 s: the loop goes on serving, and no ping waits for the disk."""
    daemon = make_daemon(prefix=["strace", "-D", "-f", "-qq", "-o", "/dev/null", "-e", "trace=fdatasync", "-e",
                                 "inject=fdatasync:delay_enter=800000"],
                         daemon={"state_log_size": "256KiB"}, defaults={"lease_min": 2000, "max_unsynced": 100, "wait_timeout": "40s"}).start()
    ledger = Ledger("orders")
    with daemon.connect(40) as client:
        ledger.add([client.next()])  # the first lease waits for several flushes, the store's among them
    load = RepeatingClients(daemon, scratch / "load" / "ids", clients=2, depth=4)
    measure = Measure()
    measure.waits["ping"] = []
    with daemon.connect() as client, make_daemon("control").start().connect() as control:
        for _ in range(3):
            enough = client.call("status")["issued"] + 120  # which take a flush at least
            with measure.round():
                while client.call("status")["issued"] < enough:
                    measure.waits["ping"].append(timed(client.call, "ping"))
                    measure.control.append(timed(control.call, "ping"))
    ledger.add(load.stop())
    with daemon.connect() as client:
        following = client.next(timeout_ms=20_000)
    ledger.assert_complete(1, following)
    measure.judge()
    daemon.terminate()
