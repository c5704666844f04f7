"""A pipe by which threads wake the one that waits in poll(). With the lock of its owner held, wait for poll() itself."""

from __future__ import annotations

import os
import select
from typing import Optional, Tuple

from ._socket import no_connection


class Waker:
    """Has two descriptors from the first open() or watch() on, which go with close() or with the object."""

    def __init__(self) -> None:
        self._pipe: Optional[Tuple[int, int]] = None
        self.woken = False  # something is in the pipe

    def open(self) -> None:
        """Raises ConnectError where no descriptors are left; watch() afterwards does not."""
        if self._pipe is None:
            try:
                self._pipe = os.pipe()
            except OSError as error:
                raise no_connection("a pipe cannot be made", error) from None
            os.set_blocking(self._pipe[0], False)

    def watch(self, poll: select.poll) -> None:
        self.open()
        assert self._pipe is not None
        poll.register(self._pipe[0], select.POLLIN)

    def wake(self) -> None:
        if self._pipe is not None and not self.woken:
            os.write(self._pipe[1], b"w")
            self.woken = True

    def empty(self) -> None:
        if self._pipe is not None:
            try:
                os.read(self._pipe[0], 64)
            except BlockingIOError:
                pass  # emptied before, by a call that was interrupted
        self.woken = False

    def close(self) -> None:
        if self._pipe is not None:
            pipe, self._pipe = self._pipe, None
            os.close(pipe[0])
            os.close(pipe[1])
        self.woken = False

    def __del__(self) -> None:
        self.close()
