"""The asyncio client: the methods of seqd.Client, to be awaited.

    from seqd import aio
    async with aio.Client() as client:
        first, second = await asyncio.gather(client.next("orders"), client.next("orders"))
"""

from __future__ import annotations

from types import TracebackType
from typing import Any, AsyncIterator, List, Mapping, Optional, Tuple, Type, TypeVar

from . import _requests
from ._loop import Connection
from ._blocks import Wanted
from ._blocks import make as make_blocks
from ._pipeline import Collection, outcomes
from ._records import Key, Record
from ._replies import Parsed, Peeked, Run, Status
from ._requests import Request
from ._socket import PathLike, socket_path
from .client import DEFAULT_TIMEOUT, client_name, make_again, seconds
from .errors import DaemonError

T = TypeVar("T")


class Client:
    """Takes IDs from the daemon of this host, for the tasks of one event loop.

    As seqd.Client: it reconnects and repeats by itself, and has the same arguments, methods, results and errors. Any number
    of tasks share one client; the requests of one turn of the loop go out in one write. It belongs to the loop in which it
    is first used; after that loop was closed, and in a child after fork(), it can be used in another one. A copy is another
    client.

    With `blocks`, a call that finds an ID at hand does not suspend its task.

    Cancellation: a call that is cancelled before its request was sent takes no ID. One that was sent may take an ID, which is
    not issued again.
    """

    def __init__(self, path: Optional[PathLike] = None, *, name: str = "", timeout: float = DEFAULT_TIMEOUT,
                 connect_timeout: Optional[float] = None, blocks: Wanted = False) -> None:
        self._options = {"path": socket_path(path), "name": name, "timeout": timeout, "connect_timeout": connect_timeout, "blocks": blocks}
        self._timeout = seconds(timeout, DEFAULT_TIMEOUT)
        self._connect_timeout = seconds(connect_timeout, self._timeout)
        self._connection = Connection(socket_path(path), client_name(name), self._connect_timeout)
        self._blocks = make_blocks(blocks, socket_path(path), name, self._timeout)

    # --- taking IDs
    async def next(self, name: str, *, timeout: Optional[float] = None) -> int:
        """One ID of the sequence `name`."""
        if self._blocks is None:
            return await self._call(_requests.next_id(name), timeout)
        number = self._blocks.next(name)
        if number is not None:
            return number
        try:
            return await self._call(_requests.next_id(name), timeout)
        except DaemonError as error:
            self._blocks.request_failed(name, error)
            raise

    async def range(self, name: str, count: int, *, timeout: Optional[float] = None) -> List[Run]:
        """`count` IDs as runs in the order of issue, usually one: [range(1001, 1101)]."""
        return await self._call(_requests.id_range(name, count), timeout)

    async def next_many(self, name: str, count: int, *, timeout: Optional[float] = None) -> List[int]:
        """`count` IDs one by one: one request."""
        return await self._call(_requests.next_many(name, count), timeout)

    async def next_text(self, name: str, *, timeout: Optional[float] = None) -> str:
        """One ID as the text that the `format` of the sequence describes."""
        return await self._call(_requests.next_text(name), timeout)

    async def insert(self, name: str, document: Mapping[str, Any], *, unique: Optional[str] = None,
                     timeout: Optional[float] = None) -> int:
        """Inserts a document and returns its `_id`; see seqd.Client.insert for what is repeated."""
        return await self._call(_requests.insert(name, document, unique), timeout)

    # --- a register
    async def assign(self, name: str, key: Key, *, timeout: Optional[float] = None) -> Record:
        """The number of the key in a register; see seqd.Client.assign."""
        return await self._call(_requests.assign(name, key), timeout)

    async def confirm(self, name: str, key: Key, *, number: Optional[int] = None, timeout: Optional[float] = None) -> Record:
        """Says that the document of the key is saved: its number cannot be cancelled any more."""
        return await self._call(_requests.confirm(name, key, number), timeout)

    async def cancel(self, name: str, key: Key, reason: str, *, number: Optional[int] = None,
                     timeout: Optional[float] = None) -> Record:
        """Takes the number from the key; see seqd.Client.cancel for what is repeated."""
        return await self._call(_requests.cancel(name, key, reason, number), timeout)

    async def records(self, name: str, *, state: Optional[str] = None, timeout: Optional[float] = None) -> AsyncIterator[Record]:
        """The records of a period, in the order of the numbers; asked for in pages: `async for`."""
        after: Optional[int] = 0
        while after is not None:
            page, after = await self._call(_requests.records(name, state, after), timeout)
            for record in page:
                yield record
            name = _requests.same_period(name, page)

    # --- looking
    async def parse(self, name: str, text: str, *, timeout: Optional[float] = None) -> Parsed:
        """What a text of the sequence means; issues nothing."""
        return await self._call(_requests.parse(name, text), timeout)

    async def peek(self, name: str, *, timeout: Optional[float] = None) -> Peeked:
        """What would come next; issues nothing."""
        return await self._call(_requests.peek(name), timeout)

    async def status(self, *, timeout: Optional[float] = None) -> Status:
        """What the daemon says of itself."""
        return await self._call(_requests.status(), timeout)

    async def ping(self, *, timeout: Optional[float] = None) -> None:
        """Returns when the daemon answers."""
        await self._call(_requests.ping(), timeout)

    async def call(self, method: str, *params: Any, timeout: Optional[float] = None) -> Any:
        """Any method of the protocol, also of newer daemons. Repeated after a lost connection."""
        return await self._call(_requests.any_method(method, params), timeout)

    def pipeline(self) -> Pipeline:
        """Many requests of one task in one go. Cheaper than as many tasks; what they send is the same."""
        return Pipeline(self)

    # --- life
    async def close(self) -> None:
        """Acknowledges what has arrived and closes. Calls of other tasks end with ClosedError, as do later ones."""
        if self._blocks is not None:
            self._blocks.close()
        self._connection.close()

    def __reduce__(self) -> Tuple[Any, ...]:
        return (make_again, (type(self), self._options))

    async def __aenter__(self) -> Client:
        return self

    async def __aexit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                        trace: Optional[TracebackType]) -> None:
        await self.close()

    async def _call(self, request: Request[T], timeout: Optional[float]) -> T:
        left = seconds(timeout, self._timeout)
        return await self._connection.call(request, left, min(left, self._connect_timeout))

    async def _run(self, requests: List[Request[Any]], timeout: Optional[float]) -> None:
        left = seconds(timeout, self._timeout)
        await self._connection.call_all(requests, left, min(left, self._connect_timeout))


class Pipeline(Collection):
    """Collects requests and sends them together; made by Client.pipeline().

        pipeline = client.pipeline()
        for _ in range(100):
            pipeline.next("orders")
        ids = await pipeline.execute()
    """

    def __init__(self, client: Client) -> None:
        super().__init__()
        self._client = client

    async def execute(self, *, timeout: Optional[float] = None, return_exceptions: bool = False) -> List[Any]:
        """As seqd.Pipeline.execute."""
        requests = self._take()
        if requests:
            await self._client._run(requests, timeout)
        return outcomes(requests, return_exceptions)
