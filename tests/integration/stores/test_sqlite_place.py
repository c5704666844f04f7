"""Where the file of an SQLite store may lie: a file system of a program (FUSE) that shows another host's files is refused by its name,
and any other is accepted with a warning. The file systems are real: this test is their program."""

import contextlib
import ctypes
import os
import struct
import threading

import pytest

from disks import NotShown
from harness import Died

ENOENT, ENOSYS = 2, 38
LOOKUP, GETATTR, STATFS, INIT, FORGETS = 1, 3, 17, 26, (2, 42)
DIRECTORY = 0o40755


class EmptyDirectory(threading.Thread):
    """A FUSE file system with nothing in it, mounted as `kind` for all of this test."""

    def __init__(self, place, kind: str):
        super().__init__(daemon=True)
        self.place = place
        self.libc = ctypes.CDLL(None, use_errno=True)
        if os.geteuid() != 0 or not os.path.exists("/dev/fuse"):
            raise NotShown("mounting a file system of a program needs root and /dev/fuse")
        self.device = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
        options = f"fd={self.device},rootmode=40000,user_id=0,group_id=0,allow_other".encode()
        if self.libc.mount(b"test", os.fsencode(place), kind.encode(), 0, options) != 0:
            raise OSError(ctypes.get_errno(), f"mount {kind}")
        self.start()

    def run(self) -> None:
        with contextlib.suppress(OSError):  # it was unmounted
            while True:
                request = os.read(self.device, 1 << 18)
                _, operation, unique = struct.unpack_from("<IIQ", request)
                if operation not in FORGETS:
                    error, data = self.answer(operation)
                    os.write(self.device, struct.pack("<IiQ", 16 + len(data), -error, unique) + data)

    @staticmethod
    def answer(operation: int):
        if operation == INIT:
            return 0, struct.pack("<IIII", 7, 31, 0, 0) + bytes(48)
        if operation == GETATTR:
            return 0, struct.pack("<QII", 1, 0, 0) + struct.pack("<QQQQQQIIIIIIIIII", 1, 0, 0, 0, 0, 0, 0, 0, 0, DIRECTORY, 2, 0, 0, 0, 4096, 0)
        if operation == STATFS:
            return 0, bytes(80)
        return (ENOENT if operation == LOOKUP else ENOSYS), b""

    def close(self) -> None:
        self.libc.umount2(os.fsencode(self.place), 2)
        os.close(self.device)


@pytest.fixture(name="mounted")
def fixture_mounted(scratch):
    with contextlib.ExitStack() as stack:
        def mount(kind):
            place = scratch / "mounted"
            place.mkdir()
            stack.callback(EmptyDirectory(place, kind).close)
            return place
        yield mount


@pytest.mark.parametrize("kind", ["fuse.sshfs", "fuse.glusterfs"])
def test_FileOfAnotherHostIsRefused(make_daemon, mounted, kind):
    place = mounted(kind)
    with pytest.raises(Died) as ended:
        make_daemon(stores={"shared": {"type": "sqlite", "path": place / "ids.db"}}).start()
    assert ended.value.code == 78 and "network file system" in str(ended.value)
    assert str(place) in str(ended.value)


@pytest.mark.parametrize("kind", ["fuse", "fuse.bindfs"])
def test_FileSystemOfAnyOtherProgramIsWarnedOf(make_daemon, mounted, kind):
    place = mounted(kind)
    daemon = make_daemon(stores={"shared": {"type": "sqlite", "path": place / "ids.db"}})
    with pytest.raises(Died) as ended:  # nothing can be created in this one
        daemon.start()
    assert ended.value.code == 69 and "unable to open database file" in str(ended.value)
    assert f'store_warning: store "shared": the file {place}/ids.db is on a FUSE file system' in daemon.stderr(-1)
