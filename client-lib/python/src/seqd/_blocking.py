"""The connection of a blocking client, shared by its threads.

Of the threads that wait for replies, one is the leader: it waits for the socket and takes in the replies of all; when its
own have arrived, it passes the leadership on. The others wait for a lock of their own. A thread that finds a leader sends
its request itself; one that finds the lock held leaves its call in the inbox, and the thread that releases the lock sends
the calls in there, so that many threads neither queue for the lock nor send one by one.

Rules: `_lock` guards everything but waiting and the inbox; only the leader receives, connects and disconnects, close() apart;
no thread waits with the lock held; after each release the inbox is read. A thread interrupted in the middle
(KeyboardInterrupt) ends the connection, and what the other threads wait for is repeated on the next one.
"""

from __future__ import annotations

import os
from collections import deque
from time import monotonic
from typing import Any, Deque, Dict, Optional, Sequence

from . import _fork, errors
from ._call import LONGEST_SLEEP, Call, done
from ._primitives import MSG_NOSIGNAL, POLLIN, POLLOUT, RLock, get_ident, hub, poll, socket
from ._requests import Request
from ._session import ENOUGH_OUTPUT, Session
from ._socket import BackOff, NotNow, connect, reason
from ._waker import Waker

_READ = 65_536
_LAST_READS = 64  # more than a socket holds, so that a daemon that goes on writing is left all the same


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
        # It knows its owner, which an exception from outside between two instructions may have left with it.
        self._lock: Any = RLock()
        self._inbox: Deque[Call] = deque()  # of threads that found the lock held; taken in after its release
        self._session = Session(done, self._name)
        self._socket: Optional[socket] = None
        self._poll: Any = None
        self._watched: Any = None  # by _poll: the loop of gevent, the socket and the events
        self._waker = Waker()  # of the leader, which sleeps without the lock
        self._unsent: memoryview = memoryview(b"")
        self._send_failed = False
        self._leader: Optional[Call] = None
        self._waiting: Dict[Call, None] = {}
        self._back_off = BackOff()
        self._next_attempt = 0.0
        self._why = "there was no time to connect"

    def forget_parent(self) -> None:
        if self._socket is not None:
            self._socket.close()
        self._waker.close()
        self._epoch += 1
        self._begin()

    # --- calls
    def run(self, requests: Sequence[Request[Any]], timeout: float, connect_timeout: float) -> None:
        """Returns when every request has its result or error."""
        if os.getpid() != self._process:
            self.forget_parent()
        lock = self._lock
        leader = self._leader
        if lock._is_owned() or (leader is not None and leader.thread == get_ident()):
            raise RuntimeError("a signal handler or finalizer called the client in the middle of a call of the same thread, or a greenlet "
                               "of gevent without threads patched")
        now = monotonic()
        call = Call(requests, now + timeout, now + connect_timeout, self._epoch, self._waiting)
        wait = 0.0
        try:
            if lock.acquire(False):
                try:
                    self._admit(call)
                    wait = self._turn(now) if call.lead else self._send_for(now)
                except BaseException:
                    self._recover()
                    raise
                finally:
                    lock.release()
            else:
                call.sleep()
                self._inbox.append(call)
            if self._inbox:
                self._admit_others()
            if call.lead and call.wake is None:
                self._lead(call, wait)
            else:
                self._follow(call)
        except BaseException:
            if call.epoch != self._epoch and self._leader is call:
                self.forget_parent()  # a signal handler forked: its unfinished calls are dropped
            if call.epoch == self._epoch:
                with lock:
                    self._interrupted(call)
                while lock._is_owned():
                    lock.release()
                self._admit_others()
            raise

    def _admit(self, call: Call) -> None:
        """The requests of the call go to the session. Without a leader, the call leads. With the lock."""
        session = self._session
        if self._closed:
            raise errors.ClosedError("the client was closed")
        if self._leader is None:
            call.lead = True
            self._leader = call
            if self._socket is not None and call.is_once() and not session.busy:
                # What is sent into a connection that has ended is lost, and such a request is not sent twice.
                self._notice_end()
        elif call.wake is None:
            call.sleep()
        if not call.lead:
            self._waiting[call] = None
        for request in call.requests:
            request.owner = call
            session.submit(request, call.deadline, call.connect_deadline)

    def _admit_inbox(self) -> None:
        """Takes in the calls of threads that found the lock held. With the lock."""
        inbox = self._inbox
        while inbox:
            call = inbox[0]
            # An exception from outside may have ended the first attempt to take it in.
            again = call.requests[0].owner is call
            if self._closed:
                call.end(errors.ClosedError("the client was closed"))
                call.rouse()
            elif not call.given_up and not (again and not self._session.withdraw(call.requests)):
                self._admit(call)
                if call.lead:
                    call.rouse()
            inbox.popleft()

    def _admit_others(self) -> None:
        """After the lock was released: takes in the calls of threads that found it held."""
        while self._inbox and self._lock.acquire(False):
            try:
                self._admit_inbox()
                self._send_for(monotonic())
            except BaseException:
                self._recover()
                raise
            finally:
                self._lock.release()

    def _send_for(self, now: float) -> float:
        """Sends as a thread that does not lead. Returns 0.0."""
        self._send(now)
        if len(self._unsent) > 0:
            self._waker.wake()
        return 0.0

    def _recover(self) -> None:
        """An exception from outside came with the lock held: the state of this connection is unknown, and the requests of
        other threads are repeated on the next one."""
        self._lose("a call was interrupted", monotonic())
        for other in [*self._waiting, *([self._leader] if self._leader is not None else [])]:
            other.recount()
        self._appoint()
        self._waker.wake()

    def _interrupted(self, call: Call) -> None:
        """An exception from outside came somewhere: the call is given up."""
        call.given_up = True
        self._session.abandon_all(call.requests)
        self._waiting.pop(call, None)
        if call.lead:
            self._recover()
            self._pass_on(call)

    def _follow(self, call: Call) -> None:
        wait = 0.0
        while call.left > 0:
            woken = call.wait_for_news()
            self._still_ours(call)
            if call.left == 0 and not call.lead:
                return
            with self._lock:
                try:
                    now = monotonic()
                    self._admit_inbox()
                    if call.lead:
                        wait = self._turn(now)
                    elif not woken:
                        # The leader is asleep, perhaps until a later deadline of its own.
                        self._session.expire(now, self._unreachable)
                        if call.left > 0 and now >= call.deadline:
                            call.end(errors.TimedOut("the daemon did not answer in time"))
                except BaseException:
                    self._recover()
                    raise
            if call.lead:
                self._lead(call, wait)
            if self._inbox:
                self._admit_others()
        if call.lead:
            with self._lock:
                self._pass_on(call)
            self._admit_others()

    def _still_ours(self, call: Call) -> None:
        if call.epoch != self._epoch:
            raise errors.ForkedError("this process was forked off inside of the call")

    # --- the leader
    def _lead(self, call: Call, wait: float) -> None:
        """Ends when the call has its replies, which it has at its deadline at the latest."""
        while True:
            if call.left > 0 and wait > 0:
                # Until the socket has something, another thread wakes the leader, or the time is over.
                self._poll.poll(min(wait, LONGEST_SLEEP) * 1000)
            self._still_ours(call)
            with self._lock:
                try:
                    now = monotonic()
                    if self._waker.woken:
                        self._waker.empty()
                    if call.left > 0 and self._socket is not None:
                        self._receive(now)
                    if self._inbox:
                        self._admit_inbox()
                    if call.left > 0:
                        wait = min(self._turn(now), call.deadline - now)
                        if call.left > 0 and now >= call.deadline:
                            call.end(errors.TimedOut("the daemon did not answer in time"))
                    if call.left == 0:
                        self._pass_on(call)
                except BaseException:
                    self._recover()
                    raise
            if self._inbox:
                self._admit_others()
            if call.left == 0 and not call.lead:
                return

    def _turn(self, now: float) -> float:
        """Expires, connects, sends, and prepares the wait of this thread. Returns the seconds until the next turn in any case."""
        wait = self._step(now)
        watched = (hub(), self._socket, POLLIN | POLLOUT if len(self._unsent) > 0 else POLLIN)
        if watched != self._watched:
            self._poll = poll()
            if self._socket is not None:
                self._poll.register(self._socket.fileno(), watched[2])
            self._waker.watch(self._poll)
            self._watched = watched
        return wait

    def _step(self, now: float) -> float:
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
            # Replies that the daemon sent before it closed may still be there to read.
            self._notice_end()
            if self._socket is not None:
                self._lose(self._why, now)
            return min(max(session.soonest, 0.0), self._next_attempt) - now
        if session.exhausted:
            self._lose("the numbers of the identity came to their end", now)
            self._next_attempt = now
            return 0.0
        return session.soonest - now

    def _pass_on(self, call: Call) -> None:
        """The leader's own replies have arrived: another thread that waits goes on."""
        call.lead = False
        self._leader = None
        if self._waiting:
            self._appoint()
        if self._leader is None and self._session.owes_acknowledgement() and not self._session.busy:
            self._send(monotonic())

    def _appoint(self) -> None:
        for other in self._waiting if self._leader is None else ():
            if other.left > 0:
                other.lead = True
                self._leader = other
                other.rouse()
                return

    # --- the socket
    def _connect(self, now: float) -> None:
        try:
            self._waker.open()
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
            self._session.connected()

    def _send(self, now: float) -> None:
        """As much as the socket takes. Any thread."""
        connection = self._socket
        if connection is None or self._send_failed:
            return
        more = True
        while True:
            if len(self._unsent) == 0:
                output = self._session.output(now) if more else b""
                if not output:
                    return
                more = len(output) >= ENOUGH_OUTPUT
                self._unsent = memoryview(output)
            try:
                sent = connection.send(self._unsent, MSG_NOSIGNAL)
            except BlockingIOError:
                return
            except OSError as error:
                self._why = reason(error)
                self._send_failed = True  # the leader does the rest
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
            self._lose(reason(error), now)
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
        self._unsent = memoryview(b"")
        self._send_failed = False
        self._why = why
        self._next_attempt = now + self._back_off.next_delay()
        self._session.disconnected(now + self._grace)
        # Last: a signal handler may raise in between, and then all of it is done again.
        self._socket = None

    def _unreachable(self) -> errors.SeqdError:
        why = "it accepts connections but does not reply" if self._socket is not None else self._why
        return errors.ConnectError(f"no daemon answers at {self._path}: {why}")

    # --- the end
    def close(self) -> None:
        if os.getpid() != self._process:
            self.forget_parent()
        if self._lock._is_owned():
            raise RuntimeError("a signal handler or finalizer closed the client in the middle of a call of the same thread")
        with self._lock:
            if self._closed:
                return
            self._admit_inbox()
            self._closed = True
            if self._socket is not None and len(self._unsent) == 0:
                try:
                    self._socket.send(self._session.last_words(), MSG_NOSIGNAL)
                except OSError:
                    pass  # the daemon learns it from the end of the connection
            self._lose("the client was closed", monotonic())
            self._session.fail_all(errors.ClosedError("the client was closed").again)
            self._waker.wake()
            if self._leader is None:
                self._waker.close()
        self._admit_others()
