"""The server's own fail points: whatever it does with a lease, nothing is issued twice, nothing is lost where leases are
traced, and nobody else is disturbed."""

import re
import time

import pymongo
import pymongo.errors
import pytest

from accounting import Ledger, journalled_gaps, untraceable
from clients import drain
from disks import forget
from disturbance import Measure, Watchers
from harness import readable

WRITES = ["findAndModify", "update", "insert", "commitTransaction"]
PATIENCE = {"timeout_ms": 30_000}
HANG_MS = 120_000
LEASES = {"lease_min": 50, "lease_max": 500, "max_available": 2000}


@pytest.fixture(name="disturbed")
def daemon_with_two_stores(mongo_set, make_daemon, request):
    mongo_set.client().drop_database("seqd")
    marker = request.node.get_closest_marker("store_timeout")
    mode = request.node.callspec.params.get("mode", "auto") if hasattr(request.node, "callspec") else "auto"
    return make_daemon(daemon={"default_store": "local"},
                       stores={"local": {"type": "sqlite"},
                               "mongo": {"type": "mongodb", "uri": mongo_set.uri(), "database": "seqd",
                                         "lease_mode": mode, "timeout": marker.args[0] if marker else "1s"}},
                       sequences={"orders": {"store": "mongo", "meaning": "last", **LEASES},
                                  "held": {"store": "mongo", "meaning": "last", "lease_min": 40_000_000, "lease_max": 40_000_000,
                                           "max_available": 100_000_000}}).start()


class Neighbours:
    """Two sequences that must not notice: one in another store, one of the same store with available IDs."""

    def __init__(self, daemon, control):
        self.first = {}
        with daemon.connect(40) as client:
            for name in ("local", "held"):
                self.first[name] = client.next(name, **PATIENCE)
        self.measure = Measure()
        self.watchers = Watchers(self.measure, {name: (daemon, name) for name in self.first}, control)

    def assert_undisturbed(self) -> None:
        for name, ids in self.watchers.finish().items():
            assert ids == list(range(self.first[name] + 1, self.first[name] + 1 + len(ids)))
        self.measure.judge()


def take_patiently(daemon, requests: int) -> list:
    """One after the other, each willing to wait: an error is a failure."""
    with daemon.connect(40) as client:
        return [client.call("range", "orders", 50, PATIENCE) for _ in range(requests)]


FAULTS = {
    "ReplyLostAfterApply": ("onPrimaryTransactionalWrite", {"closeConnection": True}, {"times": 1}),
    "ReplyLostTwice": ("onPrimaryTransactionalWrite", {"closeConnection": True}, {"times": 2}),
    "WriteConcernErrorWithAValue": ("failCommand", {"failCommands": WRITES, "writeConcernError": {
        "code": 64, "errmsg": "waiting for replication timed out", "errInfo": {"wtimeout": True}}}, {"times": 2}),
    "ConnectionClosed": ("failCommand", {"failCommands": WRITES, "closeConnection": True}, {"times": 3}),
    "RefusedOnce": ("failCommand", {"failCommands": WRITES, "errorCode": 11600}, {"times": 2}),
    "RefusedRetryably": ("failCommand", {"failCommands": WRITES, "errorCode": 11600,
                                         "errorLabels": ["RetryableWriteError"]}, {"times": 2}),
    "BlockedAboveTheTimeout": ("failCommand", {"failCommands": WRITES, "blockConnection": True, "blockTimeMS": 1500},
                               {"times": 3}),
}


@pytest.mark.limit(120)
@pytest.mark.parametrize("mode", ["session", "slot", "plain"])
@pytest.mark.parametrize("fault", FAULTS)
def test_NothingTwiceNothingLostNobodyDisturbed(mongo_set, disturbed, make_daemon, fault, mode):
    name, data, times = FAULTS[fault]
    ledger = Ledger("orders")
    neighbours = Neighbours(disturbed, make_daemon("control").start())
    for _ in range(3):
        with mongo_set.primary().fail_point(name, data, times), neighbours.measure.round():
            for runs in take_patiently(disturbed, 40):
                for first, count, _ in runs:
                    ledger.add_range(first, first + count)
    neighbours.assert_undisturbed()
    disturbed.terminate()
    end = mongo_set.client().seqd.counters.find_one({"_id": "orders"})["seq"] + 1
    disturbed.start()
    ledger.add(drain(disturbed, "orders"))
    gaps = untraceable(disturbed.stderr_file, "orders")
    if mode != "plain":
        assert gaps == 0
    ledger.assert_complete(1, end, gaps)


@pytest.mark.limit(120)
@pytest.mark.store_timeout("30s")
def test_AStoreThatBlocksForThirtySecondsDisturbsNobodyElse(mongo_set, disturbed, make_daemon):
    """Past what is available a request fails at its own deadline, which is long over when the store's is."""
    ledger = Ledger("orders")
    with disturbed.connect(60) as client:
        ledger.add([client.next("orders", **PATIENCE)])
        neighbours = Neighbours(disturbed, make_daemon("control").start())
        block = {"failCommands": WRITES, "blockConnection": True, "blockTimeMS": 30_000}
        waited = 0
        with mongo_set.primary().fail_point("failCommand", block):
            while waited < 5:
                asked = time.monotonic()
                client.request("next", "orders", {"timeout_ms": 2000})
                _, error, result = client.read_reply()
                if error is None:
                    ledger.add([result])
                    continue
                neighbours.measure.add_round(asked)
                assert error[1].startswith("UNAVAILABLE: "), error
                assert time.monotonic() - asked > 1.9, "the request failed before its deadline"
                waited += 1
            assert not re.search("lease_(failed|unknown): ", disturbed.stderr(1 << 20)), "the store's time-out came first"
        ledger.add([client.next("orders", **PATIENCE)])
    neighbours.assert_undisturbed()
    ledger.assert_no_duplicate()


# Where a transaction is when its daemon is killed: the counter is moved and the record is not, or both are and nothing is sure.
MOMENTS = {
    "BeforeTheRecord": {"failCommands": ["findAndModify"], "namespace": "seqd.seqd_leases"},
    "BeforeTheCommit": {"failCommands": ["commitTransaction"]},
}


def no_help_from_the_server(servers, request) -> None:
    """A transaction that is left alone stays open for the whole test."""
    admin = servers.primary().client().admin
    before = admin.command("setParameter", 1, transactionLifetimeLimitSeconds=3600)["was"]
    request.addfinalizer(lambda: admin.command("setParameter", 1, transactionLifetimeLimitSeconds=before))


@pytest.mark.limit(120)
@pytest.mark.parametrize("state", ["resumed", "forfeited"])
@pytest.mark.parametrize("moment", MOMENTS)
def test_ATransactionThatAKilledDaemonLeftOpenIsEndedByTheNextStart(mongo_set, make_daemon, request, moment, state):
    """A lease of a range that was returned is one. It keeps foreign writers from the counter; by itself the server would end it
    after an hour. Also where the next daemon is another instance, because its /run is new."""
    mongo_set.client().drop_database("seqd")
    no_help_from_the_server(mongo_set, request)
    daemon = make_daemon(stores={"mongo": {"type": "mongodb", "uri": mongo_set.uri(), "database": "seqd", "timeout": "10s"}},
                         sequences={"orders": {"meaning": "last", "reuse": "parked", **LEASES}}).start()
    counters = mongo_set.client().seqd.counters
    ledger = Ledger("orders")
    with daemon.connect(40) as client:
        ledger.add([client.next("orders", **PATIENCE)])
        assert client.call("drain", "orders", PATIENCE)[0]["returned"] == [[2, 49]]
        # Nothing but a kill of its session ends it earlier. (To lift the fail point would be to wait for that, too.)
        block = {**MOMENTS[moment], "blockConnection": True, "blockTimeMS": 3_600_000}
        admin = mongo_set.primary().client().admin
        entered = admin.command("configureFailPoint", "failCommand", mode={"times": 1}, data=block)["count"]
        client.request("range", "orders", 49, PATIENCE)
        admin.command("waitForFailPoint", "failCommand", timesEntered=entered + 1, maxTimeMS=HANG_MS)
        daemon.kill()
    with pytest.raises(pymongo.errors.ExecutionTimeout):
        counters.find_one_and_update({"_id": "orders"}, {"$inc": {"seq": 1}}, maxTimeMS=1500)
    if state == "forfeited":
        forget(daemon.witness)
    daemon.start()
    after = counters.find_one_and_update({"_id": "orders"}, {"$inc": {"seq": 1}}, maxTimeMS=HANG_MS,
                                         return_document=pymongo.ReturnDocument.AFTER)["seq"]
    ledger.add([after])
    assert ledger.seen[1] and after == 51  # nothing of the transaction was applied
    for runs in take_patiently(daemon, 20):
        for first, count, _ in runs:
            ledger.add_range(first, first + count)
    daemon.terminate()
    end = counters.find_one({"_id": "orders"})["seq"] + 1
    daemon.start()
    ledger.add(drain(daemon, "orders"))
    assert untraceable(daemon.stderr_file, "orders") == 0
    ledger.assert_complete(1, end, sum(len(gap) for gap in journalled_gaps(daemon.stderr_file, "orders")))


@pytest.mark.limit(180)
@pytest.mark.parametrize("mode", ["session", "slot", "plain"])
def test_NoLeaseWaitsForTheConflictsOfOtherSequences(mongo_set, make_daemon, mode):
    """Eight sequences of a store lose against others all the time, which is more than it has workers; the ninth is leased as ever."""
    mongo_set.client().drop_database("seqd")
    crowded = [f"crowded{i}" for i in range(8)]
    one_lease_each = {"meaning": "last", "lease_min": 20, "lease_max": 20, "max_available": 20}
    daemon = make_daemon(stores={"mongo": {"type": "mongodb", "uri": mongo_set.uri(), "database": "seqd", "lease_mode": mode}},
                         sequences={"free": {"collection": "free", **one_lease_each},
                                    **{name: {"collection": "crowded", **one_lease_each} for name in crowded}}).start()
    ledgers = {name: Ledger(name) for name in ["free", *crowded]}

    def taken(name: str, runs: list) -> None:
        for first, count, _ in runs:
            ledgers[name].add_range(first, first + count)

    conflict = {"failCommands": WRITES, "namespace": "seqd.crowded", "errorCode": 112}
    with daemon.connect(120) as client, daemon.connect(120) as others:
        for name in ledgers:
            taken(name, client.call("range", name, 20, PATIENCE))
        with mongo_set.primary().fail_point("failCommand", conflict):
            # More than what may have been leased ahead of them.
            asked = {name: [others.request("range", name, 20, {"timeout_ms": 120_000}) for _ in range(3)] for name in crowded}
            for _ in range(50):
                taken("free", client.call("range", "free", 20, PATIENCE))
            status = mongo_set.primary().client().admin.command("configureFailPoint", "failCommand", mode="alwaysOn", data=conflict)
            assert status["count"] >= 2 * len(crowded), f"{status['count']} conflicts"
            while readable(0, others.socket.fileno()):
                answer, error, result = others.read_reply()
                others.early[answer] = (error, result)
            assert all(numbers[-1] not in others.early for numbers in asked.values()), "a lease that lost was granted all the same"
        for name, numbers in asked.items():
            for number in numbers:
                taken(name, others.result(number))
    for name, ledger in ledgers.items():
        ledger.assert_complete(1, 1021 if name == "free" else 81)
