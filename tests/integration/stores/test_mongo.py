"""Four daemons and four foreign writers on the same documents of a real server: a million IDs, each accounted for."""

import multiprocessing
from array import array

import msgpack
import pymongo
import pytest
from bson import Int64
from pymongo import MongoClient, ReturnDocument

from accounting import Ledger
from clients import Process, drain, take
from rpc import RpcError

IDS_FROM_DAEMONS = 1_000_000
DAEMONS = 4
LEAST_FOREIGN = 300
SEQUENCES = {
    # The counters collection: `seq` is the last ID.
    "orders": {"collection": "counters", "counter_field": "seq", "meaning": "last"},
    # The cached block of the Go code: `sequence` is the last ID.
    "events": {"collection": "blocks", "counter_field": "sequence", "meaning": "last"},
    # The cached range of the Node code: `index` is the next ID, made with 1000.
    "tickets": {"collection": "ids", "counter_field": "index", "meaning": "next", "create_counter": False},
}
LEASES = {"lease_min": 100, "lease_max": 1000, "max_available": 4000}
FIRST = {"orders": 1, "events": 1, "tickets": 1000}


def stores(server, **options) -> dict:
    return {"mongo": {"type": "mongodb", "uri": server.uri(), "database": "seqd", **options}}


def foreign_writer(uri: str, name: str, amount: int, stop) -> array:
    """What the old code does, until it is told to stop and has done some; returns the IDs it would have handed out."""
    binding = SEQUENCES[name]
    field, ids = binding["counter_field"], array("q")
    with MongoClient(uri) as client:
        documents = client.seqd[binding["collection"]]
        while not stop.is_set() or len(ids) < LEAST_FOREIGN:
            try:
                after = documents.find_one_and_update({"_id": name}, {"$inc": {field: amount}}, upsert=name != "tickets",
                                                      return_document=ReturnDocument.AFTER)[field]
            except pymongo.errors.DuplicateKeyError:
                continue  # an upsert race, as the old code handles it
            last = after - 1 if binding["meaning"] == "next" else after
            ids.extend(range(last - amount + 1, last + 1))
    return ids


@pytest.mark.limit(120)
@pytest.mark.parametrize("kind,mode", [("alone", "slot"), ("alone", "plain"), ("set", "session")])
def test_FourDaemonsAndFourForeignWritersShareTheDocuments(mongo, mongo_set, make_daemon, kind, mode):
    mongo = mongo if kind == "alone" else mongo_set
    mongo.client().drop_database("seqd")
    mongo.client().seqd.ids.insert_one({"_id": "tickets", "index": 1000})
    daemons = [make_daemon(f"seqd-{i}", stores=stores(mongo, lease_mode=mode), defaults=LEASES, sequences=SEQUENCES).start()
               for i in range(DAEMONS)]
    stop = multiprocessing.Event()
    writers = [(name, Process(foreign_writer, mongo.uri(), name, amount, stop))
               for name, amount in (("orders", 1), ("orders", 1), ("events", 25), ("tickets", 10))]
    each = -(-IDS_FROM_DAEMONS // (DAEMONS * len(SEQUENCES)))
    takers = [(name, Process(take, str(daemon.socket), name, each)) for daemon in daemons for name in SEQUENCES]
    ledgers = {name: Ledger(name) for name in SEQUENCES}
    for name, taker in takers:
        ledgers[name].add(taker.result())
    stop.set()
    foreign = 0
    for name, writer in writers:
        ids = writer.result()
        foreign += len(ids)
        ledgers[name].add(ids)
    assert foreign >= 4 * LEAST_FOREIGN
    for daemon in daemons:
        daemon.terminate()
    issued = sum(ledger.count for ledger in ledgers.values())
    assert issued >= IDS_FROM_DAEMONS + foreign
    for daemon in daemons:  # what they have left comes first after the restart
        daemon.start()
    ends = counters(mongo)
    for daemon in daemons:
        for name, ledger in ledgers.items():
            ledger.add(drain(daemon, name))
    print(f"{issued} IDs, {foreign} of them by foreign writers")
    for name, ledger in ledgers.items():
        ledger.assert_complete(FIRST[name], ends[name])


def counters(server) -> dict:
    """The next ID of each document."""
    database = server.client().seqd
    ends = {}
    for name, binding in SEQUENCES.items():
        value = database[binding["collection"]].find_one({"_id": name})[binding["counter_field"]]
        ends[name] = value + (1 if binding["meaning"] == "last" else 0)
    return ends


def test_FieldsOfOthersStayInTheDocument(mongo, make_daemon):
    mongo.client().seqd.counters.insert_one({"_id": "kept", "seq": 41, "__v": 0, "note": "theirs"})
    daemon = make_daemon(stores=stores(mongo), sequences={"kept": {"meaning": "last"}}).start()
    with daemon.connect() as client:
        assert client.next("kept") == 42
    document = mongo.client().seqd.counters.find_one({"_id": "kept"})
    assert document["note"] == "theirs" and document["__v"] == 0 and isinstance(document["seq"], Int64)


def test_AnExistingNumberWithoutAMeaningIsRefused(mongo, make_daemon):
    mongo.client().seqd.counters.insert_one({"_id": "unsaid", "seq": 41})
    daemon = make_daemon(stores=stores(mongo)).start()
    with daemon.connect() as client:
        assert client.error("next", "unsaid").code == "SEQ_MEANING"
    assert mongo.client().seqd.counters.find_one({"_id": "unsaid"})["seq"] == 41


@pytest.mark.parametrize("value", ["41", None, 1.5, float("nan"), [1], {"a": 1}, True], ids=repr)
def test_ANumberThatIsNoneIsRefusedAndStays(mongo, make_daemon, value):
    name = f"type-{type(value).__name__}-{value}".translate(str.maketrans("[]{}': ", "-------"))
    mongo.client().seqd.counters.insert_one({"_id": name, "seq": value})
    daemon = make_daemon(stores=stores(mongo), sequences={name: {"meaning": "last"}}).start()
    with daemon.connect() as client:
        assert client.error("next", name).code == "SEQ_TYPE"
    assert repr(mongo.client().seqd.counters.find_one({"_id": name})["seq"]) == repr(value)


@pytest.mark.parametrize("way", ["advance", "reload"])
def test_ANumberThatWasMendedIsLeasedAtOnce(mongo, make_daemon, way):
    name = f"mended-{way}"
    documents = mongo.client().seqd.counters
    documents.insert_one({"_id": name, "seq": "7000"})
    daemon = make_daemon(stores=stores(mongo), sequences={name: {"meaning": "last"}}).start()
    with daemon.connect() as client:
        for _ in range(5):  # the next try is put off further each time
            assert client.error("next", name).code == "SEQ_TYPE"
        documents.update_one({"_id": name}, {"$set": {"seq": 7000}})
        if way == "advance":
            assert client.call("advance", name) == 7001
        else:
            assert client.call("reload")["restart_needed"] == []
        assert client.next(name) == 7001


@pytest.mark.parametrize("harm", ["lowered", "deleted"])
def test_ACounterThatWentBackStopsTheSequence(mongo, make_daemon, harm):
    name = f"back-{harm}"
    daemon = make_daemon(stores=stores(mongo), defaults={**LEASES, "lease_max": 100, "max_available": 300},
                         sequences={name: {"meaning": "last"}}).start()
    ledger = Ledger(name)
    with daemon.connect() as client:
        ledger.add(client.many(name, 1000))
        documents = mongo.client().seqd.counters
        if harm == "lowered":
            documents.update_one({"_id": name}, {"$set": {"seq": Int64(5)}})
        else:
            documents.delete_one({"_id": name})
        for number in range(10_000, 12_000):  # what is available goes on being issued, then the sequence stops
            client.send(msgpack.packb([0, number, "next", [name]]))
        codes = set()
        for _ in range(2000):
            _, error, result = client.read_reply()
            if error:
                codes.add(error[1].split(":")[0])
            else:
                ledger.add([result])
        assert codes == {"SEQ_REGRESSED"}
        assert client.call("ping") == "pong"
        assert [row["state"] for row in client.call("list") if row["name"] == name] == ["stopped"]
        next_id = int(daemon.seqctl("advance", name, "--yes").stdout)
        assert next_id > ledger.highest()
        ledger.add(client.many(name, 500))
    assert ledger.highest() >= next_id
    ledger.assert_no_duplicate()


@pytest.mark.parametrize("stop", ["terminate", "kill"])
def test_ACounterLoweredBetweenTwoStartsStopsTheSequence(mongo, make_daemon, stop):
    """The high-water mark is in the log: it survives the restart."""
    name = f"lowered-before-{stop}"
    daemon = make_daemon(stores=stores(mongo), defaults={**LEASES, "lease_max": 100, "max_available": 300},
                         sequences={name: {"meaning": "last"}}).start()
    ledger = Ledger(name)
    with daemon.connect() as client:
        ledger.add(client.many(name, 1000))
    getattr(daemon, stop)()
    mongo.client().seqd.counters.update_one({"_id": name}, {"$set": {"seq": Int64(5)}})
    daemon.start()
    codes = set()
    with daemon.connect() as client:
        for _ in range(1000):
            try:
                ledger.add([client.next(name)])
            except RpcError as error:
                codes.add(error.code)
                break
        assert codes == {"SEQ_REGRESSED"}
        assert client.call("advance", name, 5000) == 5000
        ledger.add(client.many(name, 500))
        with pytest.raises(RpcError, match="below"):
            client.call("advance", name, 100)
    assert ledger.highest() >= 5000
    ledger.assert_no_duplicate()
