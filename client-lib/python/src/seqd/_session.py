"""The protocol of one client without its socket: bytes in, bytes out. Serves the blocking and the asyncio client.

It numbers requests, says hello, acknowledges, repeats what has no reply on the next connection, and verifies every reply
(PROTOCOL.md section 5). Time comes in as an argument, in seconds of the monotonic clock.

Not thread-safe: its client calls it with a lock held, or from one thread.

Invariants: the numbers of an identity increase and are never used for another request; a request is sent only after the
hello of its connection was answered; `_open` holds the numbered requests that have no reply, in the order of their numbers.
"""

from __future__ import annotations

import os
from collections import deque
from typing import Any, Callable, Deque, Dict, Iterable, List, Optional, Sequence, Set

from . import _wire, errors
from ._replies import Hello, read_hello
from ._requests import AGAIN, DONE, FIXED, INSERT, QUEUED, SENT, TIMED, Request

HELLO = 0  # its msgid: never a request number
ACK_EVERY = 8  # replies
ENOUGH_OUTPUT = 64 * 1024  # bytes; more requests follow when these are gone
ASSUMED_WINDOW = 1024  # unacknowledged numbers, where the hello names no limit
# From here on a new identity is drawn as soon as nothing is in flight; requests wait for that.
RENEW_FROM = 0xFFFF_0000
MOST_LATE = 65_536  # replies of abandoned requests; with more, the connection is closed
NEVER = float("inf")

Done = Callable[["Request[Any]"], None]
Unwanted = Callable[["Request[Any]"], bool]


def wait_within(left: float) -> int:
    """Milliseconds that the daemon may wait when the caller has `left` seconds: a little less, so that the caller gets the
    daemon's reason instead of a time-out, and no ID is issued that arrives too late."""
    left_ms = int(left * 1000)
    if left_ms < 10:
        return max(0, left_ms - 1)
    return min(left_ms - left_ms // 10, _wire.MAX_WAIT_MS)


class Session:
    """done: called with each request that has got its result or its error.
    unwanted: says of a request that is about to be sent for the first time whether its caller has gone."""

    def __init__(self, done: Done, name: str = "", first_number: int = 1, unwanted: Optional[Unwanted] = None) -> None:
        self._done = done
        self._unwanted = unwanted
        self._name = name
        self.identity = os.urandom(16)
        self.hello: Optional[Hello] = None  # the last one
        self._next = self._floor = first_number  # no number below _floor is without a reply
        self._first = first_number
        self._open: Dict[int, Request[Any]] = {}
        self._queue: Deque[Request[Any]] = deque()  # without a number; those that are DONE are passed over
        self._dead = 0  # of the queue
        self._reconnect_until = -NEVER
        self.soonest = NEVER  # expire() has nothing to do before
        self._reset()

    def _reset(self) -> None:
        self._frames = _wire.FrameReader()
        self._writer = _wire.Writer()
        self._out: List[bytes] = []
        self._again: Deque[Request[Any]] = deque()  # numbered, to be sent on this connection
        self._late: Set[int] = set()  # sent here and abandoned; the reply is still to come
        self._sent = 0  # requests that this connection owes a reply to
        self._answered = 0  # replies since the last acknowledgement
        self._acknowledged = self._first
        self._window = ASSUMED_WINDOW
        self.connected_now = self.ready = self.stopping = False
        self.proved = False  # this connection has answered a request

    # --- requests
    def submit(self, request: Request[Any], deadline: float, connect_deadline: float) -> None:
        """The request is sent by one of the next output(). connect_deadline: the same while no daemon listens."""
        request.deadline = deadline
        request.connect_deadline = connect_deadline
        soonest = deadline if self.connected_now or deadline < connect_deadline else connect_deadline
        if soonest < self.soonest:
            self.soonest = soonest
        self._queue.append(request)

    def abandon(self, request: Request[Any]) -> None:
        """Its caller has given up. If it was sent, it may be carried out all the same."""
        self._leave(request)

    def abandon_all(self, requests: Iterable[Request[Any]]) -> None:
        """The same for several, of which some may never have been submitted: an exception came between."""
        for request in requests:
            if request.state == QUEUED:
                request.state = DONE
            else:
                self._leave(request)
        self._queue = deque(request for request in self._queue if request.state == QUEUED)
        self._dead = 0

    def withdraw(self, requests: Sequence[Request[Any]]) -> bool:
        """Takes back what was submitted and not sent. False, and nothing is done, when a part of it was sent."""
        if any(request.state != QUEUED for request in requests):
            return False
        self._queue = deque(one for one in self._queue if one not in requests and one.state == QUEUED)
        self._dead = 0
        return True

    @property
    def busy(self) -> bool:
        """A request has no reply."""
        return bool(self._open) or len(self._queue) > self._dead

    def in_flight(self) -> int:
        return len(self._open) + len(self._queue) - self._dead

    def _leave(self, request: Request[Any]) -> None:
        """Takes a request off the tables; done() is not called."""
        before, request.state = request.state, DONE
        if before == QUEUED:
            self._dead += 1
            if self._dead > 64 and self._dead * 2 > len(self._queue):
                self._queue = deque(one for one in self._queue if one.state == QUEUED)
                self._dead = 0
        elif before != DONE:
            del self._open[request.number]
            if before == SENT:
                self._sent -= 1
                self._late.add(request.number)

    def _fail(self, request: Request[Any], error: errors.SeqdError) -> None:
        may_have = request.doubt and (request.perhaps or request.state == SENT)
        if may_have and not isinstance(error, (errors.DocumentRefused, errors.OutcomeUnknown)):
            error = errors.OutcomeUnknown(f"{request.doubt}: {error}")
        request.error = error
        self._leave(request)
        self._done(request)

    def fail_all(self, make: Callable[[], errors.SeqdError]) -> None:
        for request in [*self._open.values(), *self._queue]:
            if request.state != DONE:
                self._fail(request, make())

    def expire(self, now: float, unreachable: Callable[[], errors.SeqdError]) -> None:
        """Ends what is over its deadline, with TimedOut or, if this connection was not ready, with unreachable()."""
        self.soonest = NEVER
        for request in [*self._open.values(), *self._queue]:
            if request.state == DONE:
                continue
            deadline = request.deadline
            if not self.connected_now:
                deadline = min(deadline, max(request.connect_deadline, self._reconnect_until))
            if deadline <= now:
                self._fail(request, errors.TimedOut("the daemon did not answer in time") if self.ready else unreachable())
            elif deadline < self.soonest:
                self.soonest = deadline

    @property
    def too_many_late(self) -> bool:
        return len(self._late) > MOST_LATE

    # --- the connection
    def connected(self) -> None:
        """A connection was made; output() begins with the hello."""
        self._reset()
        self.connected_now = True
        self.soonest = -NEVER
        self._out.append(self._writer.hello(HELLO, self.identity, self._name))

    def disconnected(self, reconnect_until: float) -> None:
        """The connection is gone. Until `reconnect_until` no request is given up for want of one, if this one was ready.

        Also called where an exception from outside ended another method between any two steps: what this one leaves behind
        is complete again.
        """
        if self.ready:
            self._reconnect_until = reconnect_until
        self._open = {number: request for number, request in self._open.items() if request.state != DONE}
        for number, request in self._open.items():
            if request.state == QUEUED:
                request.number, request.state = number, AGAIN
        self._next = max([self._next, *(number + 1 for number in self._open)])
        self._queue = deque(request for request in self._queue if request.state == QUEUED)
        self._dead = 0
        sent = [request for request in self._open.values() if request.state == SENT]
        self._reset()
        for request in sent:
            request.perhaps = True
            if request.once:
                self._fail(request, errors.OutcomeUnknown(f"{request.doubt}: the connection to the daemon was lost"))
            else:
                request.state = AGAIN
        self.soonest = -NEVER
        if self.exhausted:
            self.identity = os.urandom(16)
            self._next = self._floor = self._first = self._acknowledged = 1

    def may_come_back(self, now: float) -> bool:
        """A good connection has ended not long ago: no trouble with the next one is taken for final."""
        return now < self._reconnect_until

    @property
    def exhausted(self) -> bool:
        """The numbers come to their end and nothing is in flight: the client has to connect again."""
        return self._next >= RENEW_FROM and not self._open

    def owes_acknowledgement(self) -> bool:
        """More replies than are left to the next request, which may be hours away; or the numbers come to their end."""
        return self._answered > ACK_EVERY or (self._next >= RENEW_FROM and not self._open)

    def output(self, now: float) -> bytes:
        """What can be sent now; empty if there is nothing. The caller sends all of it before it asks again. Less than
        ENOUGH_OUTPUT is all that there is."""
        if self.ready and not self.stopping:
            if self._again or len(self._queue) > self._dead:
                self._write_requests(now)
            elif self.owes_acknowledgement():
                self._acknowledge()
        if not self._out:
            return b""
        written = self._out[0] if len(self._out) == 1 else b"".join(self._out)
        self._out = []
        return written

    def last_words(self) -> bytes:
        """What is sent before closing."""
        if self.ready:
            self._acknowledge()
        written = b"".join(self._out)
        self._out = []
        return written

    def _write_requests(self, now: float) -> None:
        # Often enough for the daemon's memory, and before its window closes.
        if self._answered >= ACK_EVERY:
            self._acknowledge()
        size = 0
        while size < ENOUGH_OUTPUT:
            if self._again:
                request = self._again[0]
                if request.state != AGAIN:
                    self._again.popleft()
                    continue
                if request.number - self._floor >= self._window:
                    # Not after eight replies only: this daemon may remember fewer than the last one did.
                    self._acknowledge()
                    if request.number - self._floor >= self._window:
                        return
                written = self._write(request, request.number, now)
                if self._refused(request, written):
                    continue
                self._again.popleft()
            else:
                if not self._queue:
                    return
                request = self._queue[0]
                if self._unwanted is not None and self._unwanted(request):
                    self._leave(request)
                    continue
                if request.state == DONE:
                    self._queue.popleft()
                    self._dead -= 1
                    continue
                if self._next >= RENEW_FROM:
                    if not self._open:
                        self._acknowledge()
                    return
                if self._next - self._acknowledged >= self._window // 2:
                    self._move_floor()
                    if self._next - self._floor >= self._window:
                        return
                    self._acknowledge()
                written = self._write(request, self._next, now)
                if self._refused(request, written):
                    continue
                # In this order: see disconnected().
                request.number = self._next
                self._open[request.number] = request
                self._next += 1
                request.state = SENT
                self._queue.popleft()
            request.state = SENT
            self._sent += 1
            size += len(written)
            self._out.append(written)

    def _refused(self, request: Request[Any], written: bytes) -> bool:
        """Whether the request is above a limit of this daemon, which would close the connection of all calls; it has its error."""
        limits = self.hello.limits if self.hello is not None else {}
        frame, depth = limits.get("frame", NEVER), limits.get("depth", NEVER)
        if len(written) > frame:
            self._fail(request, errors.TooLarge(f"a request has at most {frame} bytes, and this one has {len(written)}"))
        elif request.depth > depth:
            self._fail(request, errors.BadRequest(f"a request has at most {depth} levels of arrays and maps, and this one has "
                                                  f"{request.depth}"))
        return request.state == DONE

    def _write(self, request: Request[Any], number: int, now: float) -> bytes:
        if request.kind == FIXED:
            return self._writer.request(number, request.front)
        wait_ms = wait_within(request.deadline - now)
        if request.kind == TIMED:
            return self._writer.request(number, request.front, wait_ms)
        options: Dict[str, Any] = {"timeout_ms": wait_ms}
        if self.hello is not None and self.hello.connection:
            options["connection"] = self.hello.connection
        if request.unique:
            options["unique"] = request.unique
        return self._writer.request(number, request.front, options)

    def _move_floor(self) -> None:
        floor, end, open_requests = self._floor, self._next, self._open
        if not open_requests:
            floor = end
        while floor < end and floor not in open_requests:
            floor += 1
        self._floor = floor

    def _acknowledge(self) -> None:
        self._answered = 0
        self._move_floor()
        if self._floor != self._acknowledged:
            self._out.append(self._writer.ack(self._floor))
            self._acknowledged = self._floor

    # --- replies
    def receive(self, data: bytes) -> bool:
        """Takes in what arrived. False: the daemon asks the client to connect again. Raises ProtocolError for what no daemon
        sends; the caller then closes the connection and fails everything with it."""
        open_requests = self._open
        for message in self._frames.feed(data):
            if type(message) is not list or not message or type(message[0]) is not int:
                raise errors.ProtocolError("what the daemon sent is not a message of the protocol")
            if len(message) != 4 or message[0] != 1:
                if message[0] == 2 and len(message) == 3:
                    continue  # a notification: reserved for later versions of the daemon
                raise errors.ProtocolError("the daemon sent something that is not a reply")
            _, number, error, result = message
            if type(number) is not int:
                raise errors.ProtocolError("the number of a reply is not an integer")
            request = open_requests.get(number)
            if request is None or request.state != SENT:
                self._receive_other(number, error, result)
            elif error is None:
                request.result = request.read(result)
                self._finish(request)
            else:
                self._receive_error(request, errors.of_reply(error))
        if not open_requests and len(self._queue) == self._dead:
            self.soonest = NEVER
        # A daemon that stops still owes the replies to what it took; only then is there another one.
        return not (self.stopping and self._sent == 0)

    def _finish(self, request: Request[Any]) -> None:
        # In this order: wherever a KeyboardInterrupt ends it, disconnected() finds what is left to do.
        request.state = DONE
        del self._open[request.number]
        self.proved = True
        self._answered += 1
        self._sent -= 1
        self._done(request)

    def _receive_error(self, request: Request[Any], error: errors.DaemonError) -> None:
        if isinstance(error, errors.Stopping):
            self.stopping = True
            if request.kind == INSERT or not request.once:
                self._sent -= 1
                request.state = AGAIN
                return
        if isinstance(error, errors.Busy):
            # Perhaps too much is kept for the clients of this user: this one's part can go.
            self._answered = ACK_EVERY
        request.error = error
        # A refusal now proves nothing about an earlier attempt; nor does STOPPING about a cancel.
        unsure = request.perhaps or isinstance(error, errors.Stopping)
        if request.doubt and unsure and not isinstance(error, (errors.DocumentRefused, errors.OutcomeUnknown)):
            request.error = errors.OutcomeUnknown(f"{request.doubt}: {error}")
        self._finish(request)

    def _receive_other(self, number: int, error: Any, result: Any) -> None:
        if number in self._late:
            self._late.remove(number)
            self._answered += 1
        elif number == HELLO and not self.ready and self.connected_now:
            self._receive_hello(error, result)
        elif number == HELLO and error is not None:
            raise errors.ProtocolError(f"the daemon cannot read what this package sends: {errors.of_reply(error)}")
        else:
            raise errors.ProtocolError(f"the daemon sent a reply without a request, number {number}")

    def _receive_hello(self, error: Any, result: Any) -> None:
        if error is not None:
            refused = errors.of_reply(error)
            if not refused.temporary:
                raise errors.ProtocolError(f"the daemon refused the hello: {refused}")
            self.stopping = True
            return
        self.hello = read_hello(result)
        self._window = max(1, self.hello.limits.get("unacknowledged", ASSUMED_WINDOW))
        self.ready = True
        self._acknowledged = 1
        # A daemon without this identity needs the floor first: otherwise the numbers are outside of its window.
        self._acknowledge()
        self._again = deque(request for request in self._open.values() if request.state == AGAIN)
