"""Every client of this process, so that a child made by fork() gets fresh ones under the same objects.

The child has its parent's memory: the identity and the numbers of requests, and the parent's socket. A request that it made
with them would get an ID of the parent's. So in the child each client forgets all that before any other code runs. Children
that are made without Python's knowledge (fork() in C) are noticed by their process ID at the next call.
"""

from __future__ import annotations

import os
import weakref
from typing import Protocol


class Forgetful(Protocol):
    def forget_parent(self) -> None:
        """Called in the child, whose only thread is the one that forked; takes no lock and does not touch the socket but
        to close the child's descriptor of it."""


_clients: "weakref.WeakSet[Forgetful]" = weakref.WeakSet()


def remember(client: Forgetful) -> None:
    _clients.add(client)


def _in_child() -> None:
    for client in list(_clients):
        client.forget_parent()


os.register_at_fork(after_in_child=_in_child)
