"""What the threads of a blocking client wait for. Everything but wait_for_news() is done with the lock of the client held."""

from __future__ import annotations

from time import monotonic
from typing import Any, Dict, Optional, Sequence

from ._primitives import Lock, get_ident
from ._requests import DONE, Request
from .errors import SeqdError

LONGEST_SLEEP = 3600.0


class Call:
    """What one thread waits for: one request or those of a pipeline."""

    __slots__ = ("requests", "deadline", "connect_deadline", "left", "thread", "epoch", "lead", "given_up", "wake", "waiting")

    def __init__(self, requests: Sequence[Request[Any]], deadline: float, connect_deadline: float, epoch: int,
                 waiting: Dict[Call, None]) -> None:
        self.requests = requests
        self.deadline = deadline
        self.connect_deadline = connect_deadline
        self.left = len(requests)
        self.thread = get_ident()
        self.epoch = epoch
        self.lead = False
        self.given_up = False
        self.wake: Any = None  # held until there is something to do
        self.waiting = waiting

    def is_once(self) -> bool:
        """It has a request that is not sent again."""
        requests = self.requests
        return requests[0].once or (len(requests) > 1 and any(request.once for request in requests))

    def sleep(self) -> None:
        self.wake = Lock()
        self.wake.acquire()

    def rouse(self) -> None:
        """Its thread goes on. Again, if an exception from outside came in the middle of the first time."""
        if self.wake is not None:
            try:
                self.wake.release()
            except RuntimeError:
                pass  # it was released
            self.wake = None
        self.waiting.pop(self, None)

    def recount(self) -> None:
        """After an exception from outside: does what was left undone when a request ended."""
        self.left = sum(request.state != DONE for request in self.requests)
        if (self.left == 0 or self.lead) and self.wake is not None:
            self.rouse()

    def end(self, error: SeqdError) -> None:
        """Its requests have ended, with a result or an error."""
        for request in self.requests:
            if request.state != DONE:
                request.error, request.state = error.again(), DONE
        self.left = 0

    def wait_for_news(self) -> bool:
        """False when the deadline came first."""
        wake = self.wake
        return wake is None or wake.acquire(timeout=max(0.0, min(self.deadline - monotonic(), LONGEST_SLEEP)))


def done(request: Request[Any]) -> None:
    call: Call = request.owner
    call.left -= 1
    if call.left == 0 and call.wake is not None:
        call.rouse()
