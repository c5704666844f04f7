"""The programs of MIGRATION.md, section "Programs in Python", before and after the move, beside each other on one real mongod: no ID
twice. And inserts with a unique field over kills of the daemon."""

import datetime
import re
import threading

import pymongo
import pytest

import seqd
from harness import PROJECT
from servers.mongod import wait_for
from servers.patience import PATIENCE
from takers import twice_and_holes

LONG = 60.0 * PATIENCE
EACH = 300  # IDs of a thread
DAILY = {"collection": "ids", "key_field": "prefix", "key": "{period}", "key_type": "integer", "counter_field": "count",
         "meaning": "last", "period": "%y%m%d", "time_zone": "UTC", "format": "{date:%y%m%d}{number:4}", "create_index": True}
SEQUENCES = {"userid": {"collection": "counters", "counter_field": "seq", "meaning": "last"}, "dailyids": DAILY,
             "people": {"mode": "insert", "collection": "people"}}


class Today(datetime.date):
    """The day of old programs that run in the zone of the configuration."""

    @classmethod
    def today(cls):
        return datetime.datetime.now(datetime.timezone.utc).date()


def programs(name):
    """The function of that name before and after the move."""
    section = (PROJECT / "daemon" / "doc" / "MIGRATION.md").read_text().split("## Programs in Python", 1)[1].split("\n## ", 1)[0]
    blocks = [block for block in re.findall(r"```python\n(.*?)```", section, re.S) if f"def {name}(" in block]
    found = []
    for block in blocks:
        names = {"pymongo": pymongo, "seqd": seqd, "datetime": type("datetime", (), {"date": Today})}
        exec(compile(block, "MIGRATION.md", "exec"), names)  # pylint: disable=exec-used
        found.append(names[name])
    before, after = found
    return before, after


@pytest.fixture
def database(mongo):
    mongo.client().drop_database("seqd")
    return mongo.client().seqd


@pytest.fixture
def shop(mongo, database, make_daemon):  # pylint: disable=unused-argument
    return make_daemon(stores={"mongo": {"type": "mongodb", "uri": mongo.uri(), "database": "seqd"}}, sequences=SEQUENCES).start()


def side_by_side(name, database, client, *arguments):
    """Four threads of the old program and four of the new one; the results of both."""
    before, after = programs(name)
    results, errors = ([], []), []

    def work(function, first, into):
        try:
            for number in range(EACH):
                into.append(function(first, *(one(number) for one in arguments)))
        except BaseException as error:  # pylint: disable=broad-except
            errors.append(error)

    threads = [threading.Thread(target=work, args=side) for _ in range(4)
               for side in ((before, database, results[0]), (after, client, results[1]))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LONG)
    assert not errors and [len(ids) for ids in results] == [4 * EACH, 4 * EACH]
    return results


@pytest.mark.limit(120)
def test_ACountersCollection(shop, database):
    with seqd.Client(shop.socket, timeout=LONG) as client:
        old, new = side_by_side("next_user_id", database, client)
    assert len(set(old + new)) == 8 * EACH


@pytest.mark.limit(120)
def test_ACounterADay(shop, database):
    with seqd.Client(shop.socket, timeout=LONG) as client:
        # The unique index that keeps two programs from two documents of one day comes with the first lease.
        client.next_text("dailyids")
        old, new = side_by_side("next_number", database, client)
    assert len(set(old + new)) == 8 * EACH and all(re.fullmatch(r"\d{6}\d{4,}", text) for text in old + new)


@pytest.mark.limit(180)
def test_AnOptimisticInsert(shop, database):
    with seqd.Client(shop.socket, timeout=LONG) as client:
        old, new = side_by_side("insert_person", database, client, lambda number: {"n": number})
    assert twice_and_holes(old + new) == (0, 0)
    assert database.people.count_documents({}) == 8 * EACH


@pytest.mark.limit(120)
def test_InsertsWithAUniqueFieldOverKills(shop, database, make_client):
    database.people.create_index("key", unique=True)
    client = make_client(shop.socket, timeout=LONG)
    told = {}
    failures = []

    def work():
        try:
            for number in range(40):
                keys = [f"{number}/{i}" for i in range(25)]
                for key in keys:
                    told[key] = client.insert("people", {"key": key, "at": datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc)},
                                              unique="key")
        except BaseException as error:  # pylint: disable=broad-except
            failures.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    kills = 0
    while thread.is_alive() and kills < 8:
        enough = len(told) + 60
        wait_for("documents", lambda enough=enough: len(told) >= enough or not thread.is_alive())
        if thread.is_alive():
            shop.kill()
            shop.start()
            kills += 1
    thread.join(LONG)
    assert not failures and kills >= 3
    there = {document["key"]: document["_id"] for document in database.people.find()}
    assert there == told and sorted(there.values()) == list(range(1, 1001))


def test_AnInsertReturnsTheErrorOfTheStore(shop, database, make_client):
    database.people.create_index("name", unique=True)
    client = make_client(shop.socket, timeout=LONG)
    assert client.insert("people", {"name": "Ada", "data": b"\x00\xff", "none": None, "list": [1, 2.5, {"deep": True}]}) == 1
    document = database.people.find_one({"_id": 1}, {"_id": 0})
    assert document == {"name": "Ada", "data": b"\x00\xff", "none": None, "list": [1, 2.5, {"deep": True}]}
    with pytest.raises(seqd.DocumentRefused, match="11000"):
        client.insert("people", {"name": "Ada"})
    with pytest.raises(seqd.DocumentRefused):
        client.insert("people", {"_id": 5})
    with pytest.raises(seqd.WrongMode):
        client.next("people")
    with pytest.raises(seqd.WrongMode):
        client.insert("userid", {"name": "Bob"})
