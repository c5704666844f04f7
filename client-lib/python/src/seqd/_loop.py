"""The connection of an asyncio client. Everything happens in the thread of its event loop.

It watches its socket itself, without a transport: a transport could not be left alone in a child after fork(), where the
loop's selector is still the parent's.
"""

from __future__ import annotations

import asyncio
import os
from time import monotonic
from typing import Any, Optional, Sequence, TypeVar

from . import _fork, errors
from ._primitives import MSG_NOSIGNAL, socket
from ._requests import QUEUED, Request
from ._session import NEVER, Session
from ._socket import BackOff, NotNow, connect, reason

T = TypeVar("T")
_READ = 65_536
_LAST_READS = 64  # more than a socket holds, so that a daemon that goes on writing is left all the same
_LONGEST_SLEEP = 3600.0


class _Group:
    """The requests of a pipeline: one future for all."""

    __slots__ = ("future", "left")

    def __init__(self, future: asyncio.Future[None], left: int) -> None:
        self.future = future
        self.left = left


def _done(request: Request[Any]) -> None:
    owner = request.owner
    if type(owner) is _Group:
        owner.left -= 1
        if owner.left == 0 and not owner.future.done():
            owner.future.set_result(None)
    elif not owner.done():
        if request.error is None:
            owner.set_result(request.result)
        else:
            owner.set_exception(request.error)


def _unwanted(request: Request[Any]) -> bool:
    """Its task was cancelled in this turn of the loop and has not run since."""
    owner = request.owner
    future = owner.future if type(owner) is _Group else owner
    return request.state == QUEUED and bool(future.cancelled())


class Connection:
    """path: of the socket. name: of the client. grace: seconds after the end of a good connection in which no call is given
    up for want of a new one."""

    def __init__(self, path: str, name: str, grace: float) -> None:
        self._path = path
        self._name = name
        self._grace = grace
        self._closed = False
        self._begin()
        _fork.remember(self)

    def _begin(self) -> None:
        self._process = os.getpid()
        self._loop: Optional[asyncio.AbstractEventLoop] = None
        self._session = Session(_done, self._name, unwanted=_unwanted)
        self._socket: Optional[socket] = None
        self._unsent: memoryview = memoryview(b"")
        self._writing = False  # the loop watches for room in the socket
        self._flush_soon = False
        self._timer: Optional[asyncio.TimerHandle] = None
        self._timer_at = NEVER
        self._back_off = BackOff()
        self._next_attempt = 0.0
        self._why = "there was no time to connect"

    def forget_parent(self) -> None:
        # Not through the loop, whose selector the parent uses.
        if self._socket is not None:
            self._socket.close()
        self._begin()

    # --- calls
    async def call(self, request: Request[T], timeout: float, connect_timeout: float) -> T:
        """The result of one request."""
        loop = self._enter()
        request.owner = future = loop.create_future()
        now = monotonic()
        session = self._session  # another loop, or a child, may have another one when this call is given up
        session.submit(request, now + timeout, now + connect_timeout)
        if not self._flush_soon:
            loop.call_soon(self._flush)
            self._flush_soon = True
        try:
            result: T = await future
            return result
        except BaseException:
            session.abandon(request)  # cancelled; does nothing to a request that has ended
            raise

    async def call_all(self, requests: Sequence[Request[Any]], timeout: float, connect_timeout: float) -> None:
        """Ends when all have their results or errors."""
        loop = self._enter()
        session = self._session
        group = _Group(loop.create_future(), len(requests))
        now = monotonic()
        for request in requests:
            request.owner = group
            session.submit(request, now + timeout, now + connect_timeout)
        self._schedule()
        try:
            await group.future
        except BaseException:
            session.abandon_all(requests)
            raise

    def _enter(self) -> asyncio.AbstractEventLoop:
        loop = asyncio.get_running_loop()
        if os.getpid() != self._process:
            self.forget_parent()
        if self._closed:
            raise errors.ClosedError("the client was closed")
        if loop is not self._loop:
            if self._loop is not None:
                if not self._loop.is_closed():
                    raise RuntimeError("this client belongs to another event loop")
                self.forget_parent()  # no task waits for the requests that were in flight
            self._loop = loop
        return loop

    # --- turns
    def _schedule(self) -> None:
        if not self._flush_soon and self._loop is not None:
            self._loop.call_soon(self._flush)
            self._flush_soon = True

    def _flush(self) -> None:
        """Expires, connects, sends, and sets the timer for the next time."""
        self._flush_soon = False
        session = self._session
        now = monotonic()
        if now >= session.soonest:
            session.expire(now, self._unreachable)
            if session.too_many_late:
                self._lose("the daemon does not answer")
        if self._socket is None and session.busy and now >= self._next_attempt:
            self._connect(now)
        wanted = session.soonest
        if self._socket is not None:
            self._send(now)
            wanted = session.soonest
        elif session.busy:
            wanted = min(wanted, self._next_attempt)
        if wanted < self._timer_at:
            self._set_timer(wanted, now)

    def _set_timer(self, at: float, now: float) -> None:
        assert self._loop is not None
        if self._timer is not None:
            self._timer.cancel()
        self._timer_at = at
        self._timer = self._loop.call_later(min(max(at - now, 0.0), _LONGEST_SLEEP), self._on_timer)

    def _on_timer(self) -> None:
        self._timer = None
        self._timer_at = NEVER
        self._flush()

    # --- the socket
    def _connect(self, now: float) -> None:
        assert self._loop is not None
        try:
            self._socket = connect(self._path)
        except NotNow as error:
            self._why = str(error)
            self._next_attempt = now + self._back_off.next_delay()
        except errors.ConnectError as error:
            self._why = error.why
            self._next_attempt = now + self._back_off.next_delay()
            if not self._session.may_come_back(now):
                self._session.fail_all(error.again)
        else:
            self._loop.add_reader(self._socket, self._on_readable)
            self._session.connected()

    def _send(self, now: float) -> None:
        """As much as the socket takes; when it takes more, the loop comes back."""
        connection, session = self._socket, self._session
        while connection is not None and not self._writing:
            if len(self._unsent) == 0:
                output = session.output(now)
                if not output:
                    if session.exhausted:
                        self._lose("the numbers of the identity came to their end")
                        self._next_attempt = now
                    return
                self._unsent = memoryview(output)
            try:
                self._unsent = self._unsent[connection.send(self._unsent, MSG_NOSIGNAL):]
            except BlockingIOError:
                assert self._loop is not None
                self._loop.add_writer(connection, self._on_writable)
                self._writing = True
            except OSError as error:
                # Replies that the daemon sent before it closed may still be there to read.
                reads = 0
                while reads < _LAST_READS and self._receive():
                    reads += 1
                self._lose(reason(error))
                return

    def _on_writable(self) -> None:
        self._stop_writing()
        self._send(monotonic())

    def _stop_writing(self) -> None:
        if self._writing and self._loop is not None and self._socket is not None:
            self._loop.remove_writer(self._socket)
        self._writing = False

    def _on_readable(self) -> None:
        if self._receive() and not self._flush_soon:
            self._send(monotonic())

    def _receive(self) -> bool:
        """False when there is nothing more to read."""
        if self._socket is None:
            return False
        try:
            data = self._socket.recv(_READ)
        except BlockingIOError:
            return False
        except OSError as error:
            self._lose(reason(error))
            return False
        if not data:
            self._lose("the daemon closed the connection")
            return False
        session = self._session
        try:
            keep = session.receive(data)
        except errors.ProtocolError as error:
            self._lose(error.text)
            session.fail_all(error.again)
            return False
        if session.proved:
            self._back_off.reset()
        if not keep:
            self._lose("the daemon is stopping")
        return keep

    def _lose(self, why: str) -> None:
        connection, loop = self._socket, self._loop
        if connection is None or loop is None:
            return
        if not loop.is_closed():
            loop.remove_reader(connection)
            self._stop_writing()
        connection.close()
        self._socket = None
        self._writing = False
        self._unsent = memoryview(b"")
        self._why = why
        now = monotonic()
        self._next_attempt = now + self._back_off.next_delay()
        self._session.disconnected(now + self._grace)
        if self._session.busy and not loop.is_closed():
            self._schedule()

    def _unreachable(self) -> errors.SeqdError:
        why = "it accepts connections but does not reply" if self._socket is not None else self._why
        return errors.ConnectError(f"no daemon answers at {self._path}: {why}")

    # --- the end
    def close(self) -> None:
        """Of the loop's thread, or of any after the loop was closed."""
        if os.getpid() != self._process:
            self.forget_parent()
        if self._closed:
            return
        self._closed = True
        if self._socket is not None and len(self._unsent) == 0:
            try:
                self._socket.send(self._session.last_words(), MSG_NOSIGNAL)
            except OSError:
                pass  # the daemon learns it from the end of the connection
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        alive = self._loop is not None and not self._loop.is_closed()
        self._lose("the client was closed")
        if alive:
            closed = errors.ClosedError("the client was closed")
            self._session.fail_all(closed.again)
