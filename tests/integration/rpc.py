"""A MessagePack-RPC connection for the tests: small, blocking, with a time-out, and able to send what no client should."""

import itertools
import socket
from typing import Any, Iterable, List, Tuple

import msgpack

from servers.patience import PATIENCE


class RpcError(Exception):
    """The daemon's answer was an error."""

    def __init__(self, error: Any):
        assert isinstance(error, list) and len(error) == 2, f"an error is [0|1, text], this is {error!r}"
        assert error[0] in (0, 1) and isinstance(error[1], str), f"an error is [0|1, text], this is {error!r}"
        self.fault = error[0]
        self.code, _, self.text = error[1].partition(": ")
        super().__init__(error[1])


class Closed(Exception):
    """The daemon closed the connection."""


class Connection:
    """One connection. Requests get message ids 1, 2, ...; replies are matched by id."""

    def __init__(self, path: str, seconds: float = 10.0):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.connect(path)  # blocking: with a time-out, a full backlog would be an error at once
        self.socket.settimeout(seconds * PATIENCE)
        self.unpacker = msgpack.Unpacker(raw=False, strict_map_key=False)
        self.ids = itertools.count(1)
        self.early = {}  # replies that came before the one that was waited for

    # --- requests -------------------------------------------------------------------------------------------------
    def call(self, method: str, *params: Any) -> Any:
        """Sends a request and returns its result; an error is raised."""
        return self.result(self.request(method, *params))

    def request(self, method: str, *params: Any) -> int:
        message_id = next(self.ids)
        self.send(msgpack.packb([0, message_id, method, list(params)]))
        return message_id

    def result(self, message_id: int) -> Any:
        while message_id not in self.early:
            answer, error, result = self.read_reply()
            self.early[answer] = (error, result)
        error, result = self.early.pop(message_id)
        if error is not None:
            assert result is None, f"an error comes without a result, this one with {result!r}"
            raise RpcError(error)
        return result

    def error(self, method: str, *params: Any) -> RpcError:
        """The error that a request gets; that it succeeds is a failure."""
        try:
            result = self.call(method, *params)
        except RpcError as error:
            return error
        raise AssertionError(f"{method}{params} should have failed and gave {result!r}")

    def notify(self, method: str, *params: Any) -> None:
        self.send(msgpack.packb([2, method, list(params)]))

    def next(self, name: str = "orders", **options: Any) -> int:
        return self.call("next", name, options) if options else self.call("next", name)

    def many(self, name: str, requests: int, first_message_id: int = 0) -> List[int]:
        """That many pipelined `next` requests; their IDs in the order of the requests."""
        begin = first_message_id or next(self.ids)
        self.ids = itertools.count(begin + requests)
        wanted = range(begin, begin + requests)
        self.send(b"".join(msgpack.packb([0, number, "next", [name]]) for number in wanted))
        return [self.result(number) for number in wanted]

    # --- frames ---------------------------------------------------------------------------------------------------
    def send(self, data: bytes) -> None:
        try:
            self.socket.sendall(data)
        except (BrokenPipeError, ConnectionResetError) as error:
            raise Closed from error

    def read_reply(self) -> Tuple[int, Any, Any]:
        """The next reply, whatever it answers: (message id, error, result)."""
        while True:
            for message in self.unpacker:
                assert isinstance(message, list) and len(message) == 4 and message[0] == 1, f"not a reply: {message!r}"
                return message[1], message[2], message[3]
            try:
                data = self.socket.recv(1 << 18)
            except (BrokenPipeError, ConnectionResetError) as error:
                raise Closed from error
            if not data:
                raise Closed
            self.unpacker.feed(data)

    def rest(self) -> List[Tuple[int, Any, Any]]:
        """All replies up to the end of the connection, which the daemon has to close."""
        replies = []
        try:
            while True:
                replies.append(self.read_reply())
        except Closed:
            return replies

    def close(self) -> None:
        self.socket.close()

    def __enter__(self) -> "Connection":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()


def ids_of(runs: Iterable[List[int]]) -> List[int]:
    """The IDs of a `range` result, in order."""
    return [number for first, count, step in runs for number in range(first, first + count * step, step)]
