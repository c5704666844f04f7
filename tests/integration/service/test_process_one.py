"""The daemon as the first process of a PID namespace, as in a container: signals, orphans, and how it ends."""

import os
import signal
import socket
import struct
import subprocess
from pathlib import Path

import pytest

from disks import NotShown
from servers.mongod import expect_soon
from servers.patience import PATIENCE

# /proc is that of the namespace, so that the processes in it see each other.
NAMESPACE = ["unshare", "--pid", "--fork", "--kill-child=KILL", "--mount-proc"]


def children(pid: int) -> list:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()]


class Container:
    """A daemon in a namespace of its own; processes by their numbers outside."""

    def __init__(self, daemon):
        self.daemon = daemon
        daemon.prefix = NAMESPACE

    def spawn(self) -> "Container":
        self.daemon.spawn()
        return self

    def start(self) -> "Container":
        self.spawn()
        self.daemon.wait_ready()
        return self

    @property
    def first(self) -> int:
        return children(self.daemon.process.pid)[0]

    def has_first(self) -> bool:
        return bool(children(self.daemon.process.pid))

    def enter(self, script: str) -> None:
        """As `kubectl exec` does."""
        subprocess.run(["nsenter", "--target", str(self.first), "--pid", "--mount", "sh", "-c", script], check=True)

    def send(self, number: int) -> None:
        """As a container's runtime does: to the first process."""
        os.kill(self.first, number)


@pytest.fixture(name="container")
def daemon_in_a_namespace(make_daemon):
    if os.getuid() != 0:
        raise NotShown("a PID namespace is for root only")
    return Container(make_daemon(defaults={"lease_min": 1000, "lease_max": 1000}))


def ids(daemon, count):
    with daemon.connect() as client:
        return client.many("orders", count)


def test_OrphansDoNotStayZombies(container):
    container.start()
    before = set(children(container.first))
    container.enter("sleep 1000 & sleep 1000 &")
    expect_soon("the orphans", lambda: len(set(children(container.first)) - before) == 2)
    orphans = set(children(container.first)) - before
    for orphan in orphans:
        os.kill(orphan, signal.SIGKILL)
    expect_soon("the end of the orphans", lambda: not any(Path(f"/proc/{orphan}").exists() for orphan in orphans))
    assert ids(container.daemon, 3) == [1, 2, 3]
    container.send(signal.SIGTERM)
    assert container.daemon.wait_exit() == 0


def test_ASignalDuringTheStartIsNotLost(container):
    container.spawn()
    expect_soon("the daemon", lambda: container.has_first() and children(container.first))
    container.send(signal.SIGTERM)
    # 0: it was ready just then.
    assert container.daemon.wait_exit() in (0, 128 + signal.SIGTERM)


def test_SignalsReachTheDaemonAndItsExitCodeComesOut(container):
    container.start()
    assert ids(container.daemon, 3) == [1, 2, 3]
    container.send(signal.SIGHUP)
    expect_soon("the reload", lambda: "reloaded: " in container.daemon.stderr())
    container.send(signal.SIGINT)
    assert container.daemon.wait_exit() == 0
    container.start()
    assert ids(container.daemon, 3) == [4, 5, 6]
    # 75 until the store has confirmed the instance, which the daemon does not wait for.
    expect_soon("the decommission", lambda: container.daemon.seqctl("decommission", "--yes", expect=None).returncode == 0)
    assert container.daemon.wait_exit() == 80


def test_AKilledDaemonEndsTheContainerAndGoesOnInTheNext(container):
    container.start()
    assert ids(container.daemon, 3) == [1, 2, 3]
    (daemon,) = children(container.first)
    os.kill(daemon, signal.SIGKILL)
    assert container.daemon.wait_exit() == 128 + signal.SIGKILL
    container.start()
    assert ids(container.daemon, 3) == [4, 5, 6]
    container.send(signal.SIGKILL)
    container.daemon.wait_exit()
    container.start()
    assert ids(container.daemon, 3) == [7, 8, 9]


def test_TheEndOfTheDaemonIsSeenWhereSignalsOfChildrenWereIgnored(container):
    """An ignored SIGCHLD is inherited, and then the kernel would tell of no child's end."""
    container.daemon.prefix = [*NAMESPACE, "env", "--ignore-signal=CHLD"]
    container.start()
    (daemon,) = children(container.first)
    os.kill(daemon, signal.SIGKILL)
    assert container.daemon.wait_exit() == 128 + signal.SIGKILL


# Listens, and becomes the daemon with the socket, as podman does with that of a unit.
PASS_A_SOCKET = """
import os, socket, sys
path = sys.argv[1]
made = socket.socket(socket.AF_UNIX)
made.bind(path)
made.listen()
os.dup2(made.fileno(), 3)
os.set_inheritable(3, True)  # also where it was 3 before
os.environ.update(LISTEN_FDS="1", LISTEN_PID=str(os.getpid()))
os.execvp(sys.argv[2], sys.argv[2:])
"""


def test_ASocketThatIsPassedToProcessOneIsTheDaemons(container):
    daemon = container.daemon
    passed = daemon.socket.with_name("passed.sock")
    daemon.prefix = [*NAMESPACE, "/usr/bin/python3", "-c", PASS_A_SOCKET, str(passed)]
    container.start()
    assert not daemon.socket.exists()
    daemon.socket = passed
    assert ids(daemon, 3) == [1, 2, 3]


@pytest.fixture(name="manager")
def a_service_manager_that_looks_at_the_sender(container):
    """As systemd with PrivatePIDs= and nspawn with --notify-ready= do: they started process 1."""
    place = container.daemon.short / "manager"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(place))
        manager.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        manager.settimeout(20 * PATIENCE)
        container.daemon.environment = {"NOTIFY_SOCKET": str(place)}
        yield manager


def hear(manager, container, wanted):
    """All that is reported up to what is wanted."""
    texts = []
    while not texts or wanted not in texts[-1]:
        data, controls, _, _ = manager.recvmsg(4096, socket.CMSG_SPACE(12))
        texts.append(data.decode())
        assert struct.unpack("iII", controls[0][2])[0] == container.first, texts
    return texts


def test_WhatTheDaemonReportsComesFromProcessOne(container, manager):
    container.daemon.environment.update({"WATCHDOG_PID": "1", "WATCHDOG_USEC": "1000000"})
    container.spawn()
    hear(manager, container, "READY=1")
    hear(manager, container, "WATCHDOG=1")
    container.send(signal.SIGTERM)
    hear(manager, container, "STOPPING=1")
    assert container.daemon.wait_exit() == 0


# Sends to every abstract socket there is, from a process that is not the daemon, and says how many took it.
FORGE = """
import socket
names = {line.split()[-1] for line in open("/proc/net/unix") if line.split()[-1].startswith("@")}
taken = 0
for name in names:
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as one:
            one.sendto(b"X_FORGED=1", "\\0" + name[1:])
            taken += 1
    except OSError:
        continue
print(taken)
"""


def test_NobodyElseReportsThroughProcessOne(container, manager):
    container.daemon.prefix = [*NAMESPACE, "unshare", "--net"]
    container.spawn()
    hear(manager, container, "READY=1")
    done = subprocess.run(["nsenter", "--target", str(container.first), "--net", "/usr/bin/python3", "-c", FORGE],
                          capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "0\n", done.stderr  # there is none, so nobody can fill it either
    container.send(signal.SIGTERM)
    assert not any("FORGED" in text for text in hear(manager, container, "STOPPING=1"))
    assert container.daemon.wait_exit() == 0


def fill(manager):
    """As one that is frozen; how many messages it takes."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as full:
        full.setblocking(False)
        for taken in range(100_000):
            try:
                full.sendto(b"X_FULL=1", manager.getsockname())
            except BlockingIOError:
                return taken
    raise AssertionError("there is no end of it")


def serves(container):
    """READY=1 goes to the manager, so the first ID tells that the daemon runs."""
    expect_soon("the daemon's socket", container.daemon.socket.exists)
    assert ids(container.daemon, 1) == [1]


def test_AManagerThatTakesNothingKeepsNoSignalFromTheDaemon(container, manager):
    fill(manager)
    container.spawn()
    serves(container)
    container.send(signal.SIGTERM)
    assert container.daemon.wait_exit() == 0


def test_AManagerThatTookNothingIsToldLater(container, manager):
    taken = fill(manager)
    container.spawn()
    serves(container)
    for _ in range(taken):
        assert manager.recv(4096) == b"X_FULL=1"
    hear(manager, container, "READY=1")
    container.send(signal.SIGTERM)
    assert container.daemon.wait_exit() == 0
