"""An instance that is decommissioned leaves nothing behind: on real stores, under load, with kill -9 at every step, and no copy of
its state ever issues what it issued."""

import contextlib
import json
import os
import random
import sqlite3

import pytest

import harness
from accounting import Ledger
from clients import RepeatingClients
from rpc import Closed, RpcError
from servers.mongod import expect_soon
from test_return import LEASES, Store, gaps, mongodb

KILLS = int(os.environ.get("DECOMMISSION_KILLS", "12"))
SEED = int(os.environ.get("SEED", str(random.SystemRandom().randrange(2**32))))
EXIT_DECOMMISSIONED = 80
EXIT_LOOKED = 4
EXIT_TRY_AGAIN = 75


@pytest.fixture(name="store", params=["sqlite", "slot", "session"])
def one_store_for_all(request, mongo, mongo_set, scratch):
    return Store(request.param, mongo, mongo_set, scratch)


def with_options(make_daemon, store, name="seqd", reuse="parked"):
    return make_daemon(name, stores=store.options, defaults=LEASES, sequences={"orders": {"reuse": reuse, "meaning": "last"}})


def decommission(daemon, *options, expect=0):
    return json.loads(daemon.seqctl("-o", "json", "decommission", *options, expect=expect, seconds=90).stdout)


def instance_of(daemon):
    return decommission(daemon, expect=EXIT_LOOKED)["stores"][0]["instance"]


def wait_for_claim(daemon):
    """A daemon that was started again has to be told by its store that the instance is still its own."""
    expect_soon("the claim", lambda: not decommission(daemon, expect=EXIT_LOOKED)["stores"][0]["error"])


def remains(store, instance):
    """How much the store knows of an instance."""
    if store.kind == "sqlite":
        with contextlib.closing(sqlite3.connect(store.path)) as file:
            count = lambda table, column: file.execute(  # noqa: E731
                f"SELECT count(*) FROM {table} WHERE {column} = ?", [bytes.fromhex(instance)]).fetchone()[0]
            return count("instance", "id") + count("lease", "instance") + count("total", "instance")
    database = store.server.client().seqd
    slots = [slot for document in database.counters.find({}) for slot in document.get("seqd", {}).get("slots", {})]
    return (database.seqd_instances.count_documents({"_id": instance, "epoch": {"$exists": True}})
            + database.seqd_leases.count_documents({"_id": {"$regex": f"^{instance}:"}})
            + sum(slot.startswith(instance) for slot in slots))


def assert_gone(daemon, store, instance):
    assert daemon.wait_exit() == EXIT_DECOMMISSIONED, daemon.stderr()
    assert sorted(path.name for path in daemon.state.iterdir()) == []
    # What this boot knows of an SQLite file stays, like the file.
    assert [path.name for path in daemon.witness.iterdir() if path.suffix != ".commits"] == []
    assert not daemon.socket.exists()
    assert remains(store, instance) == 0


def take(daemon, count):
    with daemon.connect(40) as client:
        return [client.next(timeout_ms=30_000) for _ in range(count)]


# --- one daemon ---------------------------------------------------------------------------------------------------------
def test_WithoutYesItIsOnlySaidWhatWouldBeDone(daemon):
    assert take(daemon, 3) == [1, 2, 3]
    said = daemon.seqctl("decommission", expect=EXIT_LOOKED).stdout
    assert "nothing was done" in said and "knows this instance" in said and "log.0" in said, said
    assert take(daemon, 1) == [4]
    daemon.seqctl("audit", "orders")


def test_WhatIsNotSeqdsAndWhatIsAStoreStaysAndIsNamed(daemon):
    assert take(daemon, 3) == [1, 2, 3]
    (daemon.state / "notes").write_text("of somebody else")
    (daemon.state / "log.0.damaged").write_text("set aside once")
    answer = decommission(daemon, "--yes")
    assert daemon.wait_exit() == EXIT_DECOMMISSIONED
    assert sorted(path.name for path in daemon.state.iterdir()) == ["notes", "sequences.db"]
    assert str(daemon.state / "notes") in answer["left"] and str(daemon.state / "log.0.damaged") in answer["removed"]
    assert answer["sequences"][0]["issued"] == 3 and answer["sequences"][0]["gaps"] == 7, answer
    assert "decommissioned: " in daemon.stderr()


def test_TheHistoryCanBeKept(daemon):
    assert take(daemon, 3) == [1, 2, 3]
    decommission(daemon, "--yes", "--keep-history")
    assert daemon.wait_exit() == EXIT_DECOMMISSIONED
    with contextlib.closing(sqlite3.connect(daemon.state / "history.db")) as history:
        assert history.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    daemon.start()
    assert take(daemon, 1) == [11]
    daemon.seqctl("audit", "orders")


def test_ADaemonThatIsStartedThereIsANewInstance(make_daemon, store):
    daemon = with_options(make_daemon, store).start()
    assert take(daemon, 3) == [1, 2, 3]
    instance = instance_of(daemon)
    decommission(daemon, "--yes")
    assert_gone(daemon, store, instance)
    daemon.start()
    assert take(daemon, 1) == [4]  # parked, so the first that is leased again
    with daemon.connect() as client:
        assert client.call("status")["state_how"] == "fresh"
    assert instance_of(daemon) != instance
    assert remains(store, instance) == 0


def test_RequestsThatWaitHearThatTheDaemonGoes(make_daemon, mongo):
    mongo.client().drop_database("seqd")
    stores = {"mongo": {**mongodb(mongo, "slot")["mongo"], "timeout": "500ms"}}
    daemon = make_daemon(stores=stores, defaults=LEASES, sequences={"orders": {"reuse": "parked", "meaning": "last"}}).start()
    assert take(daemon, 3) == [1, 2, 3]
    with daemon.connect(40) as client, daemon.connect(60) as operator:
        with mongo.fail_point("failCommand", {"failCommands": ["findAndModify"], "closeConnection": True}):
            decommissioned = operator.request("decommission", {"confirm": True, "timeout_ms": 30_000})
            expect_soon("the first return", lambda: "return_failed: " in daemon.stderr())
            assert client.error("next", "orders").code == "STOPPING"
            assert client.error("next", "never-seen").code == "STOPPING"
        if operator.result(decommissioned)["end"] != "done":  # the store was slow behind its fault, too
            expect_soon("done", lambda: decommission(daemon, "--yes", expect=None)["end"] == "done")
    assert daemon.wait_exit() == EXIT_DECOMMISSIONED


# --- a store that is away -----------------------------------------------------------------------------------------------
@pytest.mark.limit(90)
def test_AStoreThatIsAwayRefusesAndTheDaemonGoesOn(make_daemon, mongo):
    mongo.client().drop_database("seqd")
    stores = {"mongo": {**mongodb(mongo, "slot")["mongo"], "timeout": "500ms"}}
    daemon = make_daemon(stores=stores, defaults=LEASES, sequences={"orders": {"reuse": "never", "meaning": "last"}}).start()
    assert take(daemon, 3) == [1, 2, 3]
    with mongo.fail_point("failCommand", {"failCommands": ["find", "findAndModify"], "closeConnection": True}):
        answer = decommission(daemon, "--yes", expect=EXIT_TRY_AGAIN)
        assert answer["end"] == "refused" and answer["stores"][0]["error"], answer
        assert take(daemon, 3) == [4, 5, 6]
    assert gaps(daemon) == []
    expect_soon("done", lambda: decommission(daemon, "--yes", expect=None)["end"] == "done")
    assert daemon.wait_exit() == EXIT_DECOMMISSIONED


@pytest.mark.limit(90)
def test_WhatCannotBeReturnedInTimeIsNamedAndTheDaemonGoesOn(make_daemon, mongo):
    mongo.client().drop_database("seqd")
    stores = {"mongo": {**mongodb(mongo, "slot")["mongo"], "timeout": "500ms"}}
    daemon = make_daemon(stores=stores, defaults=LEASES, sequences={"orders": {"reuse": "parked", "meaning": "last"}}).start()
    assert take(daemon, 3) == [1, 2, 3]
    instance = instance_of(daemon)
    with mongo.fail_point("failCommand", {"failCommands": ["findAndModify"], "closeConnection": True}):
        def refused():
            answer = decommission(daemon, "--yes", "--timeout", "2", expect=EXIT_TRY_AGAIN)
            assert answer["end"] == "refused", answer
            return answer["sequences"][0]["returning"] > 0

        expect_soon("a return", refused)  # a slow look at the store is refused before it
    assert not (daemon.state / "retiring").exists()
    assert mongo.client().seqd.seqd_instances.count_documents({"_id": instance}) == 1
    ids = take(daemon, 3)
    assert len(set(ids) | {1, 2, 3}) == 6
    daemon.seqctl("audit", "orders")


@pytest.mark.limit(90)
def test_BehindTheMarkTheDaemonRefusesUntilTheStoreHasForgotten(make_daemon, mongo):
    mongo.client().drop_database("seqd")
    stores = {"mongo": {**mongodb(mongo, "slot")["mongo"], "timeout": "2s"}}
    daemon = make_daemon(stores=stores, defaults=LEASES, sequences={"orders": {"reuse": "never", "meaning": "last"}}).start()
    assert take(daemon, 3) == [1, 2, 3]
    instance = instance_of(daemon)
    with mongo.fail_point("failCommand", {"failCommands": ["findAndModify"], "closeConnection": True}):
        expect_soon("the mark", lambda: decommission(daemon, "--yes", expect=EXIT_TRY_AGAIN)["end"] == "unfinished")
    assert (daemon.state / "retiring").exists()
    for how in (lambda: None, daemon.restart, lambda: (daemon.kill(), daemon.start())):
        how()
        with daemon.connect() as client:
            assert client.error("next", "orders").code == "STOPPING"
    assert "retiring: " in daemon.stderr()
    wait_for_claim(daemon)
    answer = decommission(daemon, "--yes")
    assert answer["end"] == "done"
    assert daemon.wait_exit() == EXIT_DECOMMISSIONED
    assert list(daemon.state.iterdir()) == []
    assert mongo.client().seqd.seqd_instances.count_documents({"epoch": {"$exists": True}}) == 0
    assert instance in {one["instance"] for one in answer["stores"]}


# --- two daemons on one sequence ----------------------------------------------------------------------------------------
def add_gaps(ledger, answer):
    """What a decommission made gaps of; other gaps are asked for before it."""
    for first, count in answer["sequences"][0]["gaps_now"]:
        ledger.add_range(first, first + count)


def assert_accounted(ledger, store):
    for begin, end in store.parked():
        ledger.add_range(begin, end)
    ledger.assert_complete(1, store.next_id())


@pytest.mark.limit(90)
@pytest.mark.parametrize("reuse", ["parked", "never"])
def test_UnderLoadNothingOfTheInstanceStaysAndTheOtherDaemonGoesOn(make_daemon, store, scratch, reuse):
    leaving, staying = [with_options(make_daemon, store, f"seqd-{i}", reuse).start() for i in range(2)]
    ledger = Ledger("orders")
    ledger.add(take(leaving, 1))
    loads = [RepeatingClients(daemon, scratch / f"load-{i}" / "ids", clients=2, depth=8)
             for i, daemon in enumerate((leaving, staying))]
    ledger.add(take(leaving, 500))
    ledger.add(take(staying, 500))
    instance = instance_of(leaving)
    answer = decommission(leaving, "--yes")
    assert_gone(leaving, store, instance)
    part = answer["sequences"][0]
    assert part["leased"] == part["issued"] + part["returned"] + part["gaps"] and part["available"] == 0, part
    assert part["leased"] > 0 and (reuse == "parked" or part["returned"] == 0), part  # its load may have emptied it
    add_gaps(ledger, answer)
    ledger.add(take(staying, 500))
    staying.seqctl("audit", "orders")
    leaving.start()  # another instance, which the clients of the former find
    ledger.add(take(leaving, 1))
    for load in loads:
        ledger.add(load.stop())
    given_up = 0
    for daemon in (leaving, staying):
        ledger.add(take(daemon, 1))
        daemon.seqctl("audit", "orders")
        instance = instance_of(daemon)
        answer = decommission(daemon, "--yes")
        given_up += answer["sequences"][0]["returned" if reuse == "parked" else "gaps"]
        add_gaps(ledger, answer)
        assert_gone(daemon, store, instance)
    assert given_up > 0
    assert_accounted(ledger, store)


# --- killed in the middle -----------------------------------------------------------------------------------------------
def begin_decommission(daemon, seconds):
    """Asks for it, and waits so long at most, or until the daemon has ended."""
    with contextlib.suppress(Closed, OSError):
        with daemon.connect() as client:
            client.request("decommission", {"confirm": True, "timeout_ms": 5_000})
            pid = os.pidfd_open(daemon.process.pid)
            harness.readable(seconds, pid)
            os.close(pid)


@pytest.mark.limit(180)
def test_KilledAtAnyMomentItIsRepeatedAndNothingIsIssuedTwice(make_daemon, store, scratch):
    print(f"SEED={SEED}")  # shown when the test fails
    random.seed(SEED)
    leaving, staying = [with_options(make_daemon, store, f"seqd-{i}").start() for i in range(2)]
    ledger = Ledger("orders")
    loads = [RepeatingClients(daemon, scratch / f"load-{i}" / "ids", clients=2, depth=8)
             for i, daemon in enumerate((leaving, staying))]
    known, marked, ended = set(), 0, 0
    for _ in range(KILLS):
        ledger.add(take(staying, 1))
        wait_for_claim(leaving)
        known.add(instance_of(leaving))
        begin_decommission(leaving, random.uniform(0.0, random.choice((0.02, 0.1, 2.0))))
        if leaving.running():
            leaving.kill()
        else:
            ended += 1
            leaving.wait_exit()
        marked += (leaving.state / "retiring").exists()
        leaving.start()
    print(f"{marked} kills behind the mark, {ended} decommissions came to their end, {len(known)} instances")
    if (leaving.state / "retiring").exists():
        with leaving.connect() as client:
            assert client.error("next", "orders").code == "STOPPING"
        wait_for_claim(leaving)
        known.add(instance_of(leaving))
        decommission(leaving, "--yes")
        leaving.wait_exit()
        leaving.start()
    for load in loads:
        ledger.add(load.stop())
    wait_for_claim(leaving)
    for daemon in (leaving, staying):
        known.add(instance_of(daemon))
        for begin, end in gaps(daemon):
            ledger.add_range(begin, end)
        add_gaps(ledger, decommission(daemon, "--yes"))
        assert daemon.wait_exit() == EXIT_DECOMMISSIONED
        assert list(daemon.state.iterdir()) == []
    assert {instance: remains(store, instance) for instance in known} == dict.fromkeys(known, 0)
    assert_accounted(ledger, store)


STEPS = ["renameat", "unlink,rmdir", "fsync"]


@pytest.mark.limit(240)
@pytest.mark.parametrize("calls", STEPS)
def test_KilledAtEveryStepOfTheFilesItIsRepeatedAndLeavesNothing(make_daemon, mongo, mongo_set, scratch, calls):
    """strace ends the daemon before the n-th of those calls, for every n: the mark, the files, the directory."""
    store = Store("sqlite", mongo, mongo_set, scratch)
    issued, known = [], set()
    for number in range(1, 60):
        daemon = with_options(make_daemon, store, f"seqd-{number}", "parked")
        daemon.start()
        issued += take(daemon, 3)
        known.add(instance_of(daemon))
        daemon.terminate()
        daemon.prefix = ["strace", "-D", "-f", "-qq", "-o", "/dev/null", "-e", f"trace={calls}", "-e",
                         f"inject={calls}:signal=KILL:when={number}"]
        daemon.spawn()
        with contextlib.suppress(harness.Died, Closed, OSError):
            daemon.wait_ready()
            with daemon.connect() as client:
                expect_soon("the claim", lambda: not client.call("decommission")["stores"][0]["error"])  # pylint: disable=cell-var-from-loop
        begin_decommission(daemon, harness.STOP_SECONDS)
        code = daemon.wait_exit()
        daemon.prefix = []
        if code == EXIT_DECOMMISSIONED:
            break
        daemon.start()
        marked = (daemon.state / "retiring").exists()
        if marked:
            with daemon.connect() as client:
                assert client.error("next", "orders").code == "STOPPING"
        else:
            issued += take(daemon, 1)
        wait_for_claim(daemon)
        known.add(instance_of(daemon))
        decommission(daemon, "--yes")
        assert daemon.wait_exit() == EXIT_DECOMMISSIONED
        assert list(daemon.state.iterdir()) == []
    assert code == EXIT_DECOMMISSIONED and number > 1
    print(f"{number - 1} kills")
    assert len(issued) == len(set(issued))
    assert {instance: remains(store, instance) for instance in known} == dict.fromkeys(known, 0)


# --- copies of its state ------------------------------------------------------------------------------------------------
def copy_of(daemon, make_daemon, store, name):
    copy = with_options(make_daemon, store, name)
    copy.state.rmdir()
    harness.copy_state(daemon.state, copy.state)
    return copy


@pytest.mark.limit(120)
def test_NoCopyOfItsStateIssuesWhatItIssued(make_daemon, store):
    """Copied clean, copied live, copied in the middle of its decommission: all give up what they find, and none takes the name
    of the instance that has gone."""
    origin = with_options(make_daemon, store, "origin", "never").start()
    issued = take(origin, 3)
    origin.terminate()
    copies = [copy_of(origin, make_daemon, store, "clean")]
    origin.start()
    issued += take(origin, 60)  # what the copy found available, and more
    copies.append(copy_of(origin, make_daemon, store, "live"))
    instance = instance_of(origin)
    decommission(origin, "--yes")
    assert_gone(origin, store, instance)
    for copy in copies:
        copy.start()
        issued += take(copy, 60)
        assert instance_of(copy) != instance
        copy.restart()
        issued += take(copy, 60)
        assert remains(store, instance) == 0
        copy.seqctl("audit", "orders")
    assert len(issued) == len(set(issued))


@pytest.mark.limit(120)
def test_AnOlderStatePutBackInItsPlaceIsGivenUp(make_daemon, store):
    origin = with_options(make_daemon, store, "origin", "never").start()
    issued = take(origin, 3)
    backups = [copy_of(origin, make_daemon, store, "live")]
    origin.terminate()
    backups.append(copy_of(origin, make_daemon, store, "clean"))
    origin.start()
    issued += take(origin, 60)
    instance = instance_of(origin)
    decommission(origin, "--yes")
    assert_gone(origin, store, instance)
    for backup in backups:
        for path in backup.state.iterdir():
            (origin.state / path.name).write_bytes(path.read_bytes())
        origin.start()
        issued += take(origin, 60)
        assert instance_of(origin) != instance and remains(store, instance) == 0
        decommission(origin, "--yes")
        assert origin.wait_exit() == EXIT_DECOMMISSIONED
    assert len(issued) == len(set(issued))


@pytest.mark.limit(120)
def test_CopiesOfAnImageThatNeverReachedItsStoreAreInstancesOfTheirOwn(make_daemon, mongo):
    """A golden image: started once without its store. If its copies had one name, a copy could bring back the name of one that
    has gone, and with it the epoch that an older copy of that one claims."""
    mongo.client().drop_database("seqd")
    stores = mongodb(mongo, "slot")
    sequences = {"orders": {"reuse": "never", "meaning": "last"}}
    impatient = {"mongo": {**stores["mongo"], "timeout": "500ms"}}
    image = make_daemon("image", stores=impatient, defaults=LEASES, sequences=sequences)
    with mongo.fail_point("failCommand", {"failCommands": ["find", "findAndModify"], "closeConnection": True}):
        image.start()
        expect_soon("a claim that fails", lambda: "store_down: " in image.stderr())
        image.terminate()
    copies = []
    for name in ("first", "second"):
        copy = make_daemon(name, stores=stores, defaults=LEASES, sequences=sequences)
        copy.state.rmdir()
        harness.copy_state(image.state, copy.state)
        copies.append(copy)
    first, second = copies
    issued = take(first.start(), 3)
    gone = instance_of(first)
    first.terminate()
    old = make_daemon("old", stores=stores, defaults=LEASES, sequences=sequences)
    old.state.rmdir()
    harness.copy_state(first.state, old.state)
    issued += take(first.start(), 60)
    decommission(first, "--yes")
    assert first.wait_exit() == EXIT_DECOMMISSIONED
    issued += take(second.start(), 3)
    assert instance_of(second) != gone
    issued += take(old.start(), 60)
    assert instance_of(old) != gone
    assert len(issued) == len(set(issued))
