"""A database that is put back from an older copy: no host issues again what another leased since, and the procedures of
OPERATING.md for a backup, a restore and a host that moves are run here on real stores."""

import contextlib
import random
import shutil
from collections import Counter

import pytest

from databases import DynamoTables, MongoCollections, MongoDirectory, SqliteFile
from rpc import RpcError
from servers.dynamodb_local import dynamodb
from servers.mongod import expect_soon, standalone, wait_for

LEASES = {"lease_min": 50, "lease_max": 50, "max_available": 100}
CHECK = "100ms"
EXIT_LOOKED, EXIT_STOPPED = 4, 5
STOPPED = "was restored from an older copy"


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
            made = DynamoTables(request.getfixturevalue("dynamo"), f"restore{random.randrange(1 << 40)}")
        yield made
        made.close()


class Site:
    """Hosts that lease from one database, and every ID that any of them ever issued."""

    def __init__(self, make_daemon, database):
        self.make_daemon = make_daemon
        self.database = database
        self.issued = []
        self.hosts = []

    def host(self, name, **options):
        made = self.make_daemon(name, stores=self.database.stores, defaults=LEASES,
                                daemon={"store_poll_interval": CHECK, "default_store": "main"},
                                sequences={"orders": self.database.sequence},
                                environment=self.database.environment, **options).start()
        self.hosts.append(made)
        return made

    def take(self, host, count=1):
        with host.connect(60) as client:
            self.issued += [client.call("next", "orders", {"timeout_ms": 40_000}) for _ in range(count)]

    def take_all(self, host):
        """All that the host issues, 300 at most; nothing twice. The error that ended it; empty: none did. Where the high-water mark of the
        counter came first, what is said when the store has been compared, too."""
        error = ""
        with host.connect(60) as client:
            try:
                for _ in range(300):
                    self.issued.append(client.call("next", "orders", {"timeout_ms": 40_000}))
            except RpcError as refused:
                error = str(refused)
            if error.startswith("SEQ_REGRESSED"):
                expect_soon("the store is compared", lambda: STOPPED in str(client.error("next", "orders")))
                error = str(client.error("next", "orders"))
        self.assert_nothing_twice()
        return error

    def wait_for_beats(self):
        """Until every host knows of a heartbeat above the one in the store now: it raises one only when it has heard of the
        one before. Instances that hosts were before are silent."""
        before = self.database.beats()

        def raised():
            now = self.database.beats()
            return sum(beat >= before.get(one, 0) + 2 for one, beat in now.items()) >= len(self.hosts)

        wait_for("the heartbeats", raised)

    def wait_until_all_have_one(self):
        wait_for("the first heartbeats", lambda: len(self.database.beats()) >= len(self.hosts))

    def put_back(self):
        """As OPERATING.md says: no daemon runs while a file is exchanged. A server does not need that."""
        if not self.database.live:
            for host in self.hosts:
                host.terminate()
        self.database.put_back()
        if not self.database.live:
            for host in self.hosts:
                host.start()

    def assert_nothing_twice(self):
        twice = [one for one, times in Counter(self.issued).items() if times > 1]
        assert not twice, f"issued twice: {sorted(twice)[:20]}, {len(twice)} in all"

    def advance(self, host, *options, expect=0):
        return host.seqctl("advance", "--all", "--store", "main", *options, expect=expect, seconds=90)

    def get_going(self, *hosts):
        """The procedure: raise on every host, and only then go on."""
        for host in hosts:
            self.advance(host, "--yes")
        for host in hosts:
            assert "continue" in self.advance(host, "--resume", "--yes").stdout


@pytest.fixture
def site(make_daemon, database):
    return Site(make_daemon, database)


@pytest.mark.limit(120)
def test_AnIdleHostIssuesNothingThatWasLeasedSinceTheBackup(site):
    busy, idle = site.host("busy"), site.host("idle")
    site.take(busy, 3)
    site.take(idle, 3)
    site.wait_until_all_have_one()
    site.database.back_up()
    site.wait_for_beats()
    site.take(busy, 200)
    site.put_back()
    refused = site.take_all(idle)
    assert STOPPED in refused and "seqctl advance --all --store main" in refused, refused
    assert STOPPED in site.take_all(busy)
    for host in (busy, idle):
        assert "store_restored: " in host.stderr(1 << 20)
        status = host.seqctl("status", expect=EXIT_STOPPED).stdout
        assert "restored" in status and "--resume" in status, status


@pytest.mark.limit(180)
def test_TheProcedureAfterARestoreGetsEveryHostGoing(site):
    busy, idle, resting = site.host("busy"), site.host("idle"), site.host("resting")
    for host in (busy, idle, resting):
        site.take(host, 3)
    site.wait_until_all_have_one()
    site.database.back_up()
    site.wait_for_beats()
    site.take(busy, 200)
    site.put_back()
    site.take_all(idle)
    site.take_all(busy)
    expect_soon("the third host's heartbeat", lambda: "store_restored: " in resting.stderr(1 << 20))

    looked = site.advance(idle, expect=EXIT_LOOKED).stdout
    assert "nothing was done" in looked and "every host" in looked
    # Raised on one host only: nothing goes on.
    site.advance(idle, "--yes")
    assert STOPPED in site.take_all(idle)
    site.get_going(busy, idle, resting)
    newcomer = site.host("newcomer")
    for host in (busy, idle, resting, newcomer):
        site.take(host, 120)
        host.seqctl("audit", "orders")
        assert "restored" not in host.seqctl("status", expect=None).stdout
    site.assert_nothing_twice()
    # What was available at the restore is a gap that is told.
    assert "restored" in resting.seqctl("gaps", "orders").stdout
    # It stays so over restarts of either kind, and the next restore is noticed again.
    site.wait_for_beats()
    busy.kill()
    busy.start()
    idle.restart()
    for host in (busy, idle):
        site.take(host, 60)
    site.assert_nothing_twice()
    site.database.back_up()
    site.wait_for_beats()
    site.take(newcomer, 200)
    site.put_back()
    for host in site.hosts:
        assert STOPPED in site.take_all(host)
    site.assert_nothing_twice()


@pytest.mark.limit(120)
@pytest.mark.parametrize("end", ["kill", "terminate"])
def test_AHostThatWasDownDuringTheRestoreComparesBeforeItIssues(site, end):
    """Down only while the database was put back: it had raised its heartbeat since the backup."""
    busy, idle = site.host("busy"), site.host("idle")
    site.take(idle, 3)
    site.take(busy, 3)
    site.wait_until_all_have_one()
    site.database.back_up()
    site.wait_for_beats()
    site.take(busy, 200)
    getattr(idle, end)()
    busy.terminate()
    site.database.put_back()
    for host in (idle, busy):
        host.start()
    assert STOPPED in site.take_all(idle)
    assert STOPPED in site.take_all(busy)
    site.assert_nothing_twice()
    idle.kill()
    idle.start()
    assert STOPPED in site.take_all(idle)
    site.get_going(idle, busy)
    for host in (busy, idle):
        site.take(host, 120)
    site.assert_nothing_twice()


@pytest.mark.limit(120)
def test_ARightDatabaseThatIsBackInPlaceLosesNothing(site):
    """An old copy was put in place by mistake, and taken away again before anyone raised a counter."""
    busy, idle = site.host("busy"), site.host("idle")
    site.take(idle, 3)
    site.take(busy, 3)
    site.wait_until_all_have_one()
    site.database.back_up()
    older = site.database.copy if isinstance(site.database.copy, (list, dict)) else None
    if older is None:
        shutil.move(site.database.copy, str(site.database.copy) + "-older")
    site.wait_for_beats()
    for host in site.hosts:
        host.terminate()
    site.database.back_up()
    newest = site.database.copy
    if older is None:
        shutil.move(newest, str(newest) + "-newest")
        shutil.move(str(newest) + "-older", newest)
    else:
        site.database.copy = older
    site.database.put_back()
    for host in site.hosts:
        host.start()
        assert STOPPED in site.take_all(host)
        host.terminate()
    if older is None:
        shutil.rmtree(newest, ignore_errors=True)
        newest.unlink(missing_ok=True) if newest.is_file() else None
        shutil.move(str(newest) + "-newest", newest)
    else:
        site.database.copy = newest
    site.database.put_back()
    for host in site.hosts:
        host.start()
        site.take(host, 47)
        gaps = host.seqctl("gaps", "orders").stdout
        assert "restored" not in gaps, gaps
    site.assert_nothing_twice()
    assert sorted(site.issued) == list(range(1, 101))


@pytest.mark.limit(120)
def test_ABackupDisturbsNobodyAndARunningSiteGoesOn(site):
    """The procedure for a backup: copy everything, at any time."""
    busy, idle = site.host("busy"), site.host("idle")
    site.take(busy, 60)
    site.wait_until_all_have_one()
    site.database.back_up()
    site.wait_for_beats()
    for host in (busy, idle):
        site.take(host, 120)
        assert "restored" not in host.seqctl("status", expect=None).stdout
    site.assert_nothing_twice()


@pytest.mark.limit(120)
def test_AHostThatMovesTakesItsStateDirectoryWithIt(site, scratch):
    """The procedure for moving a host: an orderly stop, the state directory to the other machine, a start there."""
    old = site.host("old")
    site.take(old, 30)
    site.wait_until_all_have_one()
    old.terminate()
    moved = scratch / "moved"
    shutil.move(old.state, moved)
    old.state.mkdir()
    new = site.host("new", state=moved)
    site.take(new, 20)
    assert sorted(site.issued) == list(range(1, 51)), "an ID is missing"
    # Whatever is started on the old machine starts again, and takes nothing from the new one.
    old.start()
    site.take(old, 60)
    site.take(new, 60)
    site.assert_nothing_twice()
    for host in (old, new):
        host.seqctl("audit", "orders")
