"""Every method, every error and every limit over the socket, with the embedded store."""

import json
import os
import sqlite3
import subprocess
import time

import msgpack
import pytest

import harness
from rpc import Closed, Connection, RpcError, ids_of
from servers.mongod import free_port

LARGEST = 2**63 - 1


# --- the methods ----------------------------------------------------------------------------------------------------
def test_NextCountsFromOneWithoutHoles(daemon):
    with daemon.connect() as client:
        assert [client.next() for _ in range(100)] == list(range(1, 101))


def test_SequencesAreIndependent(daemon):
    with daemon.connect() as client:
        assert [client.next("a"), client.next("b"), client.next("a"), client.next("b")] == [1, 1, 2, 2]


def test_ManyNewSequencesCostFewFlushesOfTheStore(make_daemon, scratch):
    """Leases, and returns, that are requested while the store is busy share one transaction."""
    daemon = make_daemon(daemon={"allow_unlisted": True}, defaults={"reuse": "parked"})
    calls = scratch / "calls"
    daemon.prefix = ["strace", "-D", "-f", "-qq", "-o", str(calls), "-P", str(daemon.state / "sequences.db-wal"), "-e", "trace=fdatasync,fsync"]
    daemon.start()
    with daemon.connect() as client:
        client.send(b"".join(msgpack.packb([0, number, "next", [f"new{number}"]]) for number in range(500)))
        assert [client.result(number) for number in range(500)] == [1] * 500
        assert sum(count for one in client.call("drain", None) for _, count in one["returned"]) == 500 * 9
    daemon.terminate()
    flushes = sum("fsync(" in line or "fdatasync(" in line for line in calls.read_text().splitlines())
    assert 1 < flushes < 100, f"{flushes} flushes for 500 leases and 500 returns"


def test_PipelinedRequestsGetDifferentIdsInOrder(daemon):
    with daemon.connect() as client:
        assert client.many("orders", 3000) == list(range(1, 3001))


def test_RangeGivesRunsThatAddUp(daemon):
    with daemon.connect() as client:
        runs = client.call("range", "orders", 1000)
        assert sum(count for _, count, _ in runs) == 1000
        assert all(step == 1 for _, _, step in runs)
        assert ids_of(runs) == list(range(1, 1001))
        assert client.next() == 1001


def test_RangeLargerThanALeaseIsPutTogether(make_daemon):
    daemon = make_daemon(defaults={"lease_min": 10, "lease_max": 100, "max_available": 1000}).start()
    with daemon.connect() as client:
        assert ids_of(client.call("range", "orders", 950)) == list(range(1, 951))


def test_PeekIssuesNothingAndLeasesNothing(daemon):
    with daemon.connect() as client:
        assert client.call("peek", "orders") == {"next": None, "available": 0, "last": None}
        assert client.next() == 1
        for _ in range(3):
            seen = client.call("peek", "orders")
            assert seen["next"] == 2 and seen["last"] == 1 and seen["available"] > 0
        assert client.next() == 2


def test_ListNamesEverySequenceInUse(daemon):
    with daemon.connect() as client:
        client.next("a")
        client.call("range", "b", 5)
        rows = {row["name"]: row for row in client.call("list")}
        assert set(rows) == {"a", "b"}
        assert rows["a"]["next"] == 2 and rows["b"]["next"] == 6
        for row in rows.values():
            assert set(row) >= {"name", "store", "available", "next", "state", "error"}
            assert row["store"] == "default" and row["error"] is None
            assert row["state"] in ("ready", "fetching", "waiting", "stopped")


def test_StatusSaysWhoAndHowMuch(daemon):
    with daemon.connect() as client:
        before = client.call("status")
        client.call("range", "orders", 7)
        after = client.call("status")
        assert set(after) >= {"version", "pid", "instance", "uptime_ms", "state_how", "connections", "requests", "issued",
                              "sequences", "waiting", "stores", "log"}
        assert after["pid"] == daemon.process.pid
        assert after["issued"] - before["issued"] == 7
        assert after["requests"] - before["requests"] == 2
        assert after["connections"] == 1 and after["sequences"] == 1 and after["waiting"] == 0
        assert [(store["name"], store["type"]) for store in after["stores"]] == [("default", "sqlite")]
        assert set(after["log"]) >= {"position", "syncs", "rotations"}


@pytest.mark.parametrize("params", [[], [1], ["text", {"a": [1, 2]}]])
def test_PingIgnoresItsParameters(daemon, params):
    with daemon.connect() as client:
        assert client.call("ping", *params) == "pong"


def test_HelloTellsProtocolAndLimits(make_daemon):
    daemon = make_daemon(limits={"max_count": 123}).start()
    with daemon.connect() as client:
        hello = client.call("hello", {"name": "a test"})
        assert hello["server"] == "seqd" and hello["protocol"] == 1 and hello["known"] is False
        assert hello["version"] and hello["instance"]
        assert set(hello["limits"]) >= {"frame", "depth", "name", "count", "pipeline", "unacknowledged"}
        assert hello["limits"]["count"] == 123


def test_ANotificationIssuesNothing(daemon):
    with daemon.connect() as client:
        for _ in range(10):
            client.notify("next", "orders")
            client.notify("range", "orders", 5)
        assert client.next() == 1


def test_AnUnknownNotificationIsIgnored(daemon):
    with daemon.connect() as client:
        client.notify("nvim_set_client_info", "x", {}, "remote", {}, {})
        assert client.call("ping") == "pong"


# --- repeats --------------------------------------------------------------------------------------------------------
def hello(daemon, identity: bytes) -> Connection:
    client = daemon.connect()
    client.send(msgpack.packb([0, 0, "hello", [{"client": identity}]]))
    client.known = client.result(0)["known"]
    return client


def ask(client: Connection, number: int, *call):
    client.send(msgpack.packb([0, number, call[0], list(call[1:])]))
    return client.result(number)


def test_ARepeatOnANewConnectionGetsTheSameIds(daemon):
    identity = os.urandom(16)
    with hello(daemon, identity) as first:
        assert first.known is False
        one, run = ask(first, 1, "next", "orders"), ask(first, 2, "range", "orders", 5)
    with hello(daemon, identity) as second:
        assert second.known is True
        assert ask(second, 1, "next", "orders") == one
        assert ask(second, 2, "range", "orders", 5) == run
        assert ask(second, 3, "next", "orders") == 7


def test_ARepeatAfterKillGetsTheSameIds(daemon):
    identity = os.urandom(16)
    with hello(daemon, identity) as first:
        ids = [ask(first, number, "next", "orders") for number in range(1, 50)]
    daemon.kill()
    daemon.start()
    with hello(daemon, identity) as second:
        assert second.known is True
        assert [ask(second, number, "next", "orders") for number in range(1, 50)] == ids
        assert ask(second, 50, "next", "orders") == 50


def test_ARepeatWithOtherParametersIsRefused(daemon):
    identity = os.urandom(16)
    with hello(daemon, identity) as client:
        ask(client, 1, "next", "orders")
        for other in (("next", "invoices"), ("range", "orders", 1)):
            client.send(msgpack.packb([0, 1, other[0], list(other[1:])]))
            _, error, _ = client.read_reply()
            assert error[0] == 1 and error[1].startswith("BAD_REQUEST: ")
        assert ask(client, 2, "next", "orders") == 2


def test_ARequestBelowTheAcknowledgedFloorIsRefused(daemon):
    with hello(daemon, os.urandom(16)) as client:
        for number in range(1, 11):
            ask(client, number, "next", "orders")
        client.notify("ack", 6)
        assert ask(client, 6, "next", "orders") == 6
        client.send(msgpack.packb([0, 5, "next", ["orders"]]))
        _, error, _ = client.read_reply()
        assert error[1].startswith("BAD_REQUEST: ")


def test_ANewerHelloTakesTheIdentityOver(daemon):
    identity = os.urandom(16)
    first = hello(daemon, identity)
    with hello(daemon, identity) as second:
        assert first.rest() == []
        assert ask(second, 1, "next", "orders") == 1


def test_MoreUnacknowledgedRequestsThanTheLimitAreBusy(make_daemon):
    daemon = make_daemon(limits={"max_unacknowledged": 10}).start()
    with hello(daemon, os.urandom(16)) as client:
        assert [ask(client, number, "next", "orders") for number in range(1, 11)] == list(range(1, 11))
        client.send(msgpack.packb([0, 11, "next", ["orders"]]))
        _, error, _ = client.read_reply()
        assert error[0] == 0 and error[1].startswith("BUSY: ")
        client.notify("ack", 11)
        assert ask(client, 11, "next", "orders") == 11


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


def test_WithoutCreationOnlyConfiguredSequencesExist(make_daemon):
    daemon = make_daemon(daemon={"allow_unlisted": False}, sequences={"orders": {}, "user-*": {}}).start()
    with daemon.connect() as client:
        assert client.next("orders") == 1
        assert client.next("user-7") == 1
        error = client.error("next", "invoices")
        assert (error.code, error.fault) == ("NO_SEQUENCE", 1)


def test_FirstIdAndMaximumAreKept(make_daemon):
    daemon = make_daemon(sequences={"orders": {"first_id": LARGEST - 3, "max_value": LARGEST - 1}}).start()
    with daemon.connect() as client:
        assert [client.next() for _ in range(3)] == [LARGEST - 3, LARGEST - 2, LARGEST - 1]
        for _ in range(3):
            error = client.error("next", "orders")
            assert (error.code, error.fault) == ("EXHAUSTED", 0)


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


# --- deadlines ------------------------------------------------------------------------------------------------------
def without_a_store() -> dict:
    return {"mongo": {"type": "mongodb", "uri": f"mongodb://127.0.0.1:{free_port()}/?serverSelectionTimeoutMS=500"}}


def test_ADaemonWhoseStoreIsAwayStartsAndAnswersUnavailable(make_daemon):
    daemon = make_daemon(stores=without_a_store()).start()
    with daemon.connect() as client:
        error = client.error("next", "orders", {"timeout_ms": 300})
        assert (error.code, error.fault) == ("UNAVAILABLE", 0)
        assert client.error("next", "orders", {"timeout_ms": 0}).code == "UNAVAILABLE"
        assert client.call("ping") == "pong"
    daemon.terminate()


def test_AShortDeadlineBehindALongOneIsKept(make_daemon):
    daemon = make_daemon(stores=without_a_store()).start()
    with daemon.connect() as client:
        begin = time.monotonic()
        late = client.request("next", "orders", {"timeout_ms": 3000})
        early = client.request("next", "orders", {"timeout_ms": 300})
        for request, seconds in ((early, 0.29), (late, 2.99)):
            answered, error, _ = client.read_reply()
            assert answered == request and error[1].startswith("UNAVAILABLE: ")
            assert time.monotonic() - begin > seconds, "the request failed before its deadline"


# --- limits ---------------------------------------------------------------------------------------------------------
def test_CountAtTheLimitWorksAndAboveIsTooLarge(make_daemon):
    daemon = make_daemon(limits={"max_count": 50}).start()
    with daemon.connect() as client:
        assert len(ids_of(client.call("range", "orders", 49))) == 49
        assert len(ids_of(client.call("range", "orders", 50))) == 50
        for count in (51, 2**31, 2**63, 2**64 - 1):
            error = client.error("range", "orders", count)
            assert error.code in ("TOO_LARGE", "BAD_REQUEST") and error.fault == 1
        assert client.next() == 100


def test_NameAtTheLimitWorksAndAboveIsTooLarge(make_daemon):
    daemon = make_daemon(limits={"max_name": 8}).start()
    with daemon.connect() as client:
        assert client.next("a" * 7) == 1
        assert client.next("a" * 8) == 1
        error = client.error("next", "a" * 9)
        assert (error.code, error.fault) == ("TOO_LARGE", 1)


def ping_of_size(size: int) -> bytes:
    head = b"\x94\x00\x07\xa4ping\x91"
    body = size - len(head) - 3
    return head + b"\xda" + body.to_bytes(2, "big") + b"x" * body


def test_FrameAtTheLimitWorksAndAboveCloses(make_daemon):
    daemon = make_daemon(limits={"max_request_size": 1024}).start()
    with daemon.connect() as client:
        for size in (1023, 1024):
            client.send(ping_of_size(size))
            assert client.read_reply() == (7, None, "pong")
        client.send(ping_of_size(1025))
        replies = client.rest()
        assert len(replies) == 1 and replies[0][1][1].startswith("TOO_LARGE: ")


def test_DepthAtTheLimitWorksAndAboveCloses(make_daemon):
    daemon = make_daemon(limits={"max_depth": 5}).start()
    with daemon.connect() as client:
        # The request itself is one level and its parameters are the second.
        for inner in (2, 3):
            client.send(b"\x94\x00\x07\xa4ping\x91" + b"\x91" * (inner - 1) + b"\x90")
            assert client.read_reply() == (7, None, "pong")
        client.send(b"\x94\x00\x07\xa4ping\x91" + b"\x91" * 3 + b"\x90")
        replies = client.rest()
        assert len(replies) == 1 and replies[0][1][1].split(":")[0] in ("TOO_LARGE", "BAD_REQUEST")


def test_ConnectionsUpToTheLimitAreServedAndTheNextIsRefused(make_daemon):
    daemon = make_daemon(limits={"max_connections_per_user": 5}).start()
    clients = [daemon.connect() for _ in range(5)]
    assert [client.next() for client in clients] == [1, 2, 3, 4, 5]
    with daemon.connect() as surplus:
        replies = surplus.rest()
        assert all(error[1].startswith("BUSY: ") for _, error, _ in replies)
    clients.pop().close()
    assert served_when_there_is_room(daemon) == 6


def served_when_there_is_room(daemon) -> int:
    """Asks until a connection is accepted: the daemon learns of a close in its own time."""
    while True:
        with daemon.connect() as client:
            try:
                return client.next()
            except Closed:
                continue
            except RpcError as error:
                assert error.code == "BUSY", error


def test_MoreRequestsThanThePipelineLimitAreAllAnswered(make_daemon):
    daemon = make_daemon(limits={"max_requests_in_flight": 4}).start()
    with daemon.connect() as client:
        assert sorted(client.many("orders", 2000)) == list(range(1, 2001))


def test_SequencesAboveTheLimitAreBusy(make_daemon):
    daemon = make_daemon(limits={"max_sequences": 3}).start()
    with daemon.connect() as client:
        assert [client.next(name) for name in "abc"] == [1, 1, 1]
        assert client.error("next", "d").code == "BUSY"
        assert client.next("a") == 2


# --- seqctl ---------------------------------------------------------------------------------------------------------
def test_SeqctlTakesIdsOneALine(daemon):
    assert daemon.seqctl("next", "orders").stdout == "1\n"
    assert daemon.seqctl("next", "orders", "-n", "3").stdout == "2\n3\n4\n"
    assert "5" in daemon.seqctl("peek", "orders").stdout
    assert daemon.seqctl("range", "orders", "10").stdout.strip()
    assert daemon.seqctl("next", "orders").stdout == "15\n"


def test_SeqctlShowsListStatusAndPing(daemon):
    daemon.seqctl("next", "orders")
    assert "orders" in daemon.seqctl("list").stdout
    assert str(daemon.process.pid) in daemon.seqctl("status").stdout
    assert "pong" in daemon.seqctl("ping").stdout
    daemon.seqctl("reload")


@pytest.mark.parametrize("command", [["next", "orders"], ["next", "orders", "-n", "5"], ["next", "orders", "--text"]], ids=" ".join)
def test_SeqctlThatWaitsEndsAtATermination(make_daemon, command):
    """An ID that nobody is there to take is not issued: the next one is 1 all the same."""
    daemon = make_daemon().start()
    store = sqlite3.connect(daemon.state / "sequences.db", isolation_level=None, timeout=60)
    store.execute("BEGIN EXCLUSIVE")
    waiting = subprocess.Popen([str(harness.SEQCTL), "-t", "600", *command], env={**os.environ, "SEQD_SOCKET": str(daemon.socket)},
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        with daemon.connect() as client:
            while client.call("status")["waiting"] == 0:
                assert waiting.poll() is None
            waiting.terminate()
            out, errors = waiting.communicate(timeout=60)
            assert waiting.returncode == 130 and out == "" and "INTERRUPTED: 1 requests were not answered" in errors
            while client.call("status")["waiting"] != 0:
                pass
            store.execute("ROLLBACK")
            assert client.next("orders") == 1
    finally:
        waiting.kill()
        store.close()


@pytest.mark.parametrize("command", [["next", "orders"], ["range", "orders", "3"], ["peek", "orders"], ["list"], ["status"],
                                     ["ping"], ["reload"]], ids=" ".join)
def test_SeqctlSpeaksJson(daemon, command):
    json.loads(daemon.seqctl("-o", "json", *command).stdout)


def test_SeqctlTellsByItsExitCodeWhatWentWrong(daemon, tmp_path):
    assert daemon.seqctl("next", "a b", expect=None).returncode == 1
    assert "BAD_REQUEST" in daemon.seqctl("next", "a b", expect=None).stderr
    assert daemon.seqctl("nonsense", expect=None).returncode == 2
    assert daemon.seqctl("next", expect=None).returncode == 2
    assert daemon.seqctl("--timeout", "1", "--socket", str(tmp_path / "absent"), "ping", expect=None).returncode == 69
