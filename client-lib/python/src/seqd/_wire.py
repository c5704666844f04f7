"""Bytes of the protocol: what a request is written as, and messages out of a stream that is not trusted.

Not thread-safe: the caller of a Writer or a FrameReader holds the lock of its client. The functions suit any thread.
"""

from __future__ import annotations

from typing import Any, Dict, List, Optional

import msgpack

from .errors import ProtocolError

MAX_REPLY = 16 * 1024 * 1024  # bytes of one message of the daemon
MAX_WAIT_MS = 3_600_000
_LONGEST_ID_REPLY = 17  # bytes: [1, number of 32 bits, nil, ID of 64 bits]
# Bytes behind the first one of an unsigned integer; 255: it begins something else.
_BEHIND = bytes(0x80) + b"\xff" * 0x4C + b"\x01\x02\x04\x08" + b"\xff" * 0x30

# What msgpack raises for bytes that it cannot read. Nothing wider: a signal handler may raise here, too.
_UNREADABLE = (ValueError, TypeError, OverflowError, RecursionError, msgpack.UnpackException)


def pack(value: Any) -> bytes:
    """One MessagePack value in its shortest form. A packer of its own, so any thread may call it. A datetime with a time
    zone becomes a timestamp."""
    packed: bytes = msgpack.packb(value, use_bin_type=True, datetime=True)
    return packed


def timed_front(method: str, *params: Any, **options: int) -> bytes:
    """A request whose last parameter is {..., "timeout_ms": N}, from its method up to and without N."""
    pairs = b"".join(pack(name) + pack(value) for name, value in options.items())
    return pack(method) + bytes((0x91 + len(params),)) + b"".join(map(pack, params)) + bytes((0x81 + len(options),)) + pairs + b"\xaatimeout_ms"


def plain_front(method: str, *params: Any) -> bytes:
    """A whole request from its method on."""
    return pack(method) + pack(list(params))


def insert_front(name: str, document: Any) -> bytes:
    """An insert from its method up to and without its options."""
    return b"\xa6insert\x93" + pack(name) + pack(document)


class Writer:
    """Whole messages of one connection. Has a packer of its own: one for all clients would mix up what their threads write."""

    __slots__ = ("_pack",)

    def __init__(self) -> None:
        self._pack = msgpack.Packer(use_bin_type=True).pack

    def request(self, number: int, front: bytes, end: Optional[Any] = None) -> bytes:
        """The message of a request: `front` as made above, and the value that it lacks."""
        written: bytes = b"\x94\x00" + self._pack(number) + front
        if end is not None:
            written += self._pack(end)
        return written

    def ack(self, below: int) -> bytes:
        packed: bytes = b"\x93\x02\xa3ack\x91" + self._pack(below)
        return packed

    def hello(self, number: int, identity: Optional[bytes] = None, name: str = "") -> bytes:
        options: Dict[str, Any] = {}
        if identity is not None:
            options["client"] = identity
        if name:
            options["name"] = name
        return self.request(number, plain_front("hello", options))


def _is_id_reply(data: bytes) -> bool:
    """One whole message [1, number, nil, ID], as most are: its end need not be searched for."""
    size = len(data)
    if not 5 <= size <= _LONGEST_ID_REPLY or data[0] != 0x94 or data[1] != 0x01:
        return False
    nil = 3 + _BEHIND[data[2]]
    return nil + 1 < size and data[nil] == 0xC0 and nil + 2 + _BEHIND[data[nil + 1]] == size


class FrameReader:
    """Bytes in, whole messages out.

    Nothing is decoded before all of it has arrived, so that a header which announces a billion elements costs nothing;
    and a message has at most MAX_REPLY bytes, so memory is bounded by that for any data.
    """

    __slots__ = ("_kept", "_skipper", "_unpacker", "_consumed")

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """A new stream begins."""
        self._kept = bytearray()  # the beginning of a message that is not complete
        self._consumed = 0  # position of the skipper after the last whole message
        self._skipper = msgpack.Unpacker(max_buffer_size=2 * MAX_REPLY)
        self._unpacker = msgpack.Unpacker(raw=False, strict_map_key=False, max_buffer_size=2 * MAX_REPLY)

    def feed(self, data: bytes) -> List[Any]:
        """The messages that `data` completes. Raises ProtocolError when the stream cannot be read any further."""
        if not self._kept and _is_id_reply(data):
            return [msgpack.unpackb(data)]
        skipper = self._skipper
        end = start = self._consumed
        try:
            skipper.feed(data)
            try:
                while True:
                    skipper.skip()
                    end = skipper.tell()
            except msgpack.OutOfData:
                pass
            if end == start:
                self._keep(data)
                return []
            self._consumed = end
            if self._kept:
                data = bytes(self._kept) + data
                self._kept.clear()
            if len(data) == end - start:
                self._unpacker.feed(data)
            else:
                self._unpacker.feed(data[:end - start])
                self._keep(data[end - start:])
            return list(self._unpacker)
        except _UNREADABLE as error:
            raise ProtocolError(f"what the daemon sent cannot be read: {type(error).__name__} {error}".rstrip()) from error

    def _keep(self, data: bytes) -> None:
        if len(self._kept) + len(data) > MAX_REPLY:
            raise ProtocolError(f"a message of the daemon is longer than {MAX_REPLY} bytes")
        self._kept += data
