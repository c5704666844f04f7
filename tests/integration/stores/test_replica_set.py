"""A replica set of three that loses its primary under load: no duplicate, nothing missing, no error while a range lasts."""

import contextlib

import pymongo
import pytest

from accounting import Ledger
from clients import Process, RepeatingClients, drain
from disturbance import Measure, Watchers
from inserting import check_documents, insert
from rpc import ids_of
from servers.mongod import replica_set, wait_for

SEQUENCES = {"orders": {"meaning": "last"}}
LEASES = {"lease_min": 500_000, "lease_max": 1_000_000, "max_available": 4_000_000}  # lasts longer than an election
PATIENCE = {"timeout_ms": 30_000}


@pytest.fixture(scope="module", name="three_servers")
def start_three_servers():
    with replica_set(auth=True) as servers:
        yield servers


@pytest.fixture(name="servers")
def healthy_servers(three_servers):
    """All three are there, whatever the test before left behind."""
    three_servers.restart_dead()
    three_servers.wait_until_healthy()
    wait_for("an empty database", lambda: three_servers.client().drop_database("seqd") or True)
    return three_servers


def daemon_options(servers, leases=None, **options) -> dict:
    return {"stores": {"mongo": {"type": "mongodb", "uri": servers.uri(), "database": "seqd", "timeout": "5s", **options}},
            "defaults": leases or LEASES, "sequences": SEQUENCES}


def step_down(servers) -> None:
    servers.step_down(2)


def kill_primary(servers) -> None:
    servers.kill_primary()
    servers.primary()


def disturb(servers, daemons, control, measure: Measure, how, round_name: str, ledger: Ledger) -> None:
    for daemon in daemons:  # so that each has an available range
        with daemon.connect() as client:
            ledger.add([client.next("orders", **PATIENCE)])
    watchers = Watchers(measure, {daemon.name: (daemon, "orders") for daemon in daemons}, control, batch=8)
    with measure.round():
        how(servers)
        for number, daemon in enumerate(daemons):  # a lease of a sequence without a range: served when the store is back
            with daemon.connect(40) as client:
                assert client.next(f"{round_name}-{number}", **PATIENCE) == 1
    for ids in watchers.finish().values():
        ledger.add(ids)
    for daemon in daemons:  # past what is available: the sequence itself has to get a lease again
        with daemon.connect(40) as client:
            left = client.call("peek", "orders")["available"]
            while left >= 0:
                part = min(left + 1, 100_000)
                ledger.add(ids_of(client.call("range", "orders", part, PATIENCE)))
                left -= part


@pytest.mark.limit(120)
def test_LossOfThePrimaryUnderLoadIsNotNoticed(servers, make_daemon):
    daemons = [make_daemon(f"seqd-{i}", **daemon_options(servers)).start() for i in range(2)]
    control = make_daemon("control").start()
    measure = Measure()
    total = Ledger("orders")
    for number, how in enumerate([step_down, kill_primary, step_down]):
        disturb(servers, daemons, control, measure, how, f"round-{number}", total)
        total.assert_no_duplicate()
        servers.restart_dead()
        servers.wait_until_healthy()
    measure.judge()
    for daemon in daemons:
        daemon.terminate()
    end = servers.client().seqd.counters.find_one({"_id": "orders"})["seq"] + 1
    for daemon in daemons:
        daemon.start()
        total.add(drain(daemon, "orders"))
    total.assert_complete(1, end)


@pytest.mark.limit(120)
@pytest.mark.parametrize("mode", ["session", "slot"])
def test_DaemonAndPrimaryKilledTogetherLoseNothing(servers, make_daemon, scratch, mode):
    """Small leases, so that one is nearly always under way when either is killed."""
    daemon = make_daemon(**daemon_options(servers, {"lease_min": 100, "lease_max": 2000, "max_available": 8000,
                                                    "wait_timeout": "30s"}, lease_mode=mode)).start()
    ledger = Ledger("orders")
    for number in range(3):
        load = RepeatingClients(daemon, scratch / f"round-{number}" / "ids", clients=4, depth=16)
        with daemon.connect(40) as client:
            ledger.add([client.next("orders", **PATIENCE)])
        servers.kill_primary()
        daemon.kill()
        daemon.start()
        load.wait_for_more(1000)  # which needs leases of the next primary
        ledger.add(load.stop())
        servers.restart_dead()
        servers.wait_until_healthy()
    daemon.terminate()
    end = servers.client().seqd.counters.find_one({"_id": "orders"})["seq"] + 1
    daemon.start()
    ledger.add(drain(daemon, "orders"))
    ledger.assert_complete(1, end)


@pytest.mark.limit(180)
def test_LossOfThePrimaryWhileDocumentsAreInsertedLeavesNoGap(servers, make_daemon):
    daemons = [make_daemon(f"seqd-{i}", **{**daemon_options(servers), "sequences": {"people": {"mode": "insert", "collection": "people"}}}).start()
               for i in range(2)]
    collection = servers.client().seqd.people
    clients = {daemon.name: Process(insert, str(daemon.socket), "people", daemon.name, 30_000) for daemon in daemons}
    for how in (step_down, kill_primary, step_down):
        enough = collection.estimated_document_count() + 3_000
        # The first round has 60,000 to come; those that follow may find all of them there.
        wait_for("documents", lambda enough=enough: collection.estimated_document_count() > enough
                 or all(client.pipe.poll() for client in clients.values()), 60)
        how(servers)
        servers.restart_dead()
        servers.wait_until_healthy()
    told = {name: client.result() for name, client in clients.items()}
    assert sum(len(one.answered) + len(one.unknown) for one in told.values()) == 60_000
    check_documents(list(collection.find({}, {"by": 1, "n": 1})), told, [])


def take_one(collection, name: str) -> int:
    """What an application does that takes each ID from the counter itself, without asking for a majority."""
    return collection.find_one_and_update({"_id": name}, {"$inc": {"seq": 1}}, upsert=True,
                                          return_document=pymongo.ReturnDocument.AFTER)["seq"]


@pytest.mark.limit(120)
@pytest.mark.parametrize("mode", ["session", "slot"])
def test_AWriteThatIsRolledBackIsADuplicateForOthersAndNotForUs(servers, make_daemon, mode):
    """w:1 on a primary that is cut off and replaced: the old code's IDs come twice, seqd waits and gives none twice."""
    daemon = make_daemon(**daemon_options(servers, {"lease_min": 100, "lease_max": 100, "max_available": 200}, lease_mode=mode,
                                          )).start()
    ours = Ledger("orders")
    with daemon.connect(40) as client:
        ours.add(client.many("orders", 50))
    old = servers.client(w=1).seqd.counters
    theirs = [take_one(old, "theirs")]
    primary, secondaries = servers.primary(), servers.secondaries()
    asked = []
    with contextlib.ExitStack() as cut:
        for node in secondaries:  # they go on voting, and get no write of the primary any more
            cut.enter_context(node.fail_point("rsSyncApplyStop"))
            cut.enter_context(node.fail_point("stopReplProducer"))
        theirs += [take_one(old, "theirs") for _ in range(10)]
        with daemon.connect(40) as client:
            for _ in range(4):  # what is available, and then none: no majority confirms a lease
                client.request("range", "orders", 50, {"timeout_ms": 1000})
                asked.append(client.read_reply())
            state = client.call("status")["stores"][0]
        assert state["lease_mode"] == mode
        primary.kill()
    granted = [runs for _, error, runs in asked if error is None]
    assert len(granted) < len(asked) and all(error is None or error[1].startswith("UNAVAILABLE") for _, error, _ in asked)
    for runs in granted:
        ours.add(ids_of(runs))
    assert servers.primary() is not primary  # else it may come back first, win, and roll nothing back
    primary.start(wait=False)
    servers.wait_until_healthy()
    again = servers.client(w=1).seqd.counters
    theirs += [take_one(again, "theirs") for _ in range(10)]
    assert len(set(theirs)) < len(theirs), "nothing was rolled back, so this shows nothing"
    with daemon.connect(60) as client:
        for _ in range(20):
            ours.add(ids_of(client.call("range", "orders", 50, PATIENCE)))
    daemon.terminate()
    end = servers.client().seqd.counters.find_one({"_id": "orders"})["seq"] + 1
    daemon.start()
    ours.add(drain(daemon, "orders"))
    ours.assert_complete(1, end)
