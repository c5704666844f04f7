"""The pages of blocks of a daemon: their keys, from the index beside the witness, and what others may do to them."""

import ctypes
import os
import struct
from pathlib import Path
from typing import List

LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.shmat.restype = ctypes.c_void_p
LIBC.shmat.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_int]
LIBC.shmdt.argtypes = [ctypes.c_void_p]
LIBC.shmctl.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_void_p]
LIBC.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
IPC_RMID, MADV_REMOVE, PAGE = 0, 9, 4096


def keys(witness: Path) -> List[int]:
    """Of all pages of the daemons with their witness there."""
    entries = [entry for index in witness.glob("seqd-*.pages") for entry in struct.iter_unpack("<QiI", index.read_bytes())]
    return [key for _, key, _ in entries if key != 0 and number(key) >= 0]


def number(key: int) -> int:
    return LIBC.shmget(key, 0, 0)


def check(result: int) -> int:
    if result == -1:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def remove(key: int) -> None:
    check(LIBC.shmctl(number(key), IPC_RMID, None))


def empty(key: int) -> None:
    at = LIBC.shmat(number(key), None, 0)
    assert at != ctypes.c_void_p(-1).value, os.strerror(ctypes.get_errno())
    try:
        check(LIBC.madvise(at, PAGE, MADV_REMOVE))
    finally:
        check(LIBC.shmdt(at))
