"""Servers that misbehave: the caller gets a ProtocolError, a time-out or, after a repeat, the right ID; never a wrong one, never
a hang, and memory stays small."""

import asyncio
import gc
import resource
import tempfile
import threading
import time
from pathlib import Path

import msgpack
import pytest

import seqd
from hostile import HELLO, Server, honest
from seqd import _wire, aio
from servers.patience import PATIENCE

LONG = 20.0 * PATIENCE  # seconds; no test waits for its end


@pytest.fixture
def serve():
    servers = []
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        def start(*acts):
            servers.append(Server(Path(folder) / f"{len(servers)}.sock", *acts))
            return servers[-1]

        yield start
        for server in servers:
            server.close()
            assert not server.failures


def after_hello(answer):
    """Greets, reads a request and lets `answer` reply to it; then reads until the client closes."""
    def act(line):
        line.greet()
        answer(line, line.request())
        line.until_closed()
    return act


def raw(*pieces):
    """The same, with bytes as they are."""
    return after_hello(lambda line, _: all(line.write(piece) for piece in pieces))


@pytest.mark.parametrize("act", [
    pytest.param(raw(b"HTTP/1.1 400 Bad Request\r\n\r\n"), id="another protocol"),
    pytest.param(raw(b"\xc1" * 10), id="a byte that is no MessagePack"),
    pytest.param(raw(msgpack.packb([1, 2, None, 5])), id="the number of another request"),
    pytest.param(raw(msgpack.packb([1, 0, None, 5])), id="the number of the hello"),
    pytest.param(raw(msgpack.packb([0, 1, "next", ["orders"]])), id="a request"),
    pytest.param(raw(msgpack.packb([1, 1, None, "5"])), id="a text for an ID"),
    pytest.param(raw(msgpack.packb([1, 1, None, 2**63])), id="an ID of more than 64 bits"),
    pytest.param(raw(msgpack.packb([1, 1, None, None])), id="nothing"),
    pytest.param(raw(msgpack.packb([1, 1, "UNAVAILABLE: x", None])), id="an error that is none"),
    pytest.param(raw(msgpack.packb([1, 0, [1, "BAD_REQUEST: unreadable"], None])), id="it cannot read the client"),
    pytest.param(raw(b"\x91" * 5000), id="5,000 levels"),
    pytest.param(raw(b"\x94\x01\x01\xc0\xa2\xff\xfe"), id="a text that is not UTF-8"),
    pytest.param(raw(b"\x94\x01\x01\xc0\x81\x80\x01"), id="a map as a key"),
    pytest.param(lambda line: (line.request(), line.say(0, {**HELLO, "protocol": 2}), line.until_closed()), id="version 2"),
    pytest.param(lambda line: (line.request(), line.say(0, {"protocol": "1"}), line.until_closed()), id="a hello of wrong types"),
    pytest.param(lambda line: (line.request(), line.say(0, error=[1, "BAD_REQUEST: x"]), line.until_closed()), id="no hello"),
    pytest.param(lambda line: (line.request(), line.say(1, 5), line.until_closed()), id="a reply before the hello"),
])
def test_ItIsNotBelieved(serve, make_client, act):
    server = serve(act)
    client = make_client(server.path, timeout=LONG)
    with pytest.raises(seqd.ProtocolError) as caught:
        client.next("orders")
    assert not caught.value.temporary and server.connections == 1


def test_AfterwardsTheClientIsOfUseAgain(serve, make_client):
    server = serve(raw(b"\xc1"), honest)
    client = make_client(server.path, timeout=LONG)
    with pytest.raises(seqd.ProtocolError):
        client.next("orders")
    assert client.next("orders") == 2


def test_AllCallsOfABrokenStreamEnd(serve, make_client):
    client = make_client(serve(raw(b"\xc1")).path, timeout=LONG)
    errors = client.pipelined("next", "orders", times=50)
    assert len(errors) == 50 and all(isinstance(error, seqd.ProtocolError) for error in errors)


def test_AReplyInPiecesIsPutTogether(serve, make_client):
    def act(line):
        line.greet()
        line.request()
        line.write(msgpack.packb([2, "news", ["of a later daemon"]]))
        for byte in msgpack.packb([1, 1, None, 2**53 + 1]):
            line.write(bytes([byte]))
        line.until_closed()

    assert make_client(serve(act).path, timeout=LONG).next("orders") == 2**53 + 1


@pytest.mark.parametrize("first", [
    pytest.param(lambda line: None, id="at once"),
    pytest.param(lambda line: line.request(), id="after the hello"),
    pytest.param(lambda line: line.greet(), id="before the request"),
    pytest.param(lambda line: (line.greet(), line.request()), id="after the request"),
    pytest.param(lambda line: (line.greet(), line.request(), line.write(b"\x94\x01\x01")), id="in the middle of the reply"),
    pytest.param(lambda line: (line.request(), line.say(0, error=[0, "BUSY: too many"])), id="after a hello that is refused"),
    pytest.param(lambda line: (line.request(), line.write(b"\x94\x01")), id="in the middle of the hello"),
])
def test_AConnectionThatEndsIsRepeatedWithTheOldNumber(serve, make_client, first):
    seen = []

    def second(line):
        line.greet(known=True)
        request = line.request()
        seen.append(request)
        line.say(request[1], 4711)
        line.until_closed()

    client = make_client(serve(first, first, second).path, timeout=LONG)
    assert client.next("orders") == 4711
    assert seen[0][:3] == [0, 1, "next"]


def test_RepliesInAnyOrderFindTheirCalls(serve, make_client):
    def act(line):
        line.greet()
        requests = [line.request() for _ in range(20)]
        for request in reversed(requests):
            line.say(request[1], request[1] * 10)
        line.until_closed()

    assert make_client(serve(act).path, timeout=LONG).pipelined("next", "orders", times=20) == [10 * n for n in range(1, 21)]


@pytest.mark.parametrize("silent", [
    pytest.param(lambda line: line.until_closed(), id="from the beginning"),
    pytest.param(lambda line: (line.greet(), line.until_closed()), id="after the hello"),
    pytest.param(lambda line: (line.greet(), line.request(), line.write(b"\x94\x01"), line.until_closed()), id="within a reply"),
])
def test_ASilentServerCostsTheTimeOfTheCallOnly(serve, make_client, silent):
    client = make_client(serve(silent).path, timeout=0.1)
    for _ in range(2):
        with pytest.raises((seqd.TimedOut, seqd.ConnectError)) as caught:
            client.next("orders")
        assert caught.value.temporary


def test_ALateReplyIsNotTheNextOne(serve, make_client):
    may_answer = threading.Event()

    def act(line):
        line.greet()
        line.say(line.request()[1], 7)
        late = line.request()
        may_answer.wait(LONG)
        line.say(late[1], 1111)
        line.say(line.request()[1], 2222)
        line.until_closed()

    client = make_client(serve(act).path, timeout=LONG)
    assert client.next("orders") == 7
    try:
        with pytest.raises(seqd.TimedOut):
            client.next("orders", timeout=0.5)
    finally:
        may_answer.set()
    assert client.next("orders") == 2222


@pytest.mark.parametrize("header", [
    pytest.param(b"\x94\x01\x01\xc0\xdd\xff\xff\xff\xff", id="an array of four billion"),
    pytest.param(b"\x94\x01\x01\xc0\xdf\xff\xff\xff\xff", id="a map of four billion"),
    pytest.param(b"\x94\x01\x01\xc0" + b"\xdd\x00\xff\xff\xff" * 200, id="arrays of 16 million in each other"),
    pytest.param(b"\x94\x01\x01\xc0\xc6\xff\xff\xff\xff", id="a binary of four GiB"),
    pytest.param(b"\x94\x01\x01\xc0\xdb\x7f\xff\xff\xff", id="a text of two GiB"),
])
def test_AHeaderThatAnnouncesMuchCostsNoMemory(serve, make_client, header):
    written = threading.Event()

    def answer(line, _):
        line.write(header)
        written.set()

    client = make_client(serve(after_hello(answer)).path, timeout=0.2)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    end = time.monotonic() + LONG
    while not written.is_set():  # a busy machine's hello may take longer than a call has time
        with pytest.raises((seqd.TimedOut, seqd.ProtocolError, seqd.ConnectError)):
            client.next("orders")
        assert time.monotonic() < end
    with pytest.raises((seqd.TimedOut, seqd.ProtocolError, seqd.ConnectError)):
        client.next("orders")  # has time to read what was written
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 32 * 1024, "KiB"


def test_AMessageWithoutAnEndIsLeft(serve, make_client):
    def answer(line, _):
        line.write(b"\x94\x01\x01\xc0\xc6\x7f\xff\xff\xff")
        while line.write(bytes(1 << 16)):
            pass

    client = make_client(serve(after_hello(answer)).path, timeout=LONG)
    with pytest.raises(seqd.ProtocolError, match="longer than 16777216 bytes"):
        client.next("orders")


def test_TheLargestReplyIsTaken(serve, make_client):
    text = "x" * (_wire.MAX_REPLY - 64)
    client = make_client(serve(after_hello(lambda line, request: line.say(request[1], text))).path, timeout=LONG)
    assert client.call("list") == text


@pytest.mark.parametrize("result", [
    pytest.param([["parse", "orders", "x"], {"number": "1"}], id="parse"), pytest.param([["parse", "orders", "x"], []], id="parse, no map"),
    pytest.param([["parse", "orders", "x"], {"number": 1, "date": {"year": "x"}}], id="parse, a date"),
    pytest.param([["parse", "orders", "x"], {"number": 1, "check": "a\nb"}], id="parse, a line"),
    pytest.param([["peek", "orders"], {"next": 1.5}], id="peek"), pytest.param([["peek", "orders"], 7], id="peek, no map"),
    pytest.param([["status"], []], id="status"), pytest.param([["ping"], "pang"], id="ping"),
    pytest.param([["next_text", "orders"], ""], id="an empty text"), pytest.param([["next_text", "orders"], "a\x1b[2J"], id="a control character"),
    pytest.param([["next_text", "orders"], "x" * 2000], id="a long text"), pytest.param([["next_text", "orders"], 7], id="no text"),
])
def test_ResultsOfOtherTypesAreNotBelieved(serve, make_client, result):
    (method, *params), answer = result
    client = make_client(serve(after_hello(lambda line, request: line.say(request[1], answer))).path, timeout=LONG)
    with pytest.raises(seqd.ProtocolError):
        getattr(client, method)(*params)


def test_AnInsertWhoseConnectionEndsIsNotSentAgain(serve, make_client):
    seen = []

    def act(line):
        line.greet()
        request = line.request()
        if request is not None:
            seen.append(request[2])

    client = make_client(serve(act).path, timeout=LONG)
    with pytest.raises(seqd.OutcomeUnknown):
        client.insert("people", {"name": "Ada"})
    assert seen == ["insert"]


def test_AnInsertNoticesThatAnIdleConnectionHasEnded(serve, make_client):
    ended = threading.Event()

    def first(line):
        line.greet()
        line.say(line.request()[1], 1)
        line.socket.close()
        ended.set()

    def second(line):
        line.greet()
        line.say(line.request()[1], 2)
        line.until_closed()

    client = make_client(serve(first, second).path, timeout=LONG)
    assert client.next("orders") == 1
    assert ended.wait(LONG)
    assert client.insert("people", {"name": "Ada"}) == 2


def test_AServerThatDoesNotReadHoldsNoCallForEver(serve, make_client):
    free = threading.Event()

    def act(line):
        line.greet(limits={**HELLO["limits"], "frame": 16_777_216})
        line.say(line.request()[1], 7)
        free.wait(LONG)

    client = make_client(serve(act).path, timeout=LONG)
    assert client.next("orders") == 7
    document = {"text": "x" * 8_000_000}  # more than a socket takes
    try:
        with pytest.raises(seqd.OutcomeUnknown):
            client.insert("people", document, timeout=1.0)
    finally:
        free.set()


def test_ATaskOfAClosedLoopDoesNotTouchLaterCalls(serve):
    """A call that was in flight when its loop was closed is thrown away later; the number of its request is in use again."""
    may_answer = threading.Event()

    def second(line):
        line.greet()
        request = line.request()
        may_answer.wait(LONG)
        line.say(request[1], 42)
        line.until_closed()

    client = aio.Client(serve(lambda line: (line.greet(), line.until_closed()), second).path, timeout=LONG)

    async def until_sent():
        while not client._connection._session._sent:  # pylint: disable=protected-access
            await asyncio.sleep(0.001)

    loop = asyncio.new_event_loop()
    old = [loop.create_task(client.next("orders"))]
    loop.run_until_complete(until_sent())
    loop.close()

    async def run():
        call = asyncio.ensure_future(client.next("orders"))
        await asyncio.sleep(0)  # it has left the old loop
        await until_sent()
        old.clear()
        gc.collect()
        may_answer.set()
        return await call

    try:
        assert asyncio.run(run()) == 42
    finally:
        may_answer.set()


def test_ClosingAfterTheLoopWithACallInFlight(serve):
    client = aio.Client(serve(lambda line: (line.greet(), line.until_closed())).path, timeout=LONG)
    loop = asyncio.new_event_loop()
    old = loop.create_task(client.next("orders"))

    async def until_sent():
        while not client._connection._session._sent:  # pylint: disable=protected-access
            await asyncio.sleep(0.001)

    loop.run_until_complete(until_sent())
    loop.close()
    asyncio.run(client.close())
    with pytest.raises(seqd.ClosedError):
        asyncio.run(client.next("orders"))
    del old
    gc.collect()


def test_APathThatLeadsElsewhereForAMomentDoesNotEndACallInFlight(make_client):
    """As while a daemon that starts has made its socket, and not yet given the permissions."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as short:
        folder, away = Path(short) / "run", Path(short) / "away"
        folder.mkdir()

        def first(line):
            line.greet()
            line.say(line.request()[1], 1)
            line.request()
            folder.rename(away)
            folder.write_text("not a folder")
            line.socket.close()
            threading.Event().wait(0.1)
            folder.unlink()
            away.rename(folder)

        def second(line):
            line.greet(known=True)
            line.say(line.request()[1], 4711)
            line.until_closed()

        server = Server(folder / "s", first, second)
        client = make_client(server.path, timeout=LONG)
        assert client.next("orders") == 1
        assert client.next("orders") == 4711
        server.close()
        assert not server.failures


def test_AnExceptionWhileAConnectionIsLostLeavesNoOtherThreadWaiting(serve):
    """As of a signal handler. The requests of other threads are repeated on the next connection."""
    asked = threading.Event()

    def end(line):
        line.greet()
        line.request()
        asked.set()
        line.request()

    server = serve(end, honest)
    with seqd.Client(server.path, timeout=LONG) as client:
        # pylint: disable=protected-access
        back_off = client._connection._back_off
        usual = back_off.next_delay

        def interrupted():
            back_off.next_delay = usual
            raise KeyboardInterrupt

        back_off.next_delay = interrupted
        others = []
        other = threading.Thread(target=lambda: (asked.wait(LONG), others.append(client.next("b"))))
        other.start()
        with pytest.raises(KeyboardInterrupt):
            client.next("a")
        other.join(LONG)
        assert len(others) == 1 and not server.failures
