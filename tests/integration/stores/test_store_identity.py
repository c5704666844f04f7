"""A store is the database behind its name: a configuration that names another database issues nothing of the first one's IDs."""

import random

import pytest

from rpc import RpcError
from servers.mongod import standalone

DEFAULTS = {"lease_min": 50, "lease_max": 50, "max_available": 100}


@pytest.fixture(name="places", params=["sqlite-path", "mongodb-uri", "mongodb-database"])
def two_databases(request, scratch):
    """The options of a store in its first place and in its second, which is another database."""
    if request.param == "sqlite-path":
        return [{"type": "sqlite", "path": scratch / f"{name}.db"} for name in "ab"]
    number = random.randrange(1 << 40)
    server = request.getfixturevalue("mongo")
    names = [f"identity{number}a", f"identity{number}b"]
    if request.param == "mongodb-database":
        return [{"type": "mongodb", "uri": server.uri(), "database": name} for name in names]
    other = request.getfixturevalue("mongo_set")
    return [{"type": "mongodb", "uri": one.uri(), "database": names[0]} for one in (server, other)]


def error_of(daemon, name: str = "orders") -> RpcError:
    with daemon.connect() as client, pytest.raises(RpcError) as refused:
        client.call("next", name, {"timeout_ms": 20_000})
    return refused.value


@pytest.mark.limit(90)
@pytest.mark.parametrize("end", ["kill", "terminate"])
def test_RemainderOfOneDatabaseIsNotIssuedForAnother(make_daemon, places, end):
    first, second = places
    daemon = make_daemon(stores={"default": first}, defaults=DEFAULTS).start()
    with daemon.connect() as client:
        assert client.many("orders", 10) == list(range(1, 11))
    getattr(daemon, end)()
    # Another host has leased from the second database what the remainder of the first one is called there.
    other = make_daemon("other", stores={"default": second}, defaults=DEFAULTS).start()
    with other.connect() as client:
        assert client.many("orders", 40) == list(range(1, 41))

    daemon.configure(stores={"default": second}, defaults=DEFAULTS)
    daemon.start()
    refused = error_of(daemon)
    assert refused.code == "SEQ_CHANGED", refused
    assert "drain" in str(refused)
    getattr(daemon, end)()

    # The first one again: its remainder is still there, and nothing is missing.
    daemon.configure(stores={"default": first}, defaults=DEFAULTS)
    daemon.start()
    with daemon.connect() as client:
        assert client.many("orders", 40) == list(range(11, 51))


@pytest.mark.parametrize("end", ["kill", "terminate"])
def test_MovedFileIsTheSameDatabase(make_daemon, scratch, end):
    daemon = make_daemon(stores={"default": {"type": "sqlite", "path": scratch / "a.db"}}, defaults=DEFAULTS).start()
    with daemon.connect() as client:
        assert client.many("orders", 10) == list(range(1, 11))
    getattr(daemon, end)()
    for suffix in ("", "-wal", "-shm"):
        if (scratch / f"a.db{suffix}").exists():
            (scratch / f"a.db{suffix}").rename(scratch / f"b.db{suffix}")
    daemon.configure(stores={"default": {"type": "sqlite", "path": scratch / "b.db"}}, defaults=DEFAULTS)
    daemon.start()
    with daemon.connect() as client:
        assert client.many("orders", 60) == list(range(11, 71))


def test_DrainedRemainderOfALostDatabaseMakesRoomForTheOther(make_daemon, scratch):
    """The first database is gone for good: the operator gives up what came from it, and the next start uses the second one."""
    stores = [{"default": {"type": "sqlite", "path": scratch / f"{name}.db"}} for name in "ab"]
    daemon = make_daemon(stores=stores[0], defaults=DEFAULTS).start()
    with daemon.connect() as client:
        assert client.many("orders", 10) == list(range(1, 11))
    daemon.kill()
    daemon.configure(stores=stores[1], defaults=DEFAULTS)
    daemon.start()
    assert error_of(daemon).code == "SEQ_CHANGED"
    daemon.seqctl("drain", "orders", "--yes")
    daemon.restart()
    # The numbers of the first database are not begun again: the operator says where the second one goes on.
    assert error_of(daemon).code == "SEQ_REGRESSED"
    daemon.seqctl("advance", "orders", "--yes")
    with daemon.connect() as client:
        assert client.next() == 51


@pytest.mark.limit(60)
@pytest.mark.parametrize("end", ["kill", "terminate"])
def test_RestartWhileTheStoreIsAwayServesWhatIsAvailable(make_daemon, end):
    """Neither kind of end costs the IDs that are available, nor makes their clients wait for the store."""
    with standalone() as server:
        stores = {"default": {"type": "mongodb", "uri": server.uri(), "database": "outage", "timeout": "1s"}}
        daemon = make_daemon(stores=stores, defaults=DEFAULTS).start()
        with daemon.connect() as client:
            assert client.many("orders", 10) == list(range(1, 11))
        server.kill()
        getattr(daemon, end)()
        daemon.start()
        with daemon.connect() as client:
            assert client.many("orders", 20) == list(range(11, 31))
            stores_now = client.call("status")["stores"]
        assert [store["name"] for store in stores_now] == ["default"]
        # The store is back: nothing is missing.
        server.start()
        with daemon.connect(40) as client:
            assert client.many("orders", 20) == list(range(31, 51))
            assert client.call("next", "orders", {"timeout_ms": 30_000}) == 51
