#!/usr/bin/python3
"""Shared memory of System V (witnesses, pages of blocks) for the tests alone: a namespace, which goes with its last process, and with
it what daemons and clients that were killed have left there. The machine has 4,096 segments for all.

usage: shared_memory.py COMMAND...     runs a command in one
"""

import ctypes
import os
import sys

CLONE_NEWIPC = 0x08000000


def take_own() -> bool:
    """For this thread, and for all that it starts from here on. False where that is not allowed, which it is for root: then they
    use the machine's, as ever."""
    return ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWIPC) == 0


def main() -> int:
    command = sys.argv[1:]
    if not command:
        print(__doc__, file=sys.stderr)
        return 2
    take_own()
    try:
        os.execvp(command[0], command)
    except OSError as error:
        print(f"shared_memory: {command[0]}: {error.strerror}", file=sys.stderr)
        return 127


if __name__ == "__main__":
    sys.exit(main())
