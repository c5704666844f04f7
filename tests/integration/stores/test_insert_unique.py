"""Documents with a unique field of the caller are sent again after every lost answer, and are there once: over kill -9 of seqd between
the write and its answer, and over answers that a server alone loses."""

import json
import os
import random

import pytest

from clients import Process
from harness import Daemon
from inserting import insert_by_key
from rpc import RpcError
from servers.mongod import wait_for

SEED = int(os.environ.get("SEED", str(random.SystemRandom().randrange(2**32))))
KILLS = 12
DOCUMENTS = 12_000


def people(server, make_daemon) -> Daemon:
    server.client().drop_database("seqd")
    server.client().seqd.people.create_index("key", unique=True)
    return make_daemon(stores={"mongo": {"type": "mongodb", "uri": server.uri(), "database": "seqd"}},
                       sequences={"people": {"mode": "insert", "collection": "people"}}).start()


def entered(server) -> int:
    """How often the fail point was met."""
    return server.client().admin.command("configureFailPoint", "failCommand", mode="off")["count"]


@pytest.mark.limit(180)
def test_KillsBetweenTheWriteAndItsAnswerInsertNothingTwice(mongo, make_daemon):
    daemon = people(mongo, make_daemon)
    collection = mongo.client().seqd.people
    clients = [Process(insert_by_key, str(daemon.socket), "people", f"client-{i}", DOCUMENTS) for i in range(2)]
    print(f"SEED={SEED}")
    moments = random.Random(SEED)
    kills = 0
    while kills < KILLS:
        enough = collection.estimated_document_count() + moments.randrange(1, DOCUMENTS // KILLS)
        wait_for("documents", lambda enough=enough: collection.estimated_document_count() > enough
                 or all(client.pipe.poll() for client in clients), 60)
        if collection.estimated_document_count() == 2 * DOCUMENTS:
            break
        daemon.kill()
        daemon.start()
        kills += 1
    assert kills >= 2, "the documents were there before the daemon could be killed"
    told = [client.result() for client in clients]
    there = {document["key"]: document["_id"] for document in collection.find({}, {"key": 1})}
    assert sorted(there.values()) == list(range(1, 2 * DOCUMENTS + 1))
    for i, answers in enumerate(told):
        assert answers == {n: there[f"client-{i}/{n}"] for n in range(DOCUMENTS)}


@pytest.mark.limit(120)
@pytest.mark.parametrize("how", [{"closeConnection": True}, {"writeConcernError": {"code": 64, "errmsg": "slow"}}])
def test_AnAnswerThatAServerAloneLosesIsFound(mongo, make_daemon, how):
    daemon = people(mongo, make_daemon)
    with daemon.connect(40) as client:
        def insert(key: str, **options) -> int:
            return client.call("insert", "people", {"key": key}, {"timeout_ms": 20_000, **options})
        assert insert("first", unique="key") == 1
        before = entered(mongo)
        with mongo.fail_point("failCommand", {"failCommands": ["insert"], **how}, {"times": 1}):
            assert insert("second", unique="key") == 2
        assert entered(mongo) > before
        with mongo.fail_point("failCommand", {"failCommands": ["insert"], **how}, {"times": 1}):
            with pytest.raises(RpcError) as unknown:
                insert("third")
        assert unknown.value.code == "OUTCOME_UNKNOWN"
        # Whatever became of that: asked for by its key it is there once.
        assert insert("third", unique="key") == 3
        assert insert("second", unique="key") == 2
    assert mongo.client().seqd.people.count_documents({}) == 3


def test_SeqctlInsertsOnceHoweverOftenItIsCalled(mongo, make_daemon):
    daemon = people(mongo, make_daemon)
    for _ in range(3):
        assert daemon.seqctl("insert", "people", '{"key": "a"}', "--unique", "key").stdout == "1\n"
    assert json.loads(daemon.seqctl("-o", "json", "insert", "people", '{"key": "b"}', "--unique", "key").stdout)["id"] == 2
    assert "CONFIG" in daemon.seqctl("insert", "people", '{"mail": "a"}', "--unique", "mail", expect=1).stderr
    assert mongo.client().seqd.people.count_documents({}) == 2
