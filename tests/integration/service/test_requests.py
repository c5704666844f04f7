"""Requests as bytes: every encoding that MessagePack allows is taken, and what is no request is refused by name."""

import msgpack
import pytest

from rpc import ids_of


# --- encodings ------------------------------------------------------------------------------------------------------
def unsigned_forms(value: int):
    """Every legal encoding of a small integer."""
    yield bytes([value])
    for head, size in ((0xcc, 1), (0xcd, 2), (0xce, 4), (0xcf, 8), (0xd0, 1), (0xd1, 2), (0xd2, 4), (0xd3, 8)):
        yield bytes([head]) + value.to_bytes(size, "big")


def text_forms(text: bytes):
    yield bytes([0xa0 | len(text)]) + text
    for heads in ((0xd9, 0xda, 0xdb), (0xc4, 0xc5, 0xc6)):
        for head, size in zip(heads, (1, 2, 4)):
            yield bytes([head]) + len(text).to_bytes(size, "big") + text


def array_forms(*parts: bytes):
    body = b"".join(parts)
    yield bytes([0x90 | len(parts)]) + body
    yield b"\xdc" + len(parts).to_bytes(2, "big") + body
    yield b"\xdd" + len(parts).to_bytes(4, "big") + body


def test_EveryEncodingOfARequestIsAccepted(daemon):
    plain = [bytes([0]), bytes([7]), b"\xa5range", b"\x92\xa6orders\x05"]
    frames = list(array_forms(*plain))
    for place, forms in ((0, unsigned_forms(0)), (1, unsigned_forms(7)), (2, text_forms(b"range"))):
        frames += [b"\x94" + b"".join(plain[:place]) + form + b"".join(plain[place + 1:]) for form in forms]
    params = [form for name in text_forms(b"orders") for count in unsigned_forms(5) for form in array_forms(name, count)]
    frames += [b"\x94" + b"".join(plain[:3]) + form for form in params]
    with daemon.connect() as client:
        issued = 0
        for frame in frames:
            client.send(frame)
            answer, error, result = client.read_reply()
            assert (answer, error) == (7, None), frame.hex()
            assert ids_of(result) == list(range(issued + 1, issued + 6)), frame.hex()
            issued += 5


@pytest.mark.parametrize("timeout", list(unsigned_forms(100)))
def test_EveryEncodingOfAnOptionIsAccepted(daemon, timeout):
    with daemon.connect() as client:
        assert client.next() == 1  # so that one is available: some of them wait for nothing
        client.send(b"\x94\x00\x07\xa4next\x92\xa6orders" + b"\xdf\x00\x00\x00\x01\xc4\x0atimeout_ms" + timeout)
        assert client.read_reply() == (7, None, 2)


@pytest.mark.parametrize("message_id", [0, 1, 127, 128, 255, 256, 65535, 65536, 2**31, 2**32 - 1])
def test_EveryMessageIdComesBack(daemon, message_id):
    with daemon.connect() as client:
        client.send(msgpack.packb([0, message_id, "ping", []]))
        assert client.read_reply() == (message_id, None, "pong")


def test_ARequestMayArriveByteByByte(daemon):
    with daemon.connect() as client:
        for byte in msgpack.packb([0, 9, "next", ["orders"]]):
            client.send(bytes([byte]))
        assert client.read_reply() == (9, None, 1)


# --- errors ---------------------------------------------------------------------------------------------------------
BAD_CALLS = [
    ("next",), ("next", 5), ("next", None), ("next", ["orders"]), ("next", "orders", 5), ("next", "orders", {}, 1),
    ("next", "orders", {"unknown": 1}), ("next", "orders", {"timeout_ms": -1}), ("next", "orders", {"timeout_ms": 3600001}),
    ("next", "orders", {"timeout_ms": "1"}), ("next", "orders", {5: 1}), ("range",), ("range", "orders"),
    ("range", "orders", 0), ("range", "orders", -1), ("range", "orders", 1.5), ("range", "orders", "5"),
    ("range", "orders", None), ("range", "orders", 1, {"unknown": 1}), ("peek",), ("peek", 1), ("peek", "orders", 1),
    ("hello", 5), ("hello", {"client": b"short"}), ("hello", {"client": "zz" * 16}), ("hello", {"name": "x" * 65}),
    ("hello", {"unknown": 1}), ("ack",), ("ack", "x"), ("ack", -1),
]


@pytest.mark.parametrize("call", BAD_CALLS, ids=repr)
def test_AWrongParameterIsABadRequestAndTheConnectionLives(daemon, call):
    with daemon.connect() as client:
        error = client.error(*call)
        assert error.code in ("BAD_REQUEST", "TOO_LARGE") and error.fault == 1 and error.text
        assert client.next() == 1


@pytest.mark.parametrize("name", ["", " ", "a b", "ä", "a/b", "a\0b", "a\n", "*", "$", "a" * 129])
def test_AWrongNameIsRefused(daemon, name):
    with daemon.connect() as client:
        assert client.error("next", name).code in ("BAD_REQUEST", "TOO_LARGE")
        assert client.call("list") == []


@pytest.mark.parametrize("name", ["a", "A.b_c:d-9", "0", "a" * 128])
def test_EveryAllowedNameWorks(daemon, name):
    with daemon.connect() as client:
        assert client.next(name) == 1


def test_AnUnknownMethodIsNamedAndTheKnownOnesAreListed(daemon):
    with daemon.connect() as client:
        error = client.error("nextt", "orders")
        assert (error.code, error.fault) == ("NO_METHOD", 1)
        assert "next" in error.text and "range" in error.text


BROKEN = [b"\xc1", b"\x00", b"\xc0", b"\xa5hello", b"\x80", b"\x90", b"\x93\x00\x01\xa4next", b"\x95\x00\x01\xa4ping\x90\x00",
          b"\x94\x03\x01\xa4ping\x90", b"\x94\x00\x01\xa4ping\x80", b"\x94\x00\x01\x05\x90", b"\x94\x00\xff\xa4ping\x90",
          b"\x94\x00\xcf\x00\x00\x00\x01\x00\x00\x00\x00\xa4ping\x90", b"\x94\x00\xa1x\xa4ping\x90"]


@pytest.mark.parametrize("frame", BROKEN, ids=lambda frame: frame.hex())
def test_BrokenFramingIsAnsweredOnceAndTheConnectionClosed(daemon, frame):
    with daemon.connect() as client, daemon.connect() as other:
        client.send(frame)
        replies = client.rest()
        assert len(replies) == 1
        _, error, result = replies[0]
        assert error[0] == 1 and error[1].startswith("BAD_REQUEST: ") and result is None
        assert other.next() == 1
