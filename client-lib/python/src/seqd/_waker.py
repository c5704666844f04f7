"""A pair of sockets by which threads wake the one that waits in poll(). With the lock of its owner held, wait for poll() itself."""

from __future__ import annotations

from typing import Any, Optional, Tuple

from ._primitives import POLLIN, socket, socketpair
from ._socket import no_connection


class Waker:
    """Has two descriptors from the first open() on, which go with close() or with the object."""

    def __init__(self) -> None:
        self._pair: Optional[Tuple[socket, socket]] = None
        self.woken = False  # something is to be read

    def open(self) -> None:
        """Raises ConnectError where no descriptors are left."""
        if self._pair is None:
            try:
                self._pair = socketpair()
            except OSError as error:
                raise no_connection("a pair of sockets cannot be made", error) from None
            self._pair[0].setblocking(False)

    def watch(self, poll: Any) -> None:
        """If it is open."""
        if self._pair is not None:
            poll.register(self._pair[0].fileno(), POLLIN)

    def wake(self) -> None:
        if self._pair is not None and not self.woken:
            self._pair[1].send(b"w")
            self.woken = True

    def empty(self) -> None:
        if self._pair is not None:
            try:
                self._pair[0].recv(64)
            except BlockingIOError:
                pass  # emptied before, by a call that was interrupted
        self.woken = False

    def close(self) -> None:
        if self._pair is not None:
            pair, self._pair = self._pair, None
            pair[0].close()
            pair[1].close()
        self.woken = False

    def __del__(self) -> None:
        self.close()
