"""Sequences with start, increment, min, max and cycle on the real daemon: SQLite and MongoDB, kill -9, the end, the cycle."""

import contextlib
import itertools
import json
import re

import pytest

from servers.mongod import expect_soon

IDENTITY = bytes(range(16))
FIVES = {"start": -10, "increment": 5, "min": -10, "max": 1000}


def take(client, name, count):
    return [client.next(name) for _ in range(count)]


def values(runs):
    return [first + i * step for first, count, step in runs for i in range(count)]


def request(connection, number, method, *params):
    """The answer to that request number, for the first time or again."""
    connection.ids = itertools.count(number)
    return connection.call(method, *params)


def test_ValuesGoByTheIncrementAndEndAtTheLast(make_daemon):
    daemon = make_daemon(sequences={"few": {**FIVES, "max": 12}, "down": {"increment": -1, "min": -3}}).start()
    with daemon.connect() as client:
        assert take(client, "few", 2) == [-10, -5]
        assert client.call("range", "few", 3) == [[0, 3, 5]]
        assert take(client, "down", 3) == [-1, -2, -3]
        for name, last in (("few", "10"), ("down", "-3")):
            error = client.error("next", name)
            assert (error.code, error.fault) == ("EXHAUSTED", 0) and f"has issued {last}, its last value" in error.text
        assert client.call("peek", "down") == {"next": None, "available": 0, "last": -3}


def test_CycleGoesOnThroughRestartsAndKills(make_daemon):
    daemon = make_daemon(sequences={"round": {"start": 95, "min": 1, "max": 100, "cycle": True}}).start()
    expected = itertools.chain(range(95, 101), itertools.cycle(range(1, 101)))
    for end in (daemon.kill, daemon.terminate, daemon.kill, daemon.terminate):
        with daemon.connect() as client:
            runs = client.call("range", "round", 70)
            assert all(first + count - 1 <= 100 for first, count, _ in runs)
            assert values(runs) == list(itertools.islice(expected, 70))
            assert take(client, "round", 5) == list(itertools.islice(expected, 5))
        end()
        daemon.start()
    told = json.loads(daemon.seqctl("-o", "json", "explain", "round", "50").stdout)
    assert (told["answer"], told["id"], told["times"]) == ("issued", 50, 3)


def test_RepeatAfterAKillGetsTheSameValues(make_daemon):
    daemon = make_daemon(sequences={"fives": FIVES}).start()
    first = {}
    with daemon.connect() as client:
        client.call("hello", {"client": IDENTITY})
        first[1] = request(client, 1, "next", "fives")
        first[2] = request(client, 2, "range", "fives", 4)
    daemon.kill()
    daemon.start()
    with daemon.connect() as client:
        assert client.call("hello", {"client": IDENTITY})["known"] is True
        assert request(client, 1, "next", "fives") == first[1] == -10
        assert request(client, 2, "range", "fives", 4) == first[2] == [[-5, 4, 5]]
        assert request(client, 3, "next", "fives") == 15


@pytest.mark.parametrize("now", [{"max": 49}, {"start": 3}, {"increment": 5}, {"increment": -2, "min": -99, "max": 1}, {"cycle": True},
                                 {"format": "other"}, {}, None], ids=str)
def test_RepeatAfterAChangeAnswersWhatWasIssued(make_daemon, now):
    """Whatever the configuration says after a kill: a repeat gets the IDs of the first time, and no other request has them."""
    former = {"start": 1, "increment": 2, "max": 999}
    daemon = make_daemon(sequences={"odds": former, "others": {}}).start()
    with daemon.connect() as client:
        client.call("hello", {"client": IDENTITY})
        issued = {number: request(client, number, "next", "odds") for number in range(1, 41)}
        batch = request(client, 41, "range", "odds", 5)
    assert (issued[15], issued[40], batch) == (29, 79, [[81, 5, 2]])
    # None: the table is gone. {}: no progression any more.
    wanted = {} if now == {} else {**former, **(now or {})}
    if "format" in wanted:
        wanted["format"] = "ODD-{number:6}"
    for sequences in ({"others": {}, **({} if now is None else {"odds": wanted})}, {"others": {}, "odds": former}):
        daemon.kill()
        daemon.configure(sequences=sequences)
        daemon.start()
        with daemon.connect() as client:
            assert client.call("hello", {"client": IDENTITY})["known"] is True
            assert {number: request(client, number, "next", "odds") for number in (15, 40)} == {15: 29, 40: 79}
            assert {number: request(client, number, "next", "odds") for number in range(1, 41)} == issued
            assert request(client, 41, "range", "odds", 5) == batch
            told = client.call("explain", "odds", 79)
            assert (told["answer"], told["id"], told["issued"]["first"]) == ("issued", 79, 1)
    with daemon.connect() as client:
        client.call("hello", {"client": IDENTITY})
        # What a lowered bound has made a gap is not issued any more.
        following = request(client, 42, "next", "odds")
        assert following % 2 == 1 and following > 89 and (following == 91 or now == {"max": 49})


@pytest.mark.parametrize("wrong,what", [({"increment": 0}, "increment: found 0"), ({"start": 0}, "must not be below min = 1"),
                                        ({"increment": 2, "meaning": "last"}, "other programs would read as an ID"),
                                        ({"increment": -1, "format": "A{number}"}, "a format writes none below 1")])
def test_ProgressionThatCannotBeIsRefusedWhenItIsLoaded(make_daemon, wrong, what):
    daemon = make_daemon(sequences={"orders": wrong})
    daemon.spawn()
    assert daemon.wait_exit() == 78
    assert what in daemon.stderr()


def test_ChangedProgressionIsRefusedWhileIdsAreOut(make_daemon):
    daemon = make_daemon(sequences={"fives": FIVES}).start()
    with daemon.connect() as client:
        assert client.next("fives") == -10
        daemon.configure(sequences={"fives": {**FIVES, "increment": 7}})
        assert client.call("reload")["restart_needed"] == ['sequence."fives".increment']
        assert client.next("fives") == -5
    daemon.restart()
    with daemon.connect() as client:
        error = client.error("next", "fives")
        assert error.code == "SEQ_CHANGED" and "start=-10 increment=5" in error.text
    daemon.configure(sequences={"fives": {**FIVES, "max": 2000}})  # more of the same
    daemon.restart()
    with daemon.connect() as client:
        assert client.next("fives") == 0


def test_SeqctlShowsAndTakesValues(make_daemon):
    daemon = make_daemon(sequences={"fives": {**FIVES, "reuse": "parked"}}).start()
    assert daemon.seqctl("next", "fives", "-n", "4").stdout.split() == ["-10", "-5", "0", "5"]
    assert daemon.seqctl("range", "fives", "3").stdout == "10 3 5\n"
    peeked = json.loads(daemon.seqctl("-o", "json", "peek", "fives").stdout)
    assert (peeked["next"], peeked["last"]) == (25, 20)
    told = json.loads(daemon.seqctl("-o", "json", "explain", "fives", "-5").stdout)
    assert (told["answer"], told["id"]) == ("issued", -5)
    failed = daemon.seqctl("explain", "fives", "3", expect=1)
    assert "3 is no ID of \"fives\", which begins at -10, goes by 5" in failed.stderr
    assert daemon.seqctl("audit", "fives").stdout.splitlines()[-1].endswith("everything agrees")
    drained = json.loads(daemon.seqctl("-o", "json", "drain", "fives", "--yes").stdout)[0]
    assert drained["step"] == 5 and min(first for first, _ in drained["returned"]) == 25
    assert daemon.seqctl("advance", "fives", "--to", "500", "--yes").stdout == "500\n"
    taken = daemon.seqctl("next", "fives").stdout
    assert taken == "25\n", "what is parked comes first"


@pytest.mark.limit(60)
def test_TwoDaemonsOnOneCounterOfMongoShareTheValues(mongo, make_daemon):
    mongo.client().drop_database("seqd")
    stores = {"mongo": {"type": "mongodb", "uri": mongo.uri(), "database": "seqd"}}
    options = {"start": 0, "increment": -3, "min": -30_000, "max": 0}
    daemons = [make_daemon(f"seqd-{i}", stores=stores, defaults={"lease_min": 20, "lease_max": 50}, sequences={"down": options}).start()
               for i in range(2)]
    seen = []
    for turn in range(6):
        for daemon in daemons:
            with daemon.connect() as client:
                seen += take(client, "down", 40) + values(client.call("range", "down", 30))
        (daemons[turn % 2].kill if turn % 3 else daemons[turn % 2].terminate)()
        daemons[turn % 2].start()
    assert len(seen) == len(set(seen)) == 6 * 2 * 70
    assert all(-30_000 <= value <= 0 and value % 3 == 0 for value in seen)
    # All that was leased was issued or is available: the store's number counts ordinals, kill or not.
    with contextlib.ExitStack() as stack:
        clients = [stack.enter_context(daemon.connect()) for daemon in daemons]

        def accounted() -> bool:
            available = sum(client.call("peek", "down")["available"] for client in clients)
            return mongo.client().seqd.counters.find_one({"_id": "down"})["seq"] == len(seen) + available

        # A lease that the last kill left open is looked up first.
        expect_soon("all is accounted for", accounted)
        assert all(client.call("audit", "down")["good"] for client in clients)


def test_EndIsForecastAndWarnedOfOnceALife(make_daemon):
    bounds = {"lease_min": 10, "lease_max": 10}
    daemon = make_daemon(sequences={"few": {"max_value": 1000, **bounds}, "wide": {"first_id": 2_147_483_600, **bounds}}).start()
    with daemon.connect() as client:
        take(client, "few", 850)
        assert client.call("status")["ending"] == []
        take(client, "few", 100)
        row = {row["name"]: row for row in client.call("list")}["few"]
        assert 0 <= row["left"] <= 50 and row["days_left"] is None
        assert [one["name"] for one in client.call("status")["ending"]] == ["few"]
        take(client, "wide", 100)
    assert re.search(r"^ends +few: \d+ IDs left to lease$", daemon.seqctl("status").stdout, re.M)
    told = daemon.stderr(100_000)
    assert told.count("sequence_ends: ") == 1 and "10 % or less" in told
    assert told.count("nine tenths of the way to 2147483647") == 1 and told.count("beyond 2147483647") == 1
    daemon.restart()
    with daemon.connect() as client:
        take(client, "few", 50)
        assert client.error("next", "few").code == "EXHAUSTED"
        take(client, "wide", 100)
    again = daemon.stderr(100_000)[len(told):]
    assert again.count("sequence_ends: ") <= 2 and "2147483647" not in again


def test_NoIdAboveAMaximumIsIssuedOnceItIsLowered(make_daemon):
    def sequences(last: int) -> dict:
        return {"orders": {"max_value": last, "lease_min": 20, "lease_max": 20}}

    daemon = make_daemon(sequences=sequences(1000)).start()
    with daemon.connect() as client:
        assert client.next("orders") == 1
        daemon.configure(sequences=sequences(5))
        daemon.seqctl("reload")
        assert client.call("range", "orders", 4) == [[2, 4, 1]]
        assert client.error("next", "orders").code == "EXHAUSTED"
        answer = client.call("explain", "orders", 20)
        assert (answer["answer"], answer["gap"]["cause"]) == ("gap", "out_of_bounds")
        assert client.call("audit", "orders")["good"] is True
    assert '[6, 21) of "orders" is a gap: the highest ID is 5 now' in daemon.stderr(100_000)
    daemon.kill()
    daemon.start()
    with daemon.connect() as client:
        assert client.error("next", "orders").code == "EXHAUSTED"
        daemon.configure(sequences=sequences(1000))
        daemon.seqctl("reload")
        assert client.next("orders") == 21


def test_NewCounterBeginsAboveTheDocumentsThatAreThere(mongo, make_daemon):
    mongo.client().drop_database("seqd")
    stores = {"mongo": {"type": "mongodb", "uri": mongo.uri(), "database": "seqd"}}
    seed = {"seed_collection": "invoices", "seed_field": "number"}
    documents = mongo.client().seqd.invoices
    documents.insert_many([{"number": 17}, {"number": 4711.0}, {"number": "4800"}, {"other": 9}])
    daemon = make_daemon(stores=stores, sequences={"invoices": seed, "orders": {**seed, "seed_field": "other", "first_id": 100}}).start()
    with daemon.connect() as client:
        assert client.next("orders") == 100
        error = client.error("next", "invoices")
        assert error.code == "SEQ_TYPE" and "the highest value of number is a string" in error.text
        documents.update_one({"number": "4800"}, {"$set": {"number": 4800}})
    daemon.restart()  # an error that only a person can mend is asked for again after a pause
    with daemon.connect() as client:
        assert client.next("invoices") == 4801
    documents.insert_one({"number": 10_000})
    daemon.kill()
    daemon.start()
    with daemon.connect() as client:
        assert client.next("invoices") == 4802
