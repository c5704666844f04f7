"""The blocking client. `from seqd import Client` is its public name."""

from __future__ import annotations

import atexit
import os
import sys
from types import TracebackType
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple, Type, TypeVar

from . import _requests
from ._blocking import Connection
from ._blocks import Wanted
from ._blocks import make as make_blocks
from ._pipeline import Collection, outcomes
from ._records import Key, Record
from ._replies import Parsed, Peeked, Run, Status
from ._requests import Request
from ._socket import PathLike, socket_path
from .errors import ArgumentError, DaemonError

T = TypeVar("T")
DEFAULT_TIMEOUT = 5.0


def seconds(value: Optional[float], default: float) -> float:
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < 1e9:
        raise ArgumentError(f"a time-out is a number of seconds above 0, not {value!r}")
    return float(value)


def client_name(value: str) -> str:
    if not isinstance(value, str) or len(value.encode("utf-8", "replace")) > 64:
        raise ArgumentError("the name of a client is a str of at most 64 bytes")
    return value


def make_again(kind: Callable[..., T], options: Dict[str, Any]) -> T:
    """A client of copy and pickle."""
    return kind(**options)


class Client:
    """Takes IDs from the daemon of this host.

    Connects with the first call, connects again when the daemon restarts, and repeats what was in flight: the daemon answers
    with the same IDs, so neither a restart nor a kill -9 loses or repeats an ID. Only insert() without `unique` and
    cancel() without `number` are never repeated.

    Threads: any number of threads, and greenlets, share one client and one connection; their requests go out together,
    without a thread of the client's own. After fork() the child uses the same object with a connection and an identity of its own.
    A copy, also by pickle, as for a process that is spawned, is another client with the same options.

    Every call raises SeqdError (see seqd.errors), and TimedOut when `timeout` is over. A call that is interrupted, by a
    signal handler that raises, is given up; an ID that was issued for it is not issued again.

    path: of the socket; default: SEQD_SOCKET, then /run/seqd.sock.
    name: for the daemon's lists, at most 64 bytes.
    timeout: seconds of every call, reconnects included. Requests say how much of it is left.
    connect_timeout: seconds to wait while no daemon listens, then ConnectError; default `timeout`.
    blocks: next() takes IDs inside this process, by libseqd, of sequences with `blocks = true`; by requests where there is none
        at hand. "auto": if libseqd is installed; other sequences by requests. True: LibraryError without libseqd, and WrongMode
        of next() for other sequences. Each sequence has a connection of its own, 64 at most; further ones have no blocks.
    """

    def __init__(self, path: Optional[PathLike] = None, *, name: str = "", timeout: float = DEFAULT_TIMEOUT,
                 connect_timeout: Optional[float] = None, blocks: Wanted = False) -> None:
        self._options = {"path": socket_path(path), "name": name, "timeout": timeout, "connect_timeout": connect_timeout, "blocks": blocks}
        self._timeout = seconds(timeout, DEFAULT_TIMEOUT)
        self._connect_timeout = seconds(connect_timeout, self._timeout)
        self._least_timeout = min(self._timeout, self._connect_timeout)
        self._connection = Connection(socket_path(path), client_name(name), self._connect_timeout)
        self._blocks = make_blocks(blocks, socket_path(path), name, self._timeout)

    # --- taking IDs
    def next(self, name: str, *, timeout: Optional[float] = None) -> int:
        """One ID of the sequence `name`."""
        if self._blocks is None:
            return self._call(_requests.next_id(name), timeout)
        number = self._blocks.next(name)
        if number is not None:
            return number
        try:
            return self._call(_requests.next_id(name), timeout)
        except DaemonError as error:
            self._blocks.request_failed(name, error)
            raise

    def range(self, name: str, count: int, *, timeout: Optional[float] = None) -> List[Run]:
        """`count` IDs as runs in the order of issue, usually one: [range(1001, 1101)]."""
        return self._call(_requests.id_range(name, count), timeout)

    def next_many(self, name: str, count: int, *, timeout: Optional[float] = None) -> List[int]:
        """`count` IDs one by one: one request. At most as many as the daemon's limit `count`, 100,000 by default."""
        return self._call(_requests.next_many(name, count), timeout)

    def next_text(self, name: str, *, timeout: Optional[float] = None) -> str:
        """One ID as the text that the `format` of the sequence describes: "INV-261121-0000420"."""
        return self._call(_requests.next_text(name), timeout)

    def insert(self, name: str, document: Mapping[str, Any], *, unique: Optional[str] = None,
               timeout: Optional[float] = None) -> int:
        """Inserts a document without `_id` into the collection of a sequence that inserts, and returns its `_id`.

        Without `unique` it is never repeated: OutcomeUnknown when the connection or the time ends before the reply. With
        `unique`, the name of a field that has a unique index of its own, it is repeated, and if a document with the same
        value is there already, the result is the `_id` of that one. A datetime needs a time zone and whole milliseconds.
        """
        return self._call(_requests.insert(name, document, unique), timeout)

    # --- a register
    def assign(self, name: str, key: Key, *, timeout: Optional[float] = None) -> Record:
        """The number of the key in a register (`mode = "register"`); if it has none, the next one. One key has one number: asking
        again, after any error, gives the same.

        name: of the register, "invoices", or of one of its periods, "invoices@2025". key: a text of at most 256 bytes, a UUID, an
        ObjectId, or the bytes of one of these; what the document that gets the number is known by, before it is saved.
        """
        return self._call(_requests.assign(name, key), timeout)

    def confirm(self, name: str, key: Key, *, number: Optional[int] = None, timeout: Optional[float] = None) -> Record:
        """Says that the document of the key is saved: its number cannot be cancelled any more. number: only if the key has that one."""
        return self._call(_requests.confirm(name, key, number), timeout)

    def cancel(self, name: str, key: Key, reason: str, *, number: Optional[int] = None,
               timeout: Optional[float] = None) -> Record:
        """Takes the number from the key, whose document was not saved and will not be, for a reason that is kept.

        With `number`, that of the record, it is repeated. Without, it is sent once, as a repeat could cancel the next number of
        the key: OutcomeUnknown when there is no reply.
        """
        return self._call(_requests.cancel(name, key, reason, number), timeout)

    def records(self, name: str, *, state: Optional[str] = None, timeout: Optional[float] = None) -> Iterator[Record]:
        """The records of a period, in the order of the numbers; asked for in pages. state: only those in this state. An
        administrator sees all, others what they assigned. timeout: of each page."""
        after: Optional[int] = 0
        while after is not None:
            page, after = self._call(_requests.records(name, state, after), timeout)
            for record in page:
                yield record
            name = _requests.same_period(name, page)

    # --- looking
    def parse(self, name: str, text: str, *, timeout: Optional[float] = None) -> Parsed:
        """What a text of the sequence means; issues nothing. BadText when it is none."""
        return self._call(_requests.parse(name, text), timeout)

    def peek(self, name: str, *, timeout: Optional[float] = None) -> Peeked:
        """What would come next; issues nothing."""
        return self._call(_requests.peek(name), timeout)

    def status(self, *, timeout: Optional[float] = None) -> Status:
        """What the daemon says of itself: `version`, `issued`, `stores` and so on (PROTOCOL.md)."""
        return self._call(_requests.status(), timeout)

    def ping(self, *, timeout: Optional[float] = None) -> None:
        """Returns when the daemon answers."""
        self._call(_requests.ping(), timeout)

    def call(self, method: str, *params: Any, timeout: Optional[float] = None) -> Any:
        """Any method of the protocol, also of newer daemons: call("explain", "orders", 4711). Repeated after a lost
        connection. hello, ack, insert and cancel are the client's own."""
        return self._call(_requests.any_method(method, params), timeout)

    def pipeline(self) -> Pipeline:
        """Many requests of one thread in one go. Several threads need none: their requests go out together."""
        return Pipeline(self)

    # --- life
    def close(self) -> None:
        """Acknowledges what has arrived and closes. Calls of other threads end with ClosedError, as do later ones.
        RuntimeError in a signal handler that interrupted a call of the same thread where it cannot be ended."""
        if self._blocks is not None:
            self._blocks.close()
        self._connection.close()

    def __reduce__(self) -> Tuple[Any, ...]:
        return (make_again, (type(self), self._options))

    def __enter__(self) -> Client:
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self.close()

    def _call(self, request: Request[T], timeout: Optional[float]) -> T:
        if timeout is None:
            self._connection.run((request,), self._timeout, self._least_timeout)
        else:
            self._run((request,), timeout)
        return request.outcome()

    def _run(self, requests: Sequence[Request[Any]], timeout: Optional[float]) -> None:
        left = seconds(timeout, self._timeout)
        self._connection.run(requests, left, min(left, self._connect_timeout))


class Pipeline(Collection):
    """Collects requests and sends them together. For one thread; made by Client.pipeline().

        pipeline = client.pipeline()
        for _ in range(100):
            pipeline.next("orders")
        ids = pipeline.execute()
    """

    def __init__(self, client: Client) -> None:
        super().__init__()
        self._client = client

    def execute(self, *, timeout: Optional[float] = None, return_exceptions: bool = False) -> List[Any]:
        """The results in the order of the requests; the pipeline is empty afterwards. `timeout` is that of all together.

        The first error is raised when all requests have ended, and the other results are lost; with return_exceptions the
        errors stand in the list instead.
        """
        requests = self._take()
        if requests:
            self._client._run(requests, timeout)
        return outcomes(requests, return_exceptions)


_default: Optional[Client] = None


def default_client() -> Client:
    """The client of this process with the default socket, made at the first use and closed at the end of the process. For
    defaults of models, which have no other place to find one; safe in threads and after fork()."""
    global _default
    if _default is None:
        # Two threads may make one each: the loser's has no connection yet.
        _default = Client(name=os.path.basename(sys.argv[0] or "python")[:32])
        atexit.register(_default.close)
    return _default
