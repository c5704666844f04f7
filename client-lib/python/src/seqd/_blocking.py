"""The connection of a blocking client, shared by its threads.

Of the threads that wait for replies, one is the leader: it waits for the socket and takes in the replies of all; when its
own have arrived, it passes the leadership on. The others wait for a lock of their own. A thread that finds a leader sends
its request itself, or, while the leader holds the lock, with those of the other threads.

Rules: `_lock` guards everything but waiting; only the leader receives, connects and disconnects, close() apart; nobody waits
with the lock held. A thread interrupted in the middle (KeyboardInterrupt) ends the connection, and what the other threads
wait for is repeated on the next one.
"""

from __future__ import annotations

import os
import select
import socket
import threading
from time import monotonic
from typing import Any, Dict, Optional, Sequence, Tuple

from . import _fork, errors
from ._requests import DONE, Request
from ._session import Session
from ._socket import BackOff, NotNow, connect

_READ = 65_536
_LAST_READS = 64  # more than a socket holds, so that a daemon that goes on writing is left all the same
_LONGEST_SLEEP = 3600.0


class _Call:
    """What one thread waits for: one request or those of a pipeline."""

    __slots__ = ("requests", "left", "epoch", "lead", "wake", "waiting")

    def __init__(self, requests: Sequence[Request[Any]], epoch: int, waiting: Dict[_Call, None]) -> None:
        self.requests = requests
        self.left = len(requests)
        self.epoch = epoch
        self.lead = False
        self.wake: Optional[threading.Lock] = None  # held until there is something to do
        self.waiting = waiting


def _done(request: Request[Any]) -> None:
    call: _Call = request.owner
    call.left -= 1
    if call.left == 0 and call.wake is not None:
        _wake(call)


def _wake(call: _Call) -> None:
    if call.waiting.pop(call, call) is None and call.wake is not None:
        call.wake.release()


class Connection:
    """path: of the socket. name: of the client. grace: seconds after the end of a good connection in which no call is given
    up for want of a new one."""

    def __init__(self, path: str, name: str, grace: float) -> None:
        self._path = path
        self._name = name
        self._grace = grace
        self._closed = False
        self._epoch = 0
        self._begin()
        _fork.remember(self)

    def _begin(self) -> None:
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._session = Session(_done, self._name)
        self._socket: Optional[socket.socket] = None
        self._poll = select.poll()
        self._events = 0
        self._pipe: Optional[Tuple[int, int]] = None  # to wake the leader
        self._woken = False  # something is in the pipe
        self._unsent: memoryview = memoryview(b"")
        self._send_failed = False
        self._led = False
        self._waiting: Dict[_Call, None] = {}
        self._back_off = BackOff()
        self._next_attempt = 0.0
        self._why = "there was no time to connect"

    def forget_parent(self) -> None:
        if self._socket is not None:
            self._socket.close()
        self._close_pipe()
        self._epoch += 1
        self._begin()

    def __del__(self) -> None:
        if getattr(self, "_pipe", None) is not None:
            self._close_pipe()

    # --- calls
    def run(self, requests: Sequence[Request[Any]], timeout: float, connect_timeout: float) -> None:
        """Returns when every request has its result or error."""
        if os.getpid() != self._process:
            self.forget_parent()
        now = monotonic()
        call = _Call(requests, self._epoch, self._waiting)
        try:
            with self._lock:
                if self._closed:
                    raise errors.ClosedError("the client was closed")
                self._enter(call, now + timeout, now + connect_timeout)
                if call.lead:
                    wait = self._turn(now)
                else:
                    self._send(now)
                    if len(self._unsent) > 0:
                        self._wake_leader()
            if call.lead:
                self._lead(call, wait)
            else:
                self._follow(call, now + timeout)
        except BaseException:
            with self._lock:
                if call.epoch == self._epoch:
                    self._interrupted(call)
            raise

    def _enter(self, call: _Call, deadline: float, connect_deadline: float) -> None:
        session = self._session
        if not self._led:
            call.lead = self._led = True
            if self._socket is not None and not session.busy:
                # What is sent into a connection that has ended is lost, and an insert is not sent twice.
                self._notice_end()
        else:
            call.wake = threading.Lock()
            call.wake.acquire()
            self._waiting[call] = None
        for request in call.requests:
            request.owner = call
            session.submit(request, deadline, connect_deadline)

    def _interrupted(self, call: _Call) -> None:
        """An exception from outside, somewhere: the call is given up, and the connection with it if it was in use."""
        self._session.abandon_all(call.requests)
        self._waiting.pop(call, None)
        if call.lead:
            self._lose("a call was interrupted", monotonic())
            for other in list(self._waiting):
                other.left = sum(request.state != DONE for request in other.requests)
                if other.left == 0:
                    _wake(other)
            self._pass_on(call)

    def _follow(self, call: _Call, deadline: float) -> None:
        assert call.wake is not None
        while call.left > 0:
            woken = call.wake.acquire(timeout=max(0.0, min(deadline - monotonic(), _LONGEST_SLEEP)))
            self._still_ours(call)
            if not woken:
                # The leader is asleep, perhaps until a later deadline of its own.
                with self._lock:
                    if call.left > 0 and not call.lead:
                        self._session.expire(monotonic(), self._unreachable)
            elif call.lead:
                with self._lock:
                    wait = self._turn(monotonic())
                self._lead(call, wait)
        if call.lead:
            with self._lock:
                self._pass_on(call)

    def _still_ours(self, call: _Call) -> None:
        if call.epoch != self._epoch:
            raise errors.ForkedError("this process was forked off inside of the call")

    # --- the leader
    def _lead(self, call: _Call, wait: float) -> None:
        """Ends when the call has its replies, which it has at its deadline at the latest."""
        while True:
            if call.left > 0 and wait > 0:
                # Until the socket has something, another thread wakes the leader, or the time is over.
                self._poll.poll(min(wait, _LONGEST_SLEEP) * 1000)
            self._still_ours(call)
            with self._lock:
                now = monotonic()
                if self._woken:
                    self._empty_pipe()
                if call.left > 0 and self._socket is not None:
                    self._receive(now)
                if call.left == 0:
                    self._pass_on(call)
                    return
                wait = self._turn(now)

    def _turn(self, now: float) -> float:
        """Expires, connects, sends. Returns the seconds until the next turn in any case."""
        session = self._session
        if now >= session.soonest:
            session.expire(now, self._unreachable)
            if session.too_many_late:
                self._lose("the daemon does not answer", now)
        if self._socket is None:
            if not session.busy:
                return 0.0
            if now >= self._next_attempt:
                self._connect(now)
            if self._socket is None:
                return min(session.soonest, self._next_attempt) - now
        self._send(now)
        if self._send_failed:
            # What the daemon said before it closed may still be there to read.
            self._notice_end()
            if self._socket is not None:
                self._lose("the daemon reads no more", now)
            return min(max(session.soonest, 0.0), self._next_attempt) - now
        if session.exhausted:
            self._lose("the numbers of the identity came to their end", now)
            self._next_attempt = now
            return 0.0
        events = select.POLLIN | select.POLLOUT if len(self._unsent) > 0 else select.POLLIN
        if events != self._events:
            self._events = events
            self._poll.modify(self._socket, events)
        # _turn() has expired what was due, unless the connection is new: then at once once more.
        return session.soonest - now

    def _pass_on(self, call: _Call) -> None:
        """The leader's own replies have arrived: another thread that waits goes on."""
        call.lead = False
        self._led = False
        for other in self._waiting:
            if other.left > 0:
                self._led = other.lead = True
                _wake(other)
                return
        if self._socket is not None and not self._session.busy:
            self._send(monotonic())

    # --- the socket
    def _connect(self, now: float) -> None:
        try:
            self._socket = connect(self._path)
        except NotNow as error:
            self._why = str(error)
            self._next_attempt = now + self._back_off.next_delay()
        except errors.ConnectError as error:
            self._session.fail_all(error.again)
        else:
            self._events = select.POLLIN
            self._poll = select.poll()
            self._poll.register(self._socket, select.POLLIN)
            self._watch_pipe()
            self._session.connected()

    def _send(self, now: float) -> None:
        """As much as the socket takes. Any thread."""
        connection = self._socket
        if connection is None or self._send_failed:
            return
        while True:
            if len(self._unsent) == 0:
                output = self._session.output(now)
                if not output:
                    return
                self._unsent = memoryview(output)
            try:
                sent = connection.send(self._unsent, socket.MSG_NOSIGNAL)
            except BlockingIOError:
                return
            except OSError:
                self._send_failed = True  # the leader finds the reason
                return
            self._unsent = self._unsent[sent:]

    def _receive(self, now: float) -> bool:
        """False when there was nothing to read."""
        assert self._socket is not None
        try:
            data = self._socket.recv(_READ)
        except BlockingIOError:
            return False
        except OSError as error:
            self._lose(os.strerror(error.errno) if error.errno else str(error), now)
            return False
        if not data:
            self._lose("the daemon closed the connection", now)
            return False
        try:
            keep = self._session.receive(data)
        except errors.ProtocolError as error:
            self._lose(error.text, now)
            self._session.fail_all(error.again)
            return False
        if self._session.proved:
            self._back_off.reset()
        if not keep:
            self._lose("the daemon is stopping", now)
        return keep

    def _notice_end(self) -> None:
        reads = 0
        while self._socket is not None and reads < _LAST_READS and self._receive(monotonic()):
            reads += 1

    def _lose(self, why: str, now: float) -> None:
        if self._socket is None:
            return
        self._socket.close()
        self._socket = None
        self._poll = select.poll()
        self._watch_pipe()
        self._unsent = memoryview(b"")
        self._send_failed = False
        self._why = why
        self._next_attempt = now + self._back_off.next_delay()
        self._session.disconnected(now + self._grace)

    def _unreachable(self) -> errors.SeqdError:
        why = "it accepts but says nothing" if self._socket is not None else self._why
        return errors.ConnectError(f"no daemon answers at {self._path}: {why}")

    # --- waking the leader, which sleeps without the lock
    def _wake_leader(self) -> None:
        if self._pipe is not None and not self._woken:
            self._woken = True
            os.write(self._pipe[1], b"w")

    def _watch_pipe(self) -> None:
        if self._pipe is None:
            self._pipe = os.pipe()
            os.set_blocking(self._pipe[0], False)
            os.set_blocking(self._pipe[1], False)
        self._poll.register(self._pipe[0], select.POLLIN)

    def _empty_pipe(self) -> None:
        self._woken = False
        if self._pipe is not None:
            os.read(self._pipe[0], 4096)

    def _close_pipe(self) -> None:
        if self._pipe is not None:
            pipe, self._pipe = self._pipe, None
            os.close(pipe[0])
            os.close(pipe[1])

    # --- the end
    def close(self) -> None:
        if os.getpid() != self._process:
            self.forget_parent()
        with self._lock:
            if self._closed:
                return
            self._closed = True
            if self._socket is not None and len(self._unsent) == 0:
                try:
                    self._socket.send(self._session.last_words(), socket.MSG_NOSIGNAL)
                except OSError:
                    pass  # the daemon learns it from the end of the connection
            self._lose("the client was closed", monotonic())
            self._session.fail_all(errors.ClosedError("the client was closed").again)
            self._wake_leader()
            if not self._led:
                self._close_pipe()
