"""libseqd by ctypes, where the dynamic linker finds it: the package libseqd0, `make install`, LD_LIBRARY_PATH.

The name has the number of the ABI, so another ABI is another name and is not found. Python's lock is held during the calls,
of which none waits, but for the first open() of a process with several threads: some milliseconds for membarrier(2). So no
other thread is in one of them when a thread forks. Any thread.
"""

from __future__ import annotations

import ctypes
import os
from typing import Any, Optional

from .errors import LibraryError

SONAME = "libseqd.so.0"
# Results (seqd_codes.h).
OK, NO_METHOD, WRONG_MODE, FORKED = 0, -2, -21, -1006
_LONGEST_MS = 365 * 24 * 3_600_000  # of libseqd


class _Options(ctypes.Structure):
    """seqd_options as far as it is needed. libseqd takes for zero what is behind `size` bytes."""

    _fields_ = [("size", ctypes.c_size_t), ("socket_path", ctypes.c_char_p), ("name", ctypes.c_char_p),
                ("timeout_ms", ctypes.c_int64)]


class Handle:
    """The blocks of one sequence. They end with close(), or with the last reference to it. `pointer` is None then.

    gave: whether an ID came of them; the owner's.
    """

    __slots__ = ("pointer", "gave", "_close")

    def __init__(self, pointer: ctypes.c_void_p, close: Any) -> None:
        self.pointer: Optional[ctypes.c_void_p] = pointer
        self.gave = False
        self._close = close

    def close(self) -> None:
        pointer, self.pointer = self.pointer, None
        if pointer is not None:
            self._close(pointer)

    __del__ = close


class Library:
    """path: of the library, as dlopen(3) looks for it. Raises LibraryError when it cannot be loaded, or is too old.

    next(pointer, place): an ID of the handle, if this thread has one at hand; seqd_blocks_try_next.
    """

    def __init__(self, path: str = SONAME) -> None:
        try:
            loaded = ctypes.PyDLL(path)
        except OSError as error:
            raise LibraryError(f"blocks need {SONAME} of the package libseqd0, which cannot be loaded: {error}") from None
        try:
            # No types of arguments for this one: what it gets is right, and checking it is half of the time of a call.
            self.next = loaded.seqd_blocks_try_next
            self._open = loaded.seqd_blocks_open
            self._close = loaded.seqd_blocks_close
            self._last_error = loaded.seqd_blocks_last_error
        except AttributeError as error:
            raise LibraryError(f"blocks need a newer {SONAME} of the package libseqd0: {error}") from None
        self._open.argtypes = [ctypes.POINTER(_Options), ctypes.c_char_p, ctypes.POINTER(ctypes.c_void_p)]
        self._close.argtypes, self._close.restype = [ctypes.c_void_p], None
        self._last_error.argtypes, self._last_error.restype = [], ctypes.c_char_p

    def open(self, path: str, name: str, timeout: float, sequence: bytes) -> Optional[Handle]:
        """timeout: seconds of each request for a block. Does not connect. None: no memory, or no such name can be."""
        timeout_ms = min(max(int(timeout * 1000), 1), _LONGEST_MS)
        options = _Options(ctypes.sizeof(_Options), os.fsencode(path), name.encode("utf-8", "replace"), timeout_ms)
        pointer = ctypes.c_void_p()
        code = self._open(ctypes.byref(options), sequence, ctypes.byref(pointer))
        return Handle(pointer, self._close) if code == OK else None

    def last_error(self) -> str:
        """Of this thread."""
        text: bytes = self._last_error()
        return text.decode("utf-8", "replace")


_library: Optional[Library] = None


def library() -> Library:
    """The library of this process, loaded at the first use. Raises LibraryError, and looks for it each time: it may be installed
    later."""
    global _library
    if _library is None:
        _library = Library()  # two threads may load it at once: the same one
    return _library
