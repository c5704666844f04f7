"""Where the witness lies when nothing says so: in memory that the daemon finds, also where neither /run nor /dev/shm is a tmpfs."""

import os
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

import pytest

import harness
from disks import NotShown
from servers.mongod import expect_soon

DEFAULTS = {"lease_min": 1000, "lease_max": 1000, "max_available": 5000}

# A mount namespace in which no candidate is a tmpfs, as in a container that was made to have none; the daemon's own sockets stay.
NO_TMPFS = """set -e
place=$1 short=$2; shift 2
mkdir -p "$place/plain/${short##*/}" "$place/short"
mount --bind "$short" "$place/short"
mount --bind "$place/plain" /dev/shm
mount --bind "$place/short" "/dev/shm/${short##*/}"
mount --bind "$place/plain" /run
unset XDG_RUNTIME_DIR
exec "$@"
"""
# The usual place with nothing in it that earlier daemons left, whose state directories may have had the same inodes.
OWN_MEMORY = """set -e
own=$1 usual=/dev/shm/seqd-$(id -u); shift
mkdir -p -m 0700 "$usual"
mount --bind "$own" "$usual"
exec "$@"
"""
# As NO_TMPFS, but that a part of a tmpfs that outlives the namespace is mounted at /run/seqd.
TMPFS_AT_THE_USUAL_PLACE = NO_TMPFS.replace("unset", """mkdir -p "$place/short/run" "$place/plain/seqd"
chmod 0700 "$place/short/run"
mount --bind "$place/short/run" /run/seqd
unset""")


def by_itself(daemon):
    """The configuration without a witness_dir."""
    text = daemon.config_file.read_text()
    daemon.config_file.write_text("".join(line for line in text.splitlines(True) if not line.startswith("witness_dir")))
    return daemon


def how(daemon):
    with daemon.connect() as client:
        return client.call("status")["state_how"]


def ids(daemon, count):
    with daemon.connect() as client:
        return client.many("orders", count)


@pytest.fixture(name="places", params=["memory that is there", "no tmpfs"])
def where_the_witness_may_lie(request, make_daemon, scratch):
    """Makes daemons in one of the two surroundings."""
    if request.param == "no tmpfs" and os.getuid() != 0:
        raise NotShown("a mount namespace is for root only")

    def make(name, **options):
        daemon = by_itself(make_daemon(name, defaults=DEFAULTS, **options))
        if request.param == "no tmpfs":
            place = scratch / f"{name}-place"
            place.mkdir()
            daemon.prefix = ["unshare", "--mount", "--propagation", "private", "sh", "-c", NO_TMPFS, "sh",
                             str(place), str(daemon.short)]
        elif os.getuid() == 0:
            daemon.prefix = ["unshare", "--mount", "--propagation", "private", "sh", "-c", OWN_MEMORY, "sh", memory]
        return daemon

    made = []
    with tempfile.TemporaryDirectory(prefix="seqd-test-", dir="/dev/shm") as memory:
        yield lambda name, **options: made.append(make(name, **options)) or made[-1]
        for daemon in made:  # takes the witness along, wherever it is
            if daemon.running():
                daemon.seqctl("decommission", "--yes", expect=None)


def test_AKilledDaemonGoesOnWithoutAWitnessDirectory(places):
    daemon = places("sidecar").start()
    assert ids(daemon, 10) == list(range(1, 11))
    for first in range(11, 41, 10):
        daemon.kill()
        daemon.start()
        assert how(daemon) == "witness"
        assert ids(daemon, 10) == list(range(first, first + 10))
    assert "is not on a tmpfs" not in daemon.stderr()


def test_ATmpfsThatIsMountedAtTheUsualPlaceIsTaken(make_daemon, scratch):
    """Its parent is on a disk, as in a container with a volume in memory at /run/seqd."""
    if os.getuid() != 0:
        raise NotShown("a mount namespace is for root only")
    daemon = by_itself(make_daemon("pod", defaults=DEFAULTS))
    place = scratch / "place"
    place.mkdir()
    daemon.prefix = ["unshare", "--mount", "--propagation", "private", "sh", "-c", TMPFS_AT_THE_USUAL_PLACE, "sh", str(place), str(daemon.short)]
    daemon.start()
    assert ids(daemon, 10) == list(range(1, 11))
    assert "witness_dir=/run/seqd" in daemon.stderr()
    assert len(list((daemon.short / "run").glob("*.witness"))) == 1
    daemon.kill()
    daemon.start()
    assert how(daemon) == "witness"
    assert ids(daemon, 10) == list(range(11, 21))


def test_ACopyBesideTheOriginalHasNoWitness(places):
    origin = places("origin").start()
    assert ids(origin, 10) == list(range(1, 11))
    copy = places("copy")
    copy.state.rmdir()
    harness.copy_state(origin.state, copy.state)
    copy.start()
    assert how(copy).startswith("forfeited: there is no witness")
    assert ids(copy, 1)[0] > 1000
    assert ids(origin, 10) == list(range(11, 21))


def test_AnOlderStatePutBackInPlaceIsNotGoneOnWith(places, scratch):
    daemon = places("restored").start()
    assert ids(daemon, 10) == list(range(1, 11))
    daemon.kill()
    older = scratch / "older"
    shutil.copytree(daemon.state, older)
    daemon.start()
    assert ids(daemon, 10) == list(range(11, 21))
    daemon.kill()
    for file in older.iterdir():  # over the same files, so every inode stays
        if file.name.startswith("log."):
            (daemon.state / file.name).write_bytes(file.read_bytes())
    daemon.start()
    assert how(daemon).startswith("forfeited: ")
    assert ids(daemon, 1)[0] > 1000


def test_ADecommissionLeavesNoSharedMemory(places):
    daemon = places("temporary").start()
    assert ids(daemon, 1) == [1]
    mapped = segments_of(daemon.process.pid)
    assert bool(mapped) == ('witness_dir="System V' in daemon.stderr())
    assert mapped <= segments()
    daemon.seqctl("decommission", "--yes")
    assert daemon.wait_exit() == 80
    assert not mapped & segments()


def segments_of(process):
    """The shared memory of System V that a process has attached. Another may have made it: for a state directory with the
    same inode, removed since without a decommission."""
    lines = Path(f"/proc/{process}/maps").read_text(encoding="utf-8").splitlines()
    return {line.split()[4] for line in lines if "/SYSV" in line}


def segments():
    lines = Path("/proc/sysvipc/shm").read_text(encoding="ascii").splitlines()
    return {line.split()[1] for line in lines[1:]}


def test_AWitnessThatIsRemovedWhileTheDaemonRunsIsMadeAgain(make_daemon):
    daemon = make_daemon(defaults=DEFAULTS).start()
    assert ids(daemon, 10) == list(range(1, 11))
    for removed in range(1, 4):
        (witness,) = daemon.witness.glob("*.witness")
        witness.unlink()
        expect_soon("the witness", lambda number=removed: daemon.stderr(1 << 20).count("was recreated") >= number)
        first = 20 * removed - 9
        assert ids(daemon, 10) == list(range(first, first + 10))
        daemon.kill()
        daemon.start()
        assert how(daemon) == "witness"
        assert ids(daemon, 10) == list(range(first + 10, first + 20))
    daemon.seqctl("audit", "orders")


def test_AWitnessDirectoryThatIsRemovedIsReportedOnceAndARestartLosesNothing(make_daemon):
    daemon = make_daemon(defaults=DEFAULTS).start()
    assert ids(daemon, 10) == list(range(1, 11))
    shutil.rmtree(daemon.witness)
    expect_soon("the report", lambda: "cannot be recreated there" in daemon.stderr())
    assert ids(daemon, 10) == list(range(11, 21))
    daemon.witness.mkdir(0o700)
    daemon.restart()
    assert ids(daemon, 10) == list(range(21, 31))
    assert daemon.stderr(1 << 20).count("cannot be recreated there") == 1


# Reserves shared memory keys as another user.
TAKE_KEYS = """
import ctypes, os, sys
os.setgid(12345); os.setuid(12345)
shmget = ctypes.CDLL(None, use_errno=True).shmget
for key in sys.argv[1:]:
    print(shmget(ctypes.c_int32(int(key)), 4096, 0o1600), flush=True)
"""


def keys_of_the_witness(state: Path) -> list:
    """The shared memory keys that the witness of this state directory may use."""
    facts = state.stat()
    key = 2166136261
    for byte in f"seqd-{facts.st_dev:x}-{facts.st_ino:x}.witness".encode():
        key = ((key ^ byte) * 16777619) % 2**32
    return [str((key + attempt) % 2**32) for attempt in range(8)]


@pytest.mark.parametrize("places", ["no tmpfs"], indirect=True)
def test_AnotherUserCannotKeepTheDaemonFromStarting(places):
    daemon = places("attacked")
    keys = keys_of_the_witness(daemon.state)
    for key in keys:  # left by an earlier directory with the same inode
        subprocess.run(["ipcrm", "-M", key], stderr=subprocess.DEVNULL, check=False)
    taken = subprocess.run(["/usr/bin/python3", "-c", TAKE_KEYS, *keys], capture_output=True, text=True, check=True).stdout.split()
    try:
        assert len(taken) == 8 and all(int(key) >= 0 for key in taken), taken
        daemon.start()
        assert "there is no witness" in daemon.stderr()
        assert ids(daemon, 10) == list(range(1, 11))
        daemon.kill()
        daemon.start()
        assert how(daemon).startswith("forfeited")
        assert ids(daemon, 1)[0] > 10
        daemon.seqctl("audit", "orders")
    finally:
        for key in taken:
            subprocess.run(["ipcrm", "-m", key], check=False)


def test_ProcessOneStopsOrderlyAndGoesOnAfterAKill(make_daemon):
    """Without an init: the kernel sends process 1 only the signals that it handles."""
    if os.getuid() != 0:
        raise NotShown("a PID namespace is for root only")
    daemon = make_daemon(defaults=DEFAULTS)
    daemon.prefix = ["unshare", "--pid", "--fork", "--kill-child=KILL", "--mount-proc"]

    def first():
        parent = daemon.process.pid
        return int(Path(f"/proc/{parent}/task/{parent}/children").read_text(encoding="ascii"))

    daemon.start()
    assert ids(daemon, 3) == [1, 2, 3]
    os.kill(first(), signal.SIGTERM)
    assert daemon.wait_exit() == 0
    daemon.start()
    assert ids(daemon, 3) == [4, 5, 6]
    os.kill(first(), signal.SIGKILL)
    daemon.wait_exit()
    daemon.start()
    assert ids(daemon, 3) == [7, 8, 9]
