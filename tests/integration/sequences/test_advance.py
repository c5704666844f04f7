"""A counter that is advanced for every host: what any daemon has available below it is never issued, and each gap is told."""

import contextlib
import os
import random

import pytest

import harness
from accounting import Ledger
from books import ids_of_gaps
from clients import RepeatingClients
from rpc import Closed, RpcError
from servers.mongod import expect_soon

SEED = int(os.environ.get("SEED", str(random.SystemRandom().randrange(2**32))))
ROUNDS = int(os.environ.get("ADVANCE_ROUNDS", "20"))
LEASES = {"lease_min": 50, "lease_max": 400, "max_available": 2000}
FAR = 1_000_000


@pytest.fixture(name="make_host")
def fixture_make_host(request, scratch, make_daemon, kind):
    """Makes daemons that share a counter and look quickly whether it was advanced."""
    if kind == "sqlite":
        stores = {"shared": {"type": "sqlite", "path": str(scratch / "shared.db")}}
    else:
        server = request.getfixturevalue("mongo_set" if kind == "session" else "mongo")
        server.client().drop_database("seqd")
        stores = {"shared": {"type": "mongodb", "uri": server.uri(), "database": "seqd", "lease_mode": kind}}

    def make(name, reuse="never", poll="200ms"):
        return make_daemon(name, stores=stores, defaults=LEASES, daemon={"store_poll_interval": poll},
                           sequences={"orders": {"reuse": reuse, "meaning": "last"}}).start()

    return make


def available(daemon):
    with daemon.connect(40) as client:
        return client.call("peek", "orders")


def take(daemon, count):
    with daemon.connect(40) as client:
        return [client.next(timeout_ms=30_000) for _ in range(count)]


def holds_nothing_below(daemon, floor):
    peeked = available(daemon)
    return peeked["available"] == 0 or peeked["next"] >= floor


def test_TheJournalAndAnExplanationHaveWhoAdvanced(daemon):
    with daemon.connect() as client:
        client.next("orders")
        before = client.call("peek", "orders")
        client.call("advance", "orders", 100_000)
        passed = before["next"] + before["available"]
        explained = expect_soon("the explanation", lambda: client.call("explain", "orders", passed), 10)
        words = f"user {os.getuid()} (process {os.getpid()}) advanced the counter here to 100000, above it"
        assert explained["answer"] == "elsewhere" and words in explained["text"], explained
        assert "advanced" not in client.call("explain", "orders", 1)["text"]
        assert client.call("gaps", "orders")["gaps"] == [] and client.call("audit", "orders")["good"]
    journal = daemon.stderr_file.read_text(errors="replace")
    assert f'advance of "orders", requested by user {os.getuid()}, process {os.getpid()}' in journal, journal


@pytest.mark.parametrize("kind", ["sqlite", "slot", "session"])
def test_WhatEveryHostHasAvailableIsWithdrawnAlsoOfOneThatWasDead(make_host, kind):
    hosts = [make_host(f"host-{number}") for number in range(3)]
    asked, other, dead = hosts
    issued = [number for host in hosts for number in take(host, 3)]
    held = {host: available(host)["available"] for host in hosts}
    assert all(held.values()), held
    dead.kill()
    told = int(asked.seqctl("advance", "orders", "--to", str(FAR), "--everywhere", "--yes").stdout)
    issued += take(asked, 3)
    assert min(issued[-3:]) >= FAR
    expect_soon("the other host looks", lambda: holds_nothing_below(other, FAR))
    # The ID with which the next lease begins. The hosts look every 200 ms, and one of them may have leased what is below it.
    for number in {FAR, told - 1} if told != FAR else set():
        answers = []
        for host in (asked, other):
            with host.connect(40) as client:
                answers.append(client.call("explain", "orders", number)["answer"])
        assert {"available", "issued"} & set(answers), (told, number, answers)
    dead.start()
    expect_soon("the host that was dead looks", lambda: holds_nothing_below(dead, FAR))
    for host in (other, dead):
        issued += take(host, 3)
        assert min(issued[-3:]) >= FAR
    assert len(set(issued)) == len(issued)
    for host in hosts:
        with host.connect(40) as client:
            gaps = ids_of_gaps(client, "orders")
            assert len(gaps) == held[host] and max(gaps) < FAR
            told = client.call("explain", "orders", gaps[0])
            assert (told["answer"], told["gap"]["cause"]) == ("gap", "superseded"), told
        assert "gap_superseded: [" in host.stderr()
        assert "superseded" in host.seqctl("gaps", "orders").stdout
        host.seqctl("audit", "orders")
    # It stays so, whoever is killed.
    for host in hosts:
        host.kill()
        host.start()
        assert min(take(host, 5)) >= FAR


@pytest.mark.parametrize("end", ["killed", "stopped"])
@pytest.mark.parametrize("kind", ["sqlite", "slot", "session"])
def test_AHostThatWasDownIssuesNothingBelowTheFloor(make_host, kind, end):
    asked, down = (make_host(f"host-{number}", poll="1h") for number in range(2))
    issued = take(asked, 3) + take(down, 3)
    held = available(down)["available"]
    assert held > 0
    if end == "killed":
        down.kill()
    else:
        down.terminate()
    asked.seqctl("advance", "orders", "--to", str(FAR), "--everywhere", "--yes")
    down.start()
    issued += take(down, 3) + take(asked, 3)
    assert min(issued[6:]) >= FAR and len(set(issued)) == len(issued), issued
    with down.connect(40) as client:
        assert len(ids_of_gaps(client, "orders")) == held


@pytest.mark.limit(180)
@pytest.mark.parametrize("reuse", ["never", "tail"])
@pytest.mark.parametrize("kind", ["sqlite", "slot", "session"])
def test_AdvancesUnderLoadAndKillsIssueNothingTwiceAndLoseNothing(make_host, scratch, kind, reuse):
    print(f"SEED={SEED}, {kind}")  # shown when the test fails
    random.seed(SEED)
    hosts = [make_host(f"host-{number}", reuse) for number in range(2)]
    loads = [RepeatingClients(host, scratch / f"load-{number}" / "ids", clients=2, depth=8)
             for number, host in enumerate(hosts)]
    ledger = Ledger("orders")
    for host in hosts:
        ledger.add(take(host, 1))
    for at in range(ROUNDS):
        host = hosts[at % 2]
        with contextlib.suppress(Closed, OSError):
            with host.connect() as client:
                client.request("advance", "orders", None, {"everywhere": True})
                if random.random() < 0.5:
                    client.request("drain", "orders", {"timeout_ms": 5_000})
                pid = os.pidfd_open(host.process.pid)
                harness.readable(random.uniform(0.0, 0.050), pid)
                os.close(pid)
        if random.random() < 0.5:
            host.kill()
            host.start()
    for load in loads:
        ledger.add(load.stop())
    ledger.assert_no_duplicate()
    with hosts[0].connect(40) as client:
        # The answer is where the next lease begins. One that came meanwhile is below that and above the floor, so the
        # floor is known when two answers are the same.
        floor, before = client.call("advance", "orders", None, {"everywhere": True}), None
        while floor != before:
            floor, before = client.call("advance", "orders", None, {"everywhere": True}), floor
    superseded = 0
    for host in hosts:
        expect_soon("the host looks", lambda host=host: holds_nothing_below(host, floor))
        expect_soon("it is drained", lambda host=host: drain(host))
        host.seqctl("audit", "orders")
        with host.connect(40) as client:
            ledger.add(ids_of_gaps(client, "orders"))
        superseded += host.stderr(1 << 24).count("gap_superseded: [")
    assert superseded > 0, "nothing was withdrawn"
    with hosts[0].connect(40) as client:
        end = client.call("audit", "orders")["store"]["next"]
    assert end >= floor
    ledger.assert_complete(1, end)


def drain(host):
    with contextlib.suppress(RpcError):
        with host.connect(40) as client:
            answer = client.call("drain", "orders", {"timeout_ms": 10_000})[0]
            return answer["error"] is None and answer["returning"] == 0 and answer["available"] == 0
    return False
