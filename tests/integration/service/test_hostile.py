"""The hostile corpus: whatever comes over the socket, a well-behaved client is served and memory stays bounded."""

import contextlib
import functools
import os
import random
import resource
import select
import socket

import msgpack
import pytest

from disturbance import Measure, Watchers
from rpc import Closed
from servers.mongod import expect_soon
from servers.patience import PATIENCE

SEED = int(os.environ.get("SEED", str(random.SystemRandom().randrange(2**32))))
MEMORY_KIB = 128 * 1024
CONNECTIONS = 10_000
ROUNDS = 3
STARVED_SECONDS = 2.0  # the work of an attack is done in turns with that of the others, and delays them
MOST_UNREAD = 64 << 20  # bytes of requests of clients that read no reply
LIMITS = {"frame_timeout": "500ms"}
HUGE = [b"\xdd\xff\xff\xff\xff", b"\xdf\xff\xff\xff\xff", b"\xdf\x0a\x29\x5f\xdf", b"\xdb\xff\xff\xff\xff", b"\xc6\xff\xff\xff\xff",
        b"\xc9\xff\xff\xff\xff\x01", b"\xdc\xff\xff", b"\xde\xff\xff", b"\xda\xff\xff", b"\xc5\xff\xff", b"\xc8\xff\xff\x01"]
VALID = [msgpack.packb([0, 7, "next", ["victim"]]), msgpack.packb([0, 7, "range", ["victim", 5]]),
         msgpack.packb([0, 7, "hello", [{"client": bytes(16), "name": "x"}]]), msgpack.packb([0, 7, "status", []]),
         msgpack.packb([2, "ack", [5]]), msgpack.packb([0, 7, "peek", ["victim"]]), msgpack.packb([0, 7, "list", []])]


@pytest.fixture(name="attacked")
def daemon_with_a_well_behaved_client(make_daemon, request):
    """A daemon under attack; at the end it must have served its good client throughout, within its memory."""
    print(f"SEED={SEED}")
    files = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (files[1], files[1]))
    daemon = make_daemon(limits={**LIMITS, **getattr(request, "param", {})}).start()
    measure = daemon.measure = Measure(STARVED_SECONDS)
    good = Watchers(measure, {"good": (daemon, "orders")}, make_daemon("control").start())
    yield daemon
    ids = good.finish()["good"]
    resource.setrlimit(resource.RLIMIT_NOFILE, files)
    assert daemon.running(), daemon.stderr()
    assert ids == list(range(1, len(ids) + 1))
    measure.judge()
    assert daemon.memory_kib("VmHWM") < MEMORY_KIB, f"{daemon.memory_kib('VmHWM')} KiB were resident"
    with daemon.connect() as client:
        assert client.next("orders") == len(ids) + 1
    daemon.terminate()


def attack(once):
    """In rounds: what an attack does to others it does in each, and what the machine does in one. Judged against the control."""
    @functools.wraps(once)
    def test(attacked, **parameters):
        for _ in range(ROUNDS):
            with attacked.measure.round():
                once(attacked, **parameters)
    return test


def throw(daemon, data: bytes) -> list:
    """Sends, ends the sending half and reads what comes until the daemon closes."""
    with daemon.connect() as client:
        try:
            client.send(data)
            client.socket.shutdown(socket.SHUT_WR)
        except (Closed, OSError):
            pass
        return client.rest()


@attack
def test_TruncatedFrames(attacked):
    for frame in VALID:
        for size in range(len(frame)):
            for _, error, _ in throw(attacked, frame[:size]):
                assert error is not None


@pytest.mark.parametrize("around", [b"", b"\x94", b"\x94\x00\x07", b"\x94\x00\x07\xa4ping", b"\x94\x00\x07\xa4ping\x91",
                                    b"\x94\x00\x07\xa4next\x92\xa6victim"], ids=lambda data: data.hex() or "bare")
@attack
def test_HugeLengthsAreRefusedFromTheHeader(attacked, around):
    for head in HUGE:
        with attacked.connect() as client:
            client.send(around + head)
            replies = client.rest()  # the daemon closes: at once, or when the frame did not come in full
            assert len(replies) <= 1 and all(error is not None for _, error, _ in replies)


@attack
def test_DeepNesting(attacked):
    for head in (b"\x91", b"\x81\x01", b"\xdc\x00\x01", b"\xdd\x00\x00\x00\x01", b"\xdf\x00\x00\x00\x01\x01"):
        replies = throw(attacked, b"\x94\x00\x07\xa4ping" + head * 50_000)
        assert len(replies) <= 1 and all(error is not None for _, error, _ in replies)


@attack
def test_OversizedFrames(attacked):
    text = b"\xdb" + (1 << 20).to_bytes(4, "big") + b"x" * (1 << 20)
    many = b"\xdd" + (1 << 20).to_bytes(4, "big") + b"\x00" * (1 << 20)
    for body in (text, many):
        replies = throw(attacked, b"\x94\x00\x07\xa4ping" + body)
        assert len(replies) <= 1 and all(error for _, error, _ in replies)


@attack
def test_RandomBytes(attacked):
    chance = random.Random(SEED)
    for _ in range(1500):
        throw(attacked, chance.randbytes(chance.choice([1, 2, 5, 20, 100, 5000])))


@attack
def test_FlippedBitsInValidFrames(attacked):
    for frame in VALID:
        for bit in range(len(frame) * 8):
            broken = bytearray(frame)
            broken[bit // 8] ^= 1 << bit % 8
            throw(attacked, bytes(broken) + VALID[0])


@pytest.mark.limit(150)
@attack
def test_TricklingConnectionsAreClosedInTime(attacked):
    """Five hundred that send one byte of a request at a time: a frame that has begun has its deadline."""
    trickling = {}
    poll = select.epoll()
    for _ in range(500):
        client = socket.socket(socket.AF_UNIX)
        client.connect(str(attacked.socket))
        client.send(VALID[0][:1])
        trickling[client.fileno()] = client
        poll.register(client.fileno(), select.EPOLLIN)
    sent = 1
    while trickling:  # the limit of the test ends it
        for number, _ in poll.poll(0.1):  # the pause between two bytes
            client = trickling.pop(number)
            poll.unregister(number)
            client.close()
        if sent < len(VALID[0]) - 1:
            for client in trickling.values():
                try:
                    client.send(VALID[0][sent:sent + 1])
                except OSError:
                    pass  # closed by the daemon just now; the poll tells
            sent += 1


@pytest.mark.limit(150)
@pytest.mark.parametrize("attacked", [{"idle_timeout": "3s"}], ids=["3s"], indirect=True)
@attack
def test_SilentConnectionsAreClosedInTime(attacked):
    silent = [attacked.connect(20) for _ in range(500)]
    for client in silent:
        client.rest()


@pytest.mark.limit(150)
@attack
def test_AClientThatNeverReadsIsHeldBack(attacked):
    """Requests without end from clients that read nothing: the daemon stops reading them instead of keeping the replies."""
    clients = [socket.socket(socket.AF_UNIX) for _ in range(20)]
    data = VALID[3] * 200  # status: the reply is larger than the request
    for client in clients:
        client.connect(str(attacked.socket))
        client.setblocking(False)
    open_ones, sent = set(clients), 0
    while open_ones:
        assert sent < MOST_UNREAD, "the daemon goes on reading a client that does not read"
        writable = select.select([], list(open_ones), [], 1.0)[1]
        if not writable:
            break  # every one of them is held back for a second now
        for client in writable:
            try:
                sent += client.send(data)
            except BlockingIOError:
                pass
            except OSError:
                open_ones.discard(client)  # closed by the daemon: allowed as well
    for client in clients:
        client.close()


@attack
def test_AHalfClosedConnectionGetsAllItsReplies(attacked):
    for requests in (1, 10, 1000):
        replies = throw(attacked, b"".join(msgpack.packb([0, number, "ping", []]) for number in range(requests)))
        assert sorted(number for number, error, _ in replies if error is None) == list(range(requests))


@attack
def test_AcknowledgingMuchOftenerThanAsking(attacked):
    """Nothing comes back for these few bytes, so what each of them costs must not grow with what was asked for before."""
    asked, acknowledged = 3_800, 250_000
    asking = b"".join(msgpack.packb([0, number, "next", ["n%04d" % number, {"timeout_ms": 0}]]) for number in range(1, asked + 1))
    with attacked.connect() as client, contextlib.suppress(Closed):  # a busy machine may need longer for a frame than the limit
        client.call("hello", {"client": os.urandom(16)})
        client.send(asking + msgpack.packb([2, "ack", [1]]) * acknowledged)
        for _ in range(asked):
            client.read_reply()
        client.call("ping")


@attack
def test_ConnectAndCloseStorm(attacked):
    for round_number in range(5000):
        client = socket.socket(socket.AF_UNIX)
        client.connect(str(attacked.socket))
        if round_number % 3 == 0:
            client.send(VALID[round_number % len(VALID)])
        client.close()


def test_OneMillionNamesDoNotFillTheMemory(make_daemon):
    daemon = make_daemon(daemon={"allow_unlisted": False}, sequences={"orders": {}}).start()
    with daemon.connect() as client:
        client.next("orders")
        before = daemon.memory_kib()
        for begin in range(0, 1_000_000, 2000):
            client.send(b"".join(b"\x94\x00\x07\xa4next\x91\xa7%07d" % number for number in range(begin, begin + 2000)))
            for _ in range(2000):
                assert client.read_reply()[1][1].startswith("NO_SEQUENCE: ")
            if begin == 100_000 and daemon.memory_kib() == before:
                break  # nothing is kept: more of the same shows nothing more
        assert daemon.memory_kib() - before < 16 * 1024


@pytest.mark.limit(240)
@attack
def test_TenThousandConnectionsAreServedWithinTheMemory(attacked):
    wanted = CONNECTIONS + 200
    assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] >= wanted, "the limit of open files is too low for this test"
    clients = []
    for _ in range(CONNECTIONS):
        client = socket.socket(socket.AF_UNIX)
        client.connect(str(attacked.socket))
        client.settimeout(20 * PATIENCE)
        client.send(b"\x94\x00\x07\xa4ping\x90")
        clients.append(client)
    for client in clients:
        assert client.recv(64) == b"\x94\x01\x07\xc0\xa4pong"
    assert attacked.memory_kib() < MEMORY_KIB, f"{attacked.memory_kib()} KiB are resident"
    print(f"{CONNECTIONS} connections: {attacked.memory_kib()} KiB resident")
    for client in clients:
        client.close()
    with attacked.connect() as client:  # else those of the next round are too many
        expect_soon("their end", lambda: client.call("status")["connections"] < 100)
