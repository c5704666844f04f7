"""DynamoDB: two daemons beside the old code on one item of a real DynamoDB Local; every ID once, each accounted for."""

import random
import time

import pytest

from accounting import Ledger
from clients import Process, RepeatingClients, drain, take
from old_code import OldCode
from servers.certificates import make_certificates
from servers.dynamodb_local import dynamodb
from servers.mongod import expect_soon
from servers.tls_front import tls_front

IDS = 200_000
TABLE, KEY, NUMBER = "NextId", "NextKey", "NextId"
CREDENTIALS = {"AWS_ACCESS_KEY_ID": "seqdtest", "AWS_SECRET_ACCESS_KEY": "any"}
LEASES = {"lease_min": 50, "lease_max": 250, "max_available": 1000}
OLD_BYTES = 4_000  # of what each old program writes, at least: some hundred IDs


@pytest.fixture(scope="module")
def dynamo():
    with dynamodb() as server:
        yield server


@pytest.fixture
def account(dynamo, request):
    """An account of the test's own: a caller, and an access key."""
    key = "test" + "".join(letter for letter in request.node.name if letter.isalnum())[:40]
    caller = dynamo.caller(key)
    caller.create_table(TABLE, KEY)
    yield caller, key
    caller.close()


def options(dynamo, key: str, meaning: str, **more) -> dict:
    """A daemon whose own item lies in the old code's table."""
    return {"stores": {"aws": {"type": "dynamodb", "region": "us-east-1", "endpoint": dynamo.endpoint(),
                               "instances_table": TABLE, "instances_key": KEY, **more}},
            "defaults": LEASES,
            "sequences": {"orders": {"collection": TABLE, "key_field": KEY, "counter_field": NUMBER, "meaning": meaning}},
            "environment": {**CREDENTIALS, "AWS_ACCESS_KEY_ID": key}}


def old_code(dynamo, key: str, meaning: str, directory, label: str) -> OldCode:
    """The hook that puts an ID into a record about to be saved. It stores and uses the number after ("last"), or returns the
    old one ("next")."""
    arguments = ["conditional-update", "--table", TABLE, "--access-key", key, "--callers", "1"]
    return OldCode(dynamo.endpoint(), directory, label, arguments + (["--old"] if meaning == "next" else []), "orders").start()


def ids_of(writer: OldCode) -> list:
    """What it put into records until now, when it ends; every number that it moved is one of them."""
    while writer.progress() < OLD_BYTES and writer.process.poll() is None:
        time.sleep(0.05)
    said = writer.stop()
    assert said["lost"] == 0, said
    return [number for life in writer.read() for number in life.ids]


def next_id(caller, meaning: str) -> int:
    return int(caller.item(TABLE, {KEY: {"S": "orders"}})[NUMBER]["N"]) + (1 if meaning == "last" else 0)


@pytest.mark.limit(120)
@pytest.mark.parametrize("meaning", ["last", "next"])
def test_TwoDaemonsAndTheOldCodeShareTheItem(dynamo, account, make_daemon, figures, scratch, meaning):
    caller, key = account
    caller.call("PutItem", {"TableName": TABLE, "Item": {KEY: {"S": "orders"}, NUMBER: {"N": "41"}, "note": {"S": "theirs"}}})
    first = 42 if meaning == "last" else 41
    daemons = [make_daemon(f"seqd-{i}", **options(dynamo, key, meaning)).start() for i in range(2)]
    writers = [old_code(dynamo, key, meaning, scratch, str(number)) for number in range(2)]
    takers = [Process(take, str(daemon.socket), "orders", IDS // 2) for daemon in daemons]
    ledger = Ledger("orders")
    for taker in takers:
        ledger.add(taker.result())
    old = 0
    for writer in writers:
        ids = ids_of(writer)
        old += len(ids)
        ledger.add(ids)
    for daemon in daemons:
        daemon.restart()  # what they have left comes first after the restart
    end = next_id(caller, meaning)
    for daemon in daemons:
        ledger.add(drain(daemon, "orders"))
    ledger.assert_complete(first, end)
    assert caller.item(TABLE, {KEY: {"S": "orders"}})["note"] == {"S": "theirs"}
    figures("DynamoDB", ledger.count, by_old_code=old, duplicates=0, unaccounted=0)


@pytest.mark.limit(120)
def test_KillsOfDaemonsBesideTheOldCodeLoseAndRepeatNothing(dynamo, account, make_daemon, scratch):
    caller, key = account
    caller.call("PutItem", {"TableName": TABLE, "Item": {KEY: {"S": "orders"}, NUMBER: {"N": "0"}}})
    daemons = [make_daemon(f"seqd-{i}", **options(dynamo, key, "last")).start() for i in range(2)]
    writer = old_code(dynamo, key, "last", scratch, "writer")
    clients = [RepeatingClients(daemon, scratch / f"ids-{i}" / "log", clients=2) for i, daemon in enumerate(daemons)]
    moments = random.Random(20)
    for _ in range(25):
        daemon = moments.choice(daemons)
        before = next_id(caller, "last")
        waited = 0
        while next_id(caller, "last") < before + 50 and waited < 200:  # so that leases are cut in the middle
            waited += 1
        daemon.kill()
        daemon.start()
    ledger = Ledger("orders")
    for client in clients:
        ledger.add(client.stop())
    ledger.add(ids_of(writer))
    for daemon in daemons:
        daemon.restart()
    end = next_id(caller, "last")
    for daemon in daemons:
        ledger.add(drain(daemon, "orders"))
    ledger.assert_complete(1, end)


def test_ADrainedTailIsTakenByTheOtherHost(dynamo, account, make_daemon):
    caller, key = account
    settings = options(dynamo, key, "last")
    settings["sequences"]["orders"]["reuse"] = "tail"
    one, two = [make_daemon(f"seqd-{i}", **settings).start() for i in range(2)]
    with one.connect() as client:
        assert client.next("orders") == 1
        client.call("drain", "orders")
    assert next_id(caller, "last") == 2
    with two.connect() as client:
        assert client.next("orders") == 2


def test_AnAdvanceRaisesTheItem(dynamo, account, make_daemon):
    caller, key = account
    daemon = make_daemon(**options(dynamo, key, "next")).start()
    with daemon.connect() as client:
        assert client.next("orders") == 1
        caller.call("DeleteItem", {"TableName": TABLE, "Key": {KEY: {"S": "orders"}}})
        client.call("advance", "orders", 5000)
        assert next_id(caller, "next") == 5000


def test_TheStatusTellsTypeAndLeaseMode(dynamo, account, make_daemon):
    _, key = account
    for mode, word in (("auto", "slot"), ("plain", "plain")):
        daemon = make_daemon(f"seqd-{mode}", **options(dynamo, key, "last", lease_mode=mode)).start()
        with daemon.connect() as client:
            client.next("orders")
            store = client.call("status")["stores"][0]
        assert (store["type"], store["state"], store["lease_mode"]) == ("dynamodb", "ready", word)
        assert "any" not in daemon.stderr(100_000).split(), "the secret is in the journal"


def test_TheServiceHasToShowACertificateOfItsName(dynamo, account, make_daemon, scratch):
    caller, key = account
    trust = make_certificates(scratch / "certificates")
    with tls_front(dynamo.port, trust.server) as front, tls_front(dynamo.port, trust.server, "127.0.0.2") as other:
        here, there = f"https://127.0.0.1:{front.port}", f"https://127.0.0.2:{other.port}"
        refused = {
            "of nobody that the system knows": {"endpoint": here},
            "of another authority": {"endpoint": here, "tls_ca_file": str(trust.stranger)},
            "of another host": {"endpoint": there, "tls_ca_file": str(trust.authority)},
        }
        for number, (what, more) in enumerate(refused.items()):
            daemon = make_daemon(f"seqd-{number}", **options(dynamo, key, "last", **more)).start()
            with daemon.connect() as client:
                assert client.error("next", "orders", {"timeout_ms": 1500}).code == "UNAVAILABLE", what
                expect_soon("the reason", lambda client=client: "tls_ca_file" in str(client.call("status")))
            daemon.terminate()
        assert caller.item(TABLE, {KEY: {"S": "orders"}}) is None
        daemon = make_daemon("seqd-good", **options(dynamo, key, "last", endpoint=here, tls_ca_file=str(trust.authority)))
        for first in (1, 101):
            with daemon.start().connect() as client:
                assert client.call("range", "orders", 100) == [[first, 100, 1]]
            daemon.terminate()
    assert next_id(caller, "last") > 200
