"""What is drained is returned once, or a gap: on real stores, under load, with kill -9 in the middle of it, on two daemons."""

import contextlib
import os
import random
import re
import sqlite3

import pytest

import harness
from accounting import Ledger
from clients import RepeatingClients
from rpc import Closed, RpcError
from servers.mongod import expect_soon

KILLS = int(os.environ.get("DRAIN_KILLS", "24"))
SEED = int(os.environ.get("SEED", str(random.SystemRandom().randrange(2**32))))
LEASES = {"lease_min": 50, "lease_max": 400, "max_available": 2000}


def drained(daemon, name="orders", **options):
    with daemon.connect(40) as client:
        return client.call("drain", name, options) if options else client.call("drain", name)


def gaps(daemon, name="orders"):
    """Every gap of this host that has a place, as (begin, end)."""
    found, after = [], 0
    with daemon.connect(40) as client:
        while True:
            answer = client.call("gaps", name, {"after": after, "limit": 1000})
            for gap in answer["gaps"]:
                assert gap["first"] is not None, gap
                found.append((gap["first"], gap["first"] + gap["count"]))
                after = gap["number"]
            if not answer["more"]:
                return found


# --- one daemon ---------------------------------------------------------------------------------------------------------
def test_WithReuseNeverADrainIsAGapAndTheNextIdsComeFromANewLease(daemon):
    with daemon.connect() as client:
        assert [client.next() for _ in range(3)] == [1, 2, 3]
        available = client.call("peek", "orders")["available"]
    said = daemon.seqctl("drain", "orders", "--yes").stdout
    assert re.search(r"orders +never +- +4\.\.", said), said
    with daemon.connect() as client:
        assert client.call("peek", "orders")["available"] == 0
        assert client.next() == 4 + available
        explained = client.call("explain", "orders", 4)
        assert (explained["answer"], explained["gap"]["cause"]) == ("gap", "drained")
    assert sum(end - begin for begin, end in gaps(daemon)) == available
    daemon.seqctl("audit", "orders")


@pytest.mark.parametrize("reuse", ["tail", "parked"])
def test_WhatIsReturnedIsIssuedAgainAndNothingIsLost(make_daemon, reuse):
    daemon = make_daemon(defaults={**LEASES, "reuse": reuse}).start()
    expected = 1
    for _ in range(5):
        with daemon.connect() as client:
            assert [client.next() for _ in range(7)] == list(range(expected, expected + 7))
            expected += 7
        daemon.seqctl("drain", "--all", "--yes")
        with daemon.connect() as client:
            assert client.call("peek", "orders")["available"] == 0
            explained = client.call("explain", "orders", expected)
            assert explained["answer"] == "returned", explained
            parked = client.call("audit", "orders")["store"]["parked"]
            assert (parked["ranges"] > 0) == (parked["ids"] > 0) == (reuse == "parked")
        assert ("parked" in daemon.seqctl("audit", "orders").stdout) == (reuse == "parked")
    assert gaps(daemon) == []
    with daemon.connect() as client:
        assert client.next() == expected
        assert client.call("explain", "orders", expected)["answer"] == "issued"
    daemon.restart()
    daemon.seqctl("audit", "orders")


def test_ADrainOfNothingAndOfWhatIsNotThere(daemon):
    assert "nothing to drain" in daemon.seqctl("drain", "--all", "--yes").stdout
    assert "NO_SEQUENCE" in daemon.seqctl("drain", "orders", expect=1).stderr


def test_AStoreThatKeepsNoTokensTakesNothingBackAndSaysSo(mongo, make_daemon):
    mongo.client().drop_database("seqd")
    daemon = make_daemon(stores=mongodb(mongo, "plain"), sequences={"orders": {"reuse": "parked", "meaning": "last"}}).start()
    with daemon.connect(40) as client:
        assert client.next() == 1
    answer = drained(daemon)[0]
    assert answer["returned"] == [] and answer["gaps"] and "plain" in answer["why"], answer
    daemon.seqctl("audit", "orders")


def test_WhatCouldNotBeReturnedInTimeIsMadeVoidInTheStoreAndThenAGap(mongo, make_daemon):
    mongo.client().drop_database("seqd")
    stores = {"mongo": {**mongodb(mongo, "slot")["mongo"], "timeout": "500ms"}}
    daemon = make_daemon(stores=stores, sequences={"orders": {"reuse": "parked", "meaning": "last"}}).start()
    with daemon.connect(40) as client:
        assert client.next() == 1
        available = client.call("peek", "orders")["available"]
    with mongo.fail_point("failCommand", {"failCommands": ["findAndModify"], "closeConnection": True}):
        said = daemon.seqctl("--timeout", "0.1", "-o", "json", "drain", "orders", "--yes", expect=75).stdout
        assert f'"returning":{available}' in said.replace(" ", ""), said
        with daemon.connect(40) as client:
            assert client.call("explain", "orders", 2)["answer"] == "returned"
        # The third try began behind the deadline, and so will the one that succeeds.
        expect_soon("three tries", lambda: daemon.stderr(1 << 20).count("return_failed: ") >= 3)
    with daemon.connect(40) as client:
        assert client.next(timeout_ms=30_000) == available + 2
    assert gaps(daemon) == [(2, available + 2)]
    assert "returned" not in mongo.client().seqd.counters.find_one({"_id": "orders"})["seqd"]
    daemon.seqctl("audit", "orders")


# --- two daemons, killed in the middle ----------------------------------------------------------------------------------
def mongodb(server, mode):
    return {"mongo": {"type": "mongodb", "uri": server.uri(), "database": "seqd", "lease_mode": mode}}


class Store:
    """A store that two daemons share, and what it says of the sequence."""

    def __init__(self, kind, mongo, mongo_set, scratch):
        self.kind = kind
        self.server = mongo_set if kind == "session" else mongo
        self.path = scratch / "shared.db"
        if kind == "sqlite":
            self.options = {"shared": {"type": "sqlite", "path": str(self.path)}}
        else:
            self.server.client().drop_database("seqd")
            self.options = mongodb(self.server, kind)

    def next_id(self):
        if self.kind == "sqlite":
            with contextlib.closing(sqlite3.connect(self.path)) as file:
                return file.execute("SELECT seq FROM sequence WHERE name = 'orders'").fetchone()[0] + 1
        return self.server.client().seqd.counters.find_one({"_id": "orders"})["seq"] + 1

    def parked(self):
        """The ranges that nobody has leased again, as (begin, end)."""
        if self.kind == "sqlite":
            with contextlib.closing(sqlite3.connect(self.path)) as file:
                return file.execute("SELECT first, after FROM parked WHERE taken IS NULL").fetchall()
        database = self.server.client().seqd
        if self.kind == "session":
            return [(one["begin"], one["end"]) for one in database.seqd_returned.find({})]
        fields = database.counters.find_one({"_id": "orders"})["seqd"].get("returned", {})
        return [(one["begin"], one["end"]) for one in fields.values()]


def begin_drain(daemon):
    """Asks for a drain and does not wait for its answer."""
    with contextlib.suppress(Closed, OSError):
        with daemon.connect() as client:
            client.request("drain", "orders", {"timeout_ms": 5_000})
            pid = os.pidfd_open(daemon.process.pid)
            harness.readable(random.uniform(0.0, 0.030), pid, client.socket)
            os.close(pid)


def settle(daemon):
    """Waits until nothing of the sequence is on its way, by asking for a drain until one has everything."""
    for _ in range(50):
        with contextlib.suppress(RpcError):
            answer = drained(daemon, timeout_ms=20_000)[0]
            if answer["error"] is None and answer["returning"] == 0 and answer["available"] == 0:
                return
    raise AssertionError(f"it cannot be drained:\n{daemon.stderr()}")


@pytest.mark.limit(180)
@pytest.mark.parametrize("reuse", ["parked", "tail"])
@pytest.mark.parametrize("kind", ["sqlite", "slot", "session"])
def test_DrainsUnderLoadThatAreKilledIssueNothingTwiceAndLoseNothing(mongo, mongo_set, make_daemon, scratch, kind, reuse):
    print(f"SEED={SEED}")  # shown when the test fails
    random.seed(SEED)
    store = Store(kind, mongo, mongo_set, scratch)
    daemons = [make_daemon(f"seqd-{i}", stores=store.options, defaults=LEASES,
                           sequences={"orders": {"reuse": reuse, "meaning": "last"}}).start() for i in range(2)]
    loads = [RepeatingClients(daemon, scratch / f"load-{i}" / "ids", clients=2, depth=8)
             for i, daemon in enumerate(daemons)]
    for daemon in daemons:
        with daemon.connect(40) as client:
            client.next("warm")
    for kill in range(KILLS):
        daemon = daemons[kill % 2]
        begin_drain(daemon)
        if random.random() < 0.7:
            daemon.kill()
            daemon.start()
    ledger = Ledger("orders")
    for load in loads:
        ledger.add(load.stop())
    for daemon in daemons:
        settle(daemon)
    returned = 0
    for daemon in daemons:
        daemon.seqctl("audit", "orders")
        with daemon.connect(40) as client:
            returned += client.call("audit", "orders")["returned"]
        for begin, end in gaps(daemon):
            ledger.add_range(begin, end)
    for begin, end in store.parked():
        ledger.add_range(begin, end)
    assert returned > 0, "nothing was returned"
    print(f"{ledger.count} IDs, {returned} were returned")
    ledger.assert_complete(1, store.next_id())
