"""Where the daemon listens, the connection to it, and how long to wait before the next attempt. Any thread."""

from __future__ import annotations

import errno
import os
import random
from typing import Optional, Union

from ._primitives import AF_UNIX, SOCK_STREAM, socket
from .errors import ArgumentError, ConnectError

PACKAGED_PATH = "/run/seqd.sock"
LONGEST_PATH = 107
# The daemon comes back from these by itself: it restarts, or its queue is full.
_WORTH_A_RETRY = (errno.ENOENT, errno.ECONNREFUSED, errno.ECONNRESET, errno.EPIPE, errno.EAGAIN, errno.EINTR)
_SHORTAGE = (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOBUFS)

PathLike = Union[str, "os.PathLike[str]"]


def socket_path(path: Optional[PathLike] = None) -> str:
    """The path that the caller names, else SEQD_SOCKET, else that of the package."""
    chosen = os.fspath(path) if path is not None else os.environ.get("SEQD_SOCKET") or PACKAGED_PATH
    if not isinstance(chosen, str):
        raise ArgumentError("the path of the socket is a str")
    if not chosen or "\0" in chosen or len(os.fsencode(chosen)) > LONGEST_PATH:
        raise ArgumentError(f"the path of the socket has 1 to {LONGEST_PATH} bytes and no zero byte: {chosen!r}")
    return chosen


def reason(error: OSError) -> str:
    """In words, of an error of the system. Others, such as a TimeoutError of a signal handler, are raised again."""
    if error.errno is None:
        raise error
    return os.strerror(error.errno)


def no_connection(what: str, error: OSError) -> ConnectError:
    """temporary: it is a shortage, which others may end."""
    why = reason(error)
    trouble = ConnectError(f"{what}: {why}")
    trouble.temporary = error.errno in _SHORTAGE
    trouble.why = why
    return trouble


class NotNow(Exception):
    """No daemon takes a connection at this moment."""


def connect(path: str) -> socket:
    """A connected socket that does not block. Raises NotNow, or ConnectError where waiting does not help."""
    connection = None
    try:
        connection = socket(AF_UNIX, SOCK_STREAM)
        connection.setblocking(False)
        # A Unix socket connects at once or not at all; EAGAIN means that the daemon's queue is full.
        connection.connect(path)
        return connection
    except OSError as error:
        if connection is not None:
            connection.close()
        why = reason(error)
        if error.errno in _WORTH_A_RETRY:
            raise NotNow(why) from None
        raise no_connection(f"cannot connect to {path}", error) from None


class BackOff:
    """The first attempt at once, then 1 ms doubling to 100 ms, each between half and the whole of it, so that the clients of
    a restarted daemon do not arrive together."""

    LONGEST = 0.1

    def __init__(self) -> None:
        self._delay = 0.0

    def next_delay(self) -> float:
        """Seconds."""
        whole = self._delay
        self._delay = min(max(whole * 2, 0.001), self.LONGEST)
        return whole * random.uniform(0.5, 1.0)

    def reset(self) -> None:
        """The daemon has answered a request: the next trouble is a new one."""
        self._delay = 0.0
