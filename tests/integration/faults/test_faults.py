"""Two daemons on one directory, wrong configurations, full disks, failing system calls, few descriptors, copies."""

import os
import resource
import shutil
import signal
import sqlite3
import subprocess
from pathlib import Path

import pytest

import harness
from accounting import Ledger
from disks import NotShown, SmallDisk
from rpc import Closed, RpcError
from servers.mongod import expect_soon
from servers.patience import PROGRAM_SECONDS

EXIT_LOCKED = 75
EXIT_CONFIG = 78
EXIT_STATE = 74
NAMED_EXITS = (65, 69, 70, EXIT_STATE, EXIT_LOCKED, EXIT_CONFIG)


# --- two daemons ----------------------------------------------------------------------------------------------------
def test_ASecondDaemonOnTheSameDirectoryEndsWith75(make_daemon):
    first = make_daemon("first").start()
    second = make_daemon("second", state=first.state)
    with first.connect() as client:
        assert client.next() == 1
        for _ in range(3):
            with pytest.raises(harness.Died) as died:
                second.start()
            assert died.value.code == EXIT_LOCKED
            assert str(first.process.pid) in died.value.stderr or str(first.state) in died.value.stderr
        assert client.next() == 2
    with first.connect() as client:  # its socket is still there too
        assert client.next() == 3


def test_ASecondDaemonWithTheSameConfigurationLeavesTheSocketAlone(make_daemon):
    first = make_daemon("first").start()
    second = make_daemon("second")
    second.config_file = first.config_file
    with pytest.raises(harness.Died) as died:
        second.start()
    assert died.value.code == EXIT_LOCKED
    with first.connect() as client:
        assert client.next() == 1


def test_OfManyDaemonsStartedAtOnceOneServes(make_daemon, scratch):
    state = scratch / "state"
    racing = [make_daemon(f"racer-{i}", state=state) for i in range(12)]
    for daemon in racing:
        daemon.spawn()
    served, locked = 0, 0
    for daemon in racing:
        try:
            daemon.wait_ready()
            served += 1
        except harness.Died as died:
            assert died.code == EXIT_LOCKED
            locked += 1
    assert (served, locked) == (1, 11)


def test_ACopiedDirectoryIssuesNothingTwice(make_daemon, scratch):
    """A copy of a running daemon's state, started beside it with the same store: it must not use the remainder."""
    stores = {"default": {"type": "sqlite", "path": scratch / "shared.db"}}
    first = make_daemon("first", stores=stores).start()
    ledger = Ledger("orders")
    with first.connect() as client:
        ledger.add(client.many("orders", 100))
        copied = make_daemon("copied", stores=stores)
        shutil.rmtree(copied.state)
        harness.copy_state(first.state, copied.state)
        with copied.start().connect() as other:
            for _ in range(5):
                ledger.add(client.many("orders", 100))
                ledger.add(other.many("orders", 100))
    ledger.assert_no_duplicate()


def test_AnOlderStatePutBackInPlaceIssuesNothingTwice(make_daemon, scratch):
    stores = {"default": {"type": "sqlite", "path": scratch / "shared.db"}}
    daemon = make_daemon(stores=stores).start()
    ledger = Ledger("orders")
    with daemon.connect() as client:
        ledger.add(client.many("orders", 100))
        harness.copy_state(daemon.state, scratch / "backup")
        ledger.add(client.many("orders", 100))
    for stop in (daemon.kill, daemon.terminate):
        stop()
        shutil.rmtree(daemon.state)
        shutil.copytree(scratch / "backup", daemon.state)
        daemon.start()
        with daemon.connect() as client:
            ledger.add(client.many("orders", 100))
    ledger.assert_no_duplicate()


# --- configuration --------------------------------------------------------------------------------------------------
def test_SighupAppliesWhatItCan(make_daemon):
    daemon = make_daemon(limits={"max_count": 10}).start()
    with daemon.connect() as client:
        assert client.error("range", "orders", 11).code == "TOO_LARGE"
        daemon.configure(limits={"max_count": 20})
        daemon.process.send_signal(signal.SIGHUP)
        daemon.wait_notification("RELOADING=1")
        daemon.wait_ready()
        assert client.call("range", "orders", 11) == [[1, 11, 1]]


def test_SighupWithAWrongFileKeepsTheOldConfiguration(make_daemon):
    daemon = make_daemon(limits={"max_count": 10}).start()
    with daemon.connect() as client:
        daemon.configure(limits={"max_count": -5})
        daemon.process.send_signal(signal.SIGHUP)
        daemon.wait_notification("RELOADING=1")
        daemon.wait_ready()
        assert client.call("range", "orders", 10) == [[1, 10, 1]]
        assert client.error("range", "orders", 11).code == "TOO_LARGE"
    assert "max_count" in daemon.stderr()


def test_ReloadSaysWhatWasAppliedAndWhatNeedsARestart(make_daemon):
    daemon = make_daemon(limits={"max_count": 10}).start()
    with daemon.connect() as client:
        assert client.call("reload") == {"applied": [], "restart_needed": []}
        daemon.configure(limits={"max_count": 20}, daemon={"socket_mode": "0600"})
        assert client.call("reload") == {"applied": ["limits.max_count"], "restart_needed": ["daemon.socket_mode"]}
        daemon.configure(limits={"max_counts": 20})
        error = client.error("reload")
        assert (error.code, error.fault) == ("CONFIG", 0)
        line = daemon.config_file.read_text().splitlines().index("max_counts = 20") + 1
        assert f"{daemon.config_file}:{line}" in error.text and "max_counts" in error.text
        assert len(client.call("range", "orders", 20)) == 1


@pytest.mark.parametrize("limits", [{"max_count": 0}, {"max_count": "many"}, {"unknown": 1}], ids=repr)
def test_AWrongConfigurationAtTheStartNamesFileLineAndKey(make_daemon, limits):
    daemon = make_daemon(limits=limits)
    with pytest.raises(harness.Died) as died:
        daemon.start()
    assert died.value.code == EXIT_CONFIG
    line = daemon.config_file.read_text().splitlines().index("[limits]") + 2
    assert f"{daemon.config_file}:{line}" in died.value.stderr and next(iter(limits)) in died.value.stderr
    checked = subprocess.run([harness.SEQD, "--check", "--config", daemon.config_file], capture_output=True, text=True,
                             timeout=PROGRAM_SECONDS, check=False)
    assert checked.returncode == EXIT_CONFIG and f"{daemon.config_file}:{line}" in checked.stderr


# --- signals and limits of the process ------------------------------------------------------------------------------
def test_ASignalStormIsSurvived(daemon):
    with daemon.connect() as client:
        for round_number in range(200):
            for number in (signal.SIGPIPE, signal.SIGHUP, signal.SIGXFSZ):
                daemon.process.send_signal(number)
            assert client.next() == round_number + 1
    assert daemon.running()


def test_AStoppedProcessGoesOnWhereItWas(daemon):
    with daemon.connect() as client:
        assert client.next() == 1
        daemon.process.send_signal(signal.SIGSTOP)
        client.request("next", "orders")
        assert not harness.readable(0.5, client.socket)
        daemon.process.send_signal(signal.SIGCONT)
        assert client.read_reply()[2] == 2


def test_FewDescriptorsRefuseNewClientsAndServeTheOldOnes(make_daemon):
    daemon = make_daemon()
    daemon.preexec = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (48, 48))
    daemon.start()
    with daemon.connect() as old:
        assert old.next() == 1
        crowd = [daemon.connect() for _ in range(100)]
        for number in range(2, 102):
            assert old.next() == number
        assert "limit=RLIMIT_NOFILE" in daemon.stderr()
        for client in crowd:
            client.close()
        assert asked_until_served(daemon) == 102
    assert daemon.running()


def test_WithoutOneDescriptorTheOldClientsAreServedAndNewOnesWait(daemon):
    """Not even the one that would be needed to turn a new client away."""
    limit = resource.prlimit(daemon.process.pid, resource.RLIMIT_NOFILE)
    with daemon.connect() as old:
        assert old.next() == 1
        resource.prlimit(daemon.process.pid, resource.RLIMIT_NOFILE, (3, limit[1]))
        with daemon.connect() as new:
            new.request("next", "orders")
            for number in range(2, 52):
                assert old.next() == number
            assert not harness.readable(0.5, new.socket)
            assert "limit=RLIMIT_NOFILE" in daemon.stderr()
            resource.prlimit(daemon.process.pid, resource.RLIMIT_NOFILE, limit)
            assert new.read_reply()[2] == 52


def test_AKilledDaemonLeavesNoSharedMemoryBehind(daemon):
    """The MongoDB driver makes a segment when it is loaded, and removes it only in an orderly end."""
    pid = daemon.process.pid
    daemon.kill()
    assert [path.name for path in Path("/dev/shm").iterdir() if path.name.endswith(f"-{pid}")] == []


def test_AUserOutsideOfTheSocketsModeIsRefused(make_daemon):
    """The permissions of the socket say who may take IDs; the kernel holds others back before a byte is read."""
    if os.getuid() != 0:
        raise NotShown("another user can be tried by root only")
    daemon = make_daemon(daemon={"socket_mode": "0600"}).start()
    daemon.short.chmod(0o755)
    knock = f"import socket; socket.socket(socket.AF_UNIX).connect({str(daemon.socket)!r})"
    stranger = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "/usr/bin/python3", "-c", knock]
    refused = subprocess.run(stranger, capture_output=True, text=True, timeout=PROGRAM_SECONDS, check=False)
    assert refused.returncode != 0 and "PermissionError" in refused.stderr
    with daemon.connect() as client:
        assert client.next() == 1
    daemon.socket.chmod(0o666)
    assert subprocess.run(stranger, capture_output=True, timeout=PROGRAM_SECONDS, check=False).returncode == 0


def test_TheMachineIdProvesNothingAndIsNotRead(make_daemon, scratch):
    """Golden images share it."""
    daemon = make_daemon(prefix=["strace", "-D", "-f", "-qq", "-o", str(scratch / "trace"), "-e", "trace=%file"]).start()
    with daemon.connect() as client:
        assert client.next() == 1
    daemon.terminate()
    trace = (scratch / "trace").read_text()
    assert "boot_id" in trace and "machine-id" not in trace


def asked_until_served(daemon) -> int:
    while True:
        with daemon.connect() as client:
            try:
                return client.next()
            except (Closed, RpcError):
                continue


# --- failing disks --------------------------------------------------------------------------------------------------
def take_until_it_fails(daemon, most: int, lease: int = 50) -> list:
    """IDs one after the other and in runs, until an error or the end of the connection."""
    ids = []
    try:
        with daemon.connect() as client:
            for _ in range(most):
                for first, count, _ in client.call("range", "orders", lease):
                    ids.extend(range(first, first + count))
    except (Closed, RpcError, ConnectionRefusedError, FileNotFoundError):
        pass
    return ids


@pytest.fixture(name="small_disk")
def disk_of_four_megabytes(scratch):
    disk = SmallDisk(scratch / "disk", "4m")
    yield disk
    disk.close()


def test_AFullDiskAtTheFirstStartIsRefused(make_daemon, small_disk):
    daemon = make_daemon(state=small_disk.path, prefix=small_disk.prefix)
    small_disk.fill()
    with pytest.raises(harness.Died) as died:
        daemon.start()
    assert died.value.code in NAMED_EXITS
    assert "No space left" in died.value.stderr or "full" in died.value.stderr
    small_disk.free()
    daemon.configure(daemon={"state_log_size": "512KiB"})
    with daemon.start().connect() as client:
        assert client.next() == 1


@pytest.mark.limit(60)
def test_ADiskThatFillsUpLosesAndRepeatsNothing(make_daemon, small_disk):
    daemon = make_daemon(state=small_disk.path, prefix=small_disk.prefix, daemon={"state_log_size": "256KiB"},
                         defaults={"lease_min": 100, "lease_max": 1000, "max_available": 4000}).start()
    ledger = Ledger("orders")
    for _ in range(3):
        ledger.add(take_until_it_fails(daemon, 20))
        small_disk.fill()
        ledger.add(take_until_it_fails(daemon, 5000))
        small_disk.free()
        if daemon.running():
            daemon.kill()
        assert daemon.process.wait() in (-signal.SIGKILL, EXIT_STATE)
        daemon.start()
    with daemon.connect() as client:
        following = client.next()
    ledger.assert_no_duplicate()
    assert len(ledger.missing(1, following)) <= 3 * 2 * 50


def test_AnUnwritableStateDirectoryIsRefusedByName(make_daemon, scratch):
    daemon = make_daemon()
    shutil.rmtree(daemon.state)
    daemon.state.write_text("a file, not a directory")
    with pytest.raises(harness.Died) as died:
        daemon.start()
    assert died.value.code in NAMED_EXITS and str(daemon.state) in died.value.stderr


def test_AStoreThatAnotherProcessHasLockedIsNamedAndUsedOnceItIsFree(make_daemon):
    daemon = make_daemon(stores={"default": {"type": "sqlite", "timeout": "200ms"}}, defaults={"wait_timeout": "20s"}).start()
    daemon.terminate()
    other = sqlite3.connect(daemon.state / "sequences.db", isolation_level=None)
    other.execute("PRAGMA locking_mode = EXCLUSIVE")
    other.execute("BEGIN EXCLUSIVE")
    with daemon.start().connect() as client:
        error = client.error("next", "orders", {"timeout_ms": 3000})
        assert error.code == "UNAVAILABLE" and f"process {os.getpid()} (" in error.text and "more than 200 ms" in error.text, error
        other.close()
        assert client.next() == 1


# --- systemd ---------------------------------------------------------------------------------------------------------
def test_AStartThatSystemdCouldNotBeToldIsToldLater(make_daemon):
    daemon = make_daemon()
    missing = daemon.short / "later"
    daemon.environment = {"NOTIFY_SOCKET": str(missing)}
    daemon.spawn()
    expect_soon("the event", lambda: "notify_failed: systemd could not be notified of READY=1" in daemon.stderr())
    with daemon.connect() as client:
        assert client.next() == 1
    missing.symlink_to(daemon.notifications.path)
    daemon.wait_ready()
    daemon.terminate()
    assert daemon.stderr(1 << 20).count("notify_failed") == 2  # that it asks for time to start, and that it has started
