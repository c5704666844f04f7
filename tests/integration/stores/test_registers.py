"""Registers on real stores: programs that save documents under their keys while programs, daemons and whole hosts die; a store
that is put back from an older copy; and what a person does with seqctl."""

import contextlib
import csv
import io
import json
import os
import random
import shutil
import threading
from datetime import datetime, timezone

import pytest

from databases import DynamoTables, MongoCollections, MongoDirectory, SqliteFile
from rpc import Closed, RpcError
from servers.dynamodb_local import dynamodb
from servers.mongod import standalone, wait_for

DEATHS = int(os.environ.get("DEATHS", "15"))  # of hosts; make test-register-deaths has more
AT_ONCE = 25  # documents, from one death to the next
YEAR = datetime.now(timezone.utc).year
REGISTER = {"mode": "register", "period": "year", "format": "INV-{date:%Y}-{number:5}"}
STOPPED = "was restored from an older copy"
PREVIEW = 4


@pytest.fixture(scope="module", name="dynamo")
def fixture_dynamo():
    with dynamodb() as server:
        yield server


@pytest.fixture(params=["sqlite", "mongodb", "replica-set", "dynamodb"])
def database(request, scratch):
    with contextlib.ExitStack() as stack:
        if request.param == "sqlite":
            made = SqliteFile(scratch)
        elif request.param == "mongodb":
            made = MongoDirectory(stack.enter_context(standalone()))
        elif request.param == "replica-set":
            made = MongoCollections(request.getfixturevalue("mongo_set"))
        else:
            made = DynamoTables(request.getfixturevalue("dynamo"), f"register{random.randrange(1 << 40)}")
        yield made
        made.close()


def host_of(make_daemon, database, name):
    place = {option: value for option, value in database.sequence.items() if option != "meaning"}
    return make_daemon(name, stores=database.stores, sequences={"invoices": {**REGISTER, **place}},
                       daemon={"store_poll_interval": "100ms", "default_store": "main"},
                       defaults={"wait_timeout": "30s"}, environment=database.environment)


def records_of(host, name="invoices"):
    """The whole register, by its pages."""
    found, after = [], 0
    with host.connect(60) as client:
        while after is not None:
            page = client.call("records", name, {"after": after, "limit": 7})
            found += page["records"]
            after = page["after"]
    return found


def assert_complete(records):
    numbers = [record["number"] for record in records]
    assert numbers == list(range(1, len(numbers) + 1)), "the register has a hole"
    keys = [record["key"] for record in records if record["key"] is not None]
    assert len(keys) == len(set(keys)), "a key has two numbers"
    texts = [record["text"] for record in records]
    assert len(texts) == len(set(texts)), "a text belongs to two numbers"


class Program:
    """Saves documents under their keys, each with the number of its key. It dies between any two steps, and is started again with
    what it had not finished: it knows its keys alone."""

    def __init__(self, host, documents, prefix, seed):
        self.host, self.documents, self.prefix = host, documents, prefix
        self.keys, self.next, self.over = [], 0, threading.Event()
        self.random = random.Random(seed)
        self.deaths = 0
        self.failure = None
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        try:
            while self.keys or not self.over.is_set():
                if not self.over.is_set() and len(self.keys) < 10:
                    self.keys += [f"{self.prefix}-{key}" for key in range(self.next, self.next + 10)]
                    self.next += 10
                with contextlib.suppress(Closed, OSError):
                    self.life()
        except Exception as failure:  # pylint: disable=broad-except
            self.failure = failure

    def life(self):
        with self.host().connect(60) as client:
            for key in list(self.keys):
                try:
                    record = client.call("assign", "invoices", key, {"timeout_ms": 30_000})
                except RpcError as error:
                    assert error.code in ("UNAVAILABLE", "BUSY", "STOPPING"), error
                    return
                if self.random.random() < 0.1:  # it dies, or its transaction is rolled back
                    self.deaths += 1
                    return
                saved = self.documents.setdefault(key, record["text"])
                assert saved == record["text"], f"{key} was saved as {saved}, and is {record['text']} now"
                if self.random.random() < 0.05:
                    self.deaths += 1
                    return
                self.keys.remove(key)

    def join(self):
        self.over.set()
        self.thread.join(120)
        assert not self.thread.is_alive(), f"{len(self.keys)} keys are left"
        if self.failure is not None:
            raise self.failure


@pytest.mark.limit(300 + DEATHS)
def test_DocumentsAndRegisterAgreeWhileProgramsDaemonsAndHostsDie(make_daemon, database, figures):
    hosts = [host_of(make_daemon, database, name).start() for name in ("one", "two")]
    documents = {}
    chance = random.Random(7)
    programs = [Program(lambda number=number: hosts[number % 2], documents, f"order-{number % 3}", number)
                for number in range(6)]
    for _ in range(DEATHS):
        before = len(documents)
        wait_for("some documents", lambda before=before: len(documents) >= before + AT_ONCE)
        host = chance.choice(hosts)
        host.kill()
        if chance.random() < 0.4:  # the host is gone, with its disk
            shutil.rmtree(host.state)
            shutil.rmtree(host.witness)
            host.state.mkdir()
            host.witness.mkdir()
        host.start()
    for program in programs:
        program.join()
    records = records_of(hosts[0])
    assert_complete(records)
    assert len(documents) == len(records)
    assert {record["key"]: record["text"] for record in records} == documents
    figures(f"deaths of hosts with a register, {type(database).__name__}", DEATHS, documents=len(documents),
            deaths_of_programs=sum(program.deaths for program in programs), duplicates=0, missing=0)


@pytest.mark.limit(180)
def test_AStoreThatWasPutBackStopsAndWhatItLostIsVoid(make_daemon, database):
    busy, idle = [host_of(make_daemon, database, name).start() for name in ("busy", "idle")]
    with busy.connect(60) as client, idle.connect(60) as other:
        for number in range(1, 6):
            assert client.call("assign", "invoices", f"before-{number}")["number"] == number
        assert other.call("assign", "invoices", "idle")["number"] == 6
    wait_for("the first heartbeats", lambda: len(database.beats()) >= 2)
    database.back_up()
    before = database.beats()
    wait_for("the heartbeats", lambda: all(beat >= before[one] + 2 for one, beat in database.beats().items()))
    with busy.connect(60) as client:
        for number in range(7, 10):
            assert client.call("assign", "invoices", f"lost-{number}")["number"] == number
    if not database.live:
        for host in (busy, idle):
            host.terminate()
    database.put_back()
    if not database.live:
        for host in (busy, idle):
            host.start()
    for host in (idle, busy):
        def refused(host=host):
            with host.connect(60) as client:
                return STOPPED in str(client.error("assign", "invoices", "after"))
        wait_for("the store is compared", refused)
    for host in (busy, idle):
        host.seqctl("advance", "--all", "--store", "main", "--yes", seconds=60)
    for host in (busy, idle):
        host.seqctl("advance", "--all", "--store", "main", "--resume", "--yes", seconds=60)
    with idle.connect(60) as client:
        assert client.call("assign", "invoices", "after", {"timeout_ms": 30_000})["number"] == 10
        assert client.call("assign", "invoices", "before-2")["number"] == 2
        assert client.call("assign", "invoices", "lost-8")["number"] == 11
    records = records_of(busy)
    assert_complete(records)
    lost = [record for record in records if record["state"] == "void"]
    assert [record["number"] for record in lost] == [7, 8, 9]
    assert all(record["former"][0]["reason"] == "restored" for record in lost)


def test_ARestartKnowsWhatTheStoreHad(make_daemon, mongo):
    """The newest document is gone, as in a copy of the collection alone: no heartbeat tells."""
    stores = {"main": {"type": "mongodb", "uri": mongo.uri(), "database": "restart"}}
    host = make_daemon(stores=stores, sequences={"tickets": {"mode": "register"}}, daemon={"default_store": "main"}).start()
    with host.connect(60) as client:
        for key in "ab":
            client.call("assign", "tickets", key)
    host.kill()
    mongo.client()["restart"]["seqd_register"].delete_one({"_id.number": 2})
    host.start()
    with host.connect(60) as client:
        error = client.error("assign", "tickets", "c")
        assert error.code == "SEQ_REGRESSED" and "had 2 numbers" in error.text, error
    assert "SEQ_REGRESSED" in host.seqctl("status", expect=5).stdout
    assert host.seqctl("advance", "tickets", "--yes").stdout.strip() == "3"
    with host.connect() as client:
        assert client.call("assign", "tickets", "c")["number"] == 3
        assert client.call("assign", "tickets", "a")["number"] == 1


def test_APersonUsesTheRegisterWithSeqctl(make_daemon, scratch):
    host = make_daemon(sequences={"invoices": REGISTER}).start()
    assert host.seqctl("assign", "invoices", "order-1").stdout == f"INV-{YEAR}-00001\n"
    assert host.seqctl("assign", "invoices", "order-1").stdout == f"INV-{YEAR}-00001\n"
    for order in (2, 3, 4):
        host.seqctl("assign", "invoices", f"order-{order}")
    assert f"INV-{YEAR}-00001 confirmed order-1" in host.seqctl("confirm", "invoices", "order-1").stdout
    said = host.seqctl("cancel", "invoices", "order-2", "--reason", 'customer "X", withdrew').stdout
    assert said.startswith(f"INV-{YEAR}-00002 void order-2: customer"), said
    assert "KEY_CONFIRMED" in host.seqctl("cancel", "invoices", "order-1", "--reason", "no", expect=1).stderr
    assert "NO_KEY" in host.seqctl("confirm", "invoices", "order-9", expect=1).stderr
    assert 'void, and belongs to no key: cancelled for the key "order-2"' in host.seqctl(
        "explain", "invoices", f"INV-{YEAR}-00002").stdout
    bulk = scratch / "bulk.csv"
    bulk.write_text('key,state\norder-3,confirmed\norder-4,cancelled,"a, b"\norder-5,confirmed\nnonsense\n')
    settled = host.seqctl("settle", "invoices", str(bulk), expect=1)
    assert settled.stdout == "2 settled, 2 failed\n"
    assert "line 4: " in settled.stderr and "line 5: " in settled.stderr
    host.seqctl("assign", "invoices", "order-6")
    rows = list(csv.DictReader(io.StringIO(host.seqctl("register", "invoices", "--csv").stdout)))
    assert [row["state"] for row in rows] == ["confirmed", "void", "confirmed", "void", "assigned"]
    assert rows[1]["key"] == "order-2" and rows[1]["reason"] == 'customer "X", withdrew'
    table = host.seqctl("register", f"invoices@{YEAR}", "--unconfirmed").stdout.splitlines()
    assert len(table) == 2 and "order-6" in table[1]
    lines = host.seqctl("--output", "json", "register", "invoices").stdout.splitlines()
    assert [json.loads(line)["number"] for line in lines] == [1, 2, 3, 4, 5]
    late = host.seqctl("assign", f"invoices@{YEAR - 1}", "late").stdout
    assert late == f"INV-{YEAR - 1}-00001\n"
    looked = host.seqctl("close", f"invoices@{YEAR - 1}", expect=PREVIEW)
    assert "late" in looked.stdout and "1 of its numbers are not confirmed" in looked.stderr
    assert "highest number is 1" in host.seqctl("close", f"invoices@{YEAR - 1}", "--yes").stdout
    assert "SEQ_PERIOD_CLOSED" in host.seqctl("assign", f"invoices@{YEAR - 1}", "later", expect=1).stderr
    host.restart()
    assert host.seqctl("assign", "invoices", "order-6").stdout == f"INV-{YEAR}-00005\n"
    assert "WRONG_MODE" in host.seqctl("next", "invoices", expect=1).stderr


def test_ALongRegisterIsPrintedPageByPage(make_daemon):
    host = make_daemon(sequences={"tickets": {"mode": "register"}}).start()
    with host.connect() as client:
        asked = [client.request("assign", "tickets", f"key-{key}") for key in range(1_201)]
        assert sorted(client.result(one)["number"] for one in asked) == list(range(1, 1_202))
    rows = list(csv.DictReader(io.StringIO(host.seqctl("register", "tickets", "--csv").stdout)))
    assert [int(row["number"]) for row in rows] == list(range(1, 1_202))


def test_WhatHasNoMeaningForARegisterIsRefused(make_daemon):
    daemon = make_daemon(sequences={"invoices": {**REGISTER, "lease_min": 5}})
    daemon.spawn()
    assert daemon.wait_exit() == 78
    assert 'lease_min: has no meaning with mode = "register"' in daemon.stderr()
