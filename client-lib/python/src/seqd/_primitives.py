"""What a blocking client waits with, looked up at each use: gevent and eventlet replace it, perhaps after this package was
imported, and then a wait lets other greenlets run.

What does not wait is always the system's own: a socket of gevent, and a poll object that has seen one, belong to the event loop
of one native thread, and another thread that uses them corrupts its memory. So has Connection a poll object for each thread
that waits, and a lock that is never held while greenlets switch.
"""

from __future__ import annotations

import select
import sys
import threading
from _socket import AF_UNIX, MSG_NOSIGNAL, SOCK_STREAM, socket, socketpair
from _thread import RLock  # type: ignore[attr-defined]
from typing import Any, Dict

__all__ = ["AF_UNIX", "Lock", "MSG_NOSIGNAL", "POLLIN", "POLLOUT", "RLock", "SOCK_STREAM", "get_ident", "hub", "poll", "socket",
           "socketpair"]

POLLIN, POLLOUT = 1, 4  # as of Linux


class _Select:
    """A poll object made of select(), which is all that eventlet leaves."""

    def __init__(self) -> None:
        self._watched: Dict[int, int] = {}

    def register(self, descriptor: int, events: int) -> None:
        self._watched[descriptor] = events

    def poll(self, milliseconds: float) -> None:
        readers = [one for one, events in self._watched.items() if events & POLLIN]
        writers = [one for one, events in self._watched.items() if events & POLLOUT]
        select.select(readers, writers, [], milliseconds / 1000)


def poll() -> Any:
    """An object with register(DESCRIPTOR, EVENTS) and poll(MILLISECONDS), for the thread or greenlet that made it."""
    made = getattr(select, "poll", None)
    return _Select() if made is None else made()


def hub() -> Any:
    """The event loop of gevent in this native thread, to which a poll object belongs; None without one."""
    made = getattr(select, "poll", None)
    return sys.modules["gevent"].get_hub() if made is not None and made.__module__ == "gevent.select" else None


def get_ident() -> int:
    """Of this thread or greenlet."""
    return threading.get_ident()


class _LockOfHub:
    """A lock of gevent. A release by another native thread does not wake the greenlet that waits; its own loop releases the lock."""

    def __init__(self, lock: Any, of_sleeper: Any) -> None:
        self._lock = lock
        self._hub = of_sleeper
        self.acquire = lock.acquire

    def release(self) -> None:
        if hub() is self._hub:
            self._lock.release()
        else:
            self._hub.loop.run_callback_threadsafe(self._lock.release)


def Lock() -> Any:  # noqa: N802
    """One on which the thread or greenlet that makes it sleeps, and which any other releases."""
    lock, of_sleeper = threading.Lock(), hub()
    return lock if of_sleeper is None else _LockOfHub(lock, of_sleeper)
