"""The blocks of a client: IDs that libseqd takes in this process, without a request for each. Nothing here waits (but
see _libseqd): where the block of a thread has no ID left, the client makes a request, and libseqd requests a block for the
calls that follow.

Each sequence has a handle of libseqd, with a connection of its own; threads have blocks of their own in it. There is no lock:
dictionaries of Python change in one step. Any thread, tasks, and signal handlers.
"""

from __future__ import annotations

import ctypes
from time import monotonic
from typing import Dict, Literal, Optional, Union

from . import _fork, _libseqd
from ._libseqd import FORKED, NO_METHOD, OK, WRONG_MODE, Handle, Library
from .errors import ArgumentError, ClosedError, DaemonError, ForkedError, LibraryError, NoMethod, WrongMode

Wanted = Union[bool, Literal["auto"]]

MOST_SEQUENCES = 64  # handles of a client
_MOST_REFUSED = 1024
_MOST_USED = 1024
_LONGEST_NAME = 128  # bytes; the daemon refuses longer ones
_AGAIN = 60.0  # seconds until a sequence without blocks is tried again: it may have been configured

_Int64 = ctypes.c_int64
_byref = ctypes.byref


class Blocks:
    """path, name, timeout: of the client. strict: a sequence without blocks is an error."""

    def __init__(self, library: Library, path: str, name: str, timeout: float, strict: bool) -> None:
        self._library = library
        self._next = library.next
        self._path, self._name, self._timeout = path, name, timeout
        self._strict = strict
        self._closed = False
        self._handles: Dict[str, Handle] = {}
        self._refused: Dict[str, float] = {}  # until when no handle is made, by name
        self._used: Dict[str, bool] = {}  # names that were used before
        _fork.remember(self)

    def next(self, name: str) -> Optional[int]:
        """One ID; None: a request is to be made. Raises WrongMode and NoMethod if strict, and ClosedError."""
        handle = self._handles.get(name)
        if handle is None:
            handle = self._open(name)
            if handle is None:
                return None
        number = _Int64()
        code = self._next(handle.pointer, _byref(number))
        if handle.pointer is None:
            # A signal handler forked behind the call of libseqd: the ID is the parent's.
            raise ForkedError("this process was forked off inside of the call")
        if code == OK:
            handle.gave = True
            return number.value
        # The traceback of an error would keep it, and so its blocks, beyond close().
        del handle
        return self._without(name, code)

    def _open(self, name: str) -> Optional[Handle]:
        if self._closed:
            raise ClosedError("the client was closed")
        if not isinstance(name, str) or "\0" in name:
            return None
        if self._refused.get(name, 0.0) > monotonic():  # in one step: another thread may clear it
            return None
        try:
            sequence = name.encode()
        except UnicodeEncodeError:
            return None
        if len(sequence) > _LONGEST_NAME:
            return None
        if name not in self._used:
            # That it has no blocks would be learned by a later call: a name that is used once would hold a handle for good.
            if len(self._used) >= _MOST_USED:
                self._used.clear()
            self._used[name] = True
            return None
        if not self._make_room():
            self._give_up(name)
            return None
        handle = self._library.open(self._path, self._name, self._timeout, sequence)
        if handle is None:
            return None
        # Of two threads at once, the first one's is kept; the other one's was not connected yet.
        handle = self._handles.setdefault(name, handle)
        if self._closed:
            self._handles.pop(name, None)
        return handle

    def _make_room(self) -> bool:
        """For one more handle: the oldest that gave no ID ends, as that of a sequence without blocks that is used seldom. Its
        name waits like one that was refused, or more names in turn than there are handles would push each other out."""
        while len(self._handles) >= MOST_SEQUENCES:
            oldest = next((name for name, handle in list(self._handles.items()) if not handle.gave), None)
            if oldest is None:
                return False
            self._give_up(oldest)
        return True

    def _without(self, name: str, code: int) -> Optional[int]:
        """After a call that gave no ID. Other errors are returned by the request that follows."""
        if code == FORKED:
            # A fork() that Python does not know of.
            self.forget_parent()
            return self.next(name)
        if code in (WRONG_MODE, NO_METHOD):
            if self._strict:
                raise (WrongMode if code == WRONG_MODE else NoMethod)(self._library.last_error())
            self._give_up(name)
        return None

    def request_failed(self, name: str, error: DaemonError) -> None:
        """After the request that was made instead. What the daemon refuses, such as a name that does not exist, has no blocks:
        its handle would take one of MOST_SEQUENCES for good. What is the daemon's own fault passes."""
        if error.fault == 1 and name in self._handles:
            self._give_up(name)

    def _give_up(self, name: str) -> None:
        if len(self._refused) >= _MOST_REFUSED:
            self._refused.clear()
        self._refused[name] = monotonic() + _AGAIN
        self._handles.pop(name, None)

    def forget_parent(self) -> None:
        """In the child, whose only thread this is."""
        for handle in list(self._handles.values()):
            handle.close()
        self._handles.clear()

    def close(self) -> None:
        """What was not taken is available again."""
        self._closed = True
        self._handles.clear()


def make(wanted: Wanted, path: str, name: str, timeout: float) -> Optional[Blocks]:
    """What a client with `blocks=wanted` has; None: it makes requests. Raises LibraryError if it is True, and ArgumentError."""
    if wanted is False:
        return None
    if wanted is not True and wanted != "auto":
        raise ArgumentError(f'blocks is True, False or "auto", not {wanted!r}')
    try:
        library = _libseqd.library()
    except LibraryError:
        if wanted is True:
            raise
        return None
    return Blocks(library, path, name, timeout, wanted is True)
