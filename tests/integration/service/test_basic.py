"""Every method over the socket, with the embedded store: what it answers, repeats and deadlines."""

import os
import time

import msgpack
import pytest

from rpc import Connection, ids_of
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
    daemon = make_daemon(daemon={"state_log_size": "256KiB"}).start()
    most = 256  # one for each KiB
    with hello(daemon, os.urandom(16)) as client:
        assert [ask(client, number, "next", "orders") for number in range(1, most + 1)] == list(range(1, most + 1))
        client.send(msgpack.packb([0, most + 1, "next", ["orders"]]))
        _, error, _ = client.read_reply()
        assert error[0] == 0 and error[1].startswith("BUSY: ")
        client.notify("ack", most + 1)
        assert ask(client, most + 1, "next", "orders") == most + 1


# --- configured sequences -------------------------------------------------------------------------------------------
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
        late, early = 1, 2  # in one write: a test that stands still between them would change their order
        client.send(b"".join(msgpack.packb([0, number, "next", ["orders", {"timeout_ms": ms}]]) for number, ms in ((late, 3000), (early, 300))))
        for request, seconds in ((early, 0.29), (late, 2.99)):
            answered, error, _ = client.read_reply()
            assert answered == request and error[1].startswith("UNAVAILABLE: ")
            assert time.monotonic() - begin > seconds, "the request failed before its deadline"
