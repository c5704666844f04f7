"""mongodb+srv://: the servers are found by the name service. One that is away is a store that is away, at a start, too."""

import json
import random

import pytest

from rpc import RpcError
from servers.mongod import expect_soon
from servers.name_server import NameServer

DEFAULTS = {"lease_min": 50, "lease_max": 50, "max_available": 100}
NAME = "cluster.seqd.test"


@pytest.fixture(name="names")
def fixture_names(scratch, mongo):
    with NameServer(scratch, NAME, mongo.port) as server:
        yield server


@pytest.fixture(name="daemon")
def fixture_daemon(make_daemon, names):
    store = {"type": "mongodb", "uri": f"mongodb+srv://{NAME}/?tls=false", "database": f"names{random.randrange(1 << 40)}", "timeout": "1s"}
    daemon = make_daemon(stores={"central": store}, defaults=DEFAULTS)
    daemon.prefix = names.prefix()
    return daemon


def take(daemon, count):
    with daemon.connect(60) as client:
        return [client.call("next", "orders", {"timeout_ms": 30_000}) for _ in range(count)]


def error_of_store(daemon):
    with daemon.connect(60) as client:
        return str(client.call("status")["stores"][0]["error"])


@pytest.mark.limit(90)
@pytest.mark.parametrize("how", ["silent", "empty"])
@pytest.mark.parametrize("end", ["kill", "terminate"])
def test_AvailableIdsAreIssuedWithoutTheNameService(daemon, names, end, how):
    daemon.start()
    assert take(daemon, 10) == list(range(1, 11))
    setattr(names, how, True)
    getattr(daemon, end)()
    asked = names.asked
    daemon.start()
    if end == "kill":
        assert take(daemon, 20) == list(range(11, 31))
    # After a clean stop the store has to say first that they are ours.
    expect_soon("the name is looked up", lambda: "SRV record" in error_of_store(daemon))
    assert names.asked > asked and "percent" not in error_of_store(daemon)
    setattr(names, how, False)
    rest = take(daemon, 60)
    assert rest == list(range(31 if end == "kill" else 11, rest[-1] + 1))


@pytest.mark.limit(60)
def test_FirstStartWaitsForTheNameService(daemon, names):
    names.empty = True
    daemon.start()
    with daemon.connect(60) as client, pytest.raises(RpcError) as refused:
        client.call("next", "orders", {"timeout_ms": 3_000})
    assert refused.value.code == "UNAVAILABLE" and NAME in str(refused.value), refused.value
    names.empty = False
    assert take(daemon, 1) == [1]


@pytest.mark.limit(60)
def test_AServiceThatOnlySpeaksLikeMongoDBIsWarnedOf(make_daemon, scratch, mongo):
    with NameServer(scratch, "shop.docdb.amazonaws.com", mongo.port) as service:
        store = {"type": "mongodb", "uri": f"mongodb+srv://{service.name}/?tls=false", "database": f"names{random.randrange(1 << 40)}"}
        daemon = make_daemon(stores={"central": store}, defaults=DEFAULTS)
        daemon.prefix = service.prefix()
        daemon.start()
        assert take(daemon, 1) == [1]
        with daemon.connect(60) as client:
            warning = client.call("status")["stores"][0]["warning"]
        assert "which is not MongoDB" in warning
        doctor = json.loads(daemon.seqctl("-o", "json", "doctor", expect=None).stdout)
        of_store = [(found["level"], found["text"]) for found in doctor["findings"] if found["subject"] == "store"]
        assert ("warn", f"central: {warning}") in of_store
        assert "ok" in dict(of_store)
        assert warning in daemon.stderr(100_000)


def test_AnotherServerIsNotWarnedOf(daemon):
    daemon.start()
    with daemon.connect(60) as client:
        assert client.call("status")["stores"][0]["warning"] is None
