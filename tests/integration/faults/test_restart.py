"""Restarts leave no hole: SIGTERM, SIGINT and kill -9, idle and under load, once and hundreds of times; KILLS= is how often."""

import os
import random
import signal

import pytest

import harness
from accounting import Ledger
from clients import RepeatingClients

KILLS = int(os.environ.get("KILLS", "500"))
SEED = int(os.environ.get("SEED", str(random.SystemRandom().randrange(2**32))))


@pytest.fixture(name="daemon")
def daemon_of_a_busy_disk(make_daemon):
    """Where a flush takes long, the load waits for it."""
    return make_daemon(defaults={"wait_timeout": "30s"}).start()


def test_SigtermWhileIdleLeavesNoHole(daemon):
    for cycle in range(10):
        with daemon.connect() as client:
            assert [client.next() for _ in range(7)] == list(range(7 * cycle + 1, 7 * cycle + 8))
        daemon.restart()


def test_SigintIsAnOrderlyStop(daemon):
    with daemon.connect() as client:
        assert client.next() == 1
    daemon.process.send_signal(signal.SIGINT)
    assert daemon.wait_exit() == 0
    with daemon.start().connect() as client:
        assert client.next() == 2


def test_KillWhileIdleLeavesNoHole(daemon):
    for cycle in range(10):
        with daemon.connect() as client:
            assert [client.next() for _ in range(7)] == list(range(7 * cycle + 1, 7 * cycle + 8))
        daemon.kill()
        daemon.start()


def test_KillRightAfterReadyIsHarmless(daemon):
    with daemon.connect() as client:
        assert client.next() == 1
    for _ in range(20):
        daemon.kill()
        daemon.start()
    with daemon.connect() as client:
        assert client.next() == 2


def test_SigtermAnswersWhatItCanAndEndsTheConnections(daemon):
    with daemon.connect() as client:
        client.next()
        daemon.process.send_signal(signal.SIGTERM)
        assert client.rest() == []
    assert daemon.wait_exit() == 0


def test_SigtermRightAfterReadyIsAnOrderlyStop(daemon):
    """Before the store has said that what the last stop left behind is ours."""
    with daemon.connect() as client:
        assert client.next() == 1
    for _ in range(20):
        daemon.restart()
    with daemon.connect() as client:
        assert client.next() == 2


@pytest.mark.parametrize("stop", ["kill", "terminate"])
def test_RequestsAcrossTheBoundaryOfTwoLeasesAreRecorded(make_daemon, stop):
    """Requests of one turn whose IDs are consecutive and yet come from two leases: the log must be readable again."""
    daemon = make_daemon(defaults={"lease_min": 100, "lease_max": 100, "max_available": 1000}).start()
    expected = 1
    for _ in range(5):
        with daemon.connect() as client:
            for requests in (37, 64, 99, 250):
                assert client.many("orders", requests) == list(range(expected, expected + requests))
                expected += requests
        getattr(daemon, stop)()
        daemon.start()


def test_ManySequencesResumeInOrder(daemon):
    names = [f"sequence-{i}" for i in range(200)]
    with daemon.connect() as client:
        for name in names:
            assert client.call("range", name, 3) == [[1, 3, 1]]
    daemon.restart()
    with daemon.connect() as client:
        for name in names:
            assert client.call("range", name, 3) == [[4, 3, 1]]
    daemon.kill()
    daemon.start()
    with daemon.connect() as client:
        assert [client.next(name) for name in names] == [7] * len(names)


def run_clients_against(daemon, scratch, interruptions: int, interrupt, clients: int = 4) -> Ledger:
    """Interrupts the daemon at random moments under load; returns what all clients received when all have ended well."""
    print(f"SEED={SEED}")  # shown when the test fails
    moments = random.Random(SEED)
    ledger = Ledger("orders")
    rounds = 0
    load = None
    for _ in range(interruptions):
        if load is None or not load.running():
            if load is not None:
                ledger.add(load.finish())
            rounds += 1
            load = RepeatingClients(daemon, scratch / f"round-{rounds}" / "ids", clients=clients, seconds=5)
            wait_for_the_first_request(daemon)
        pid = os.pidfd_open(daemon.process.pid)
        died = harness.readable(moments.uniform(0.005, 0.030), pid)  # the load runs meanwhile
        os.close(pid)
        assert not died, f"seqd ended by itself:\n{daemon.stderr()}"
        interrupt(daemon)
        daemon.start()
    ledger.add(load.finish())
    return ledger


def wait_for_the_first_request(daemon) -> None:
    with daemon.connect() as client:
        before = client.call("status")["issued"]
        while client.call("status")["issued"] == before:
            pass


def assert_nothing_lost(daemon, ledger: Ledger) -> None:
    """Every ID below the next one was received by exactly one client, and the next one is the next."""
    with daemon.connect() as client:
        following = client.call("peek", "orders")["next"] or ledger.highest() + 1
        assert ledger.count > 0
        ledger.assert_complete(1, following)
        assert ledger.highest() == following - 1
        assert client.next("orders") == following


@pytest.mark.limit(60)
def test_SigtermUnderLoadLosesAndRepeatsNothing(daemon, scratch):
    ledger = run_clients_against(daemon, scratch, 100, lambda running: running.terminate())
    assert_nothing_lost(daemon, ledger)


@pytest.mark.limit(max(120, KILLS * 0.2))
def test_KillUnderLoadLosesAndRepeatsNothing(daemon, scratch, figures):
    ledger = run_clients_against(daemon, scratch, KILLS, lambda running: running.kill())
    assert_nothing_lost(daemon, ledger)
    figures("kills", KILLS, IDs=ledger.count, duplicates=len(ledger.twice), unaccounted=0)


@pytest.mark.limit(60)
def test_KillDuringTheStartLosesNothing(daemon, scratch):
    """Kills again before the daemon is ready, at moments spread over its start."""
    moments = random.Random(SEED)

    def interrupt(running):
        running.kill()
        for _ in range(3):
            running.spawn()
            pid = os.pidfd_open(running.process.pid)
            harness.readable(moments.uniform(0.0, 0.020), pid)
            os.close(pid)
            running.kill()

    ledger = run_clients_against(daemon, scratch, 60, interrupt)
    assert_nothing_lost(daemon, ledger)


@pytest.mark.limit(60)
def test_ClientsWithoutIdentityLoseOnlyWhatWasInFlight(daemon):
    """A client that does not repeat: the gap of a kill is at most its requests in flight, and nothing comes twice."""
    moments = random.Random(SEED)
    ledger = Ledger("orders")
    depth, kills = 64, 50
    for _ in range(kills):
        with daemon.connect() as client:
            for _ in range(moments.randrange(1, 20)):
                ledger.add(client.many("orders", depth))
            for _ in range(depth):
                client.request("next", "orders")
            daemon.kill()
            ledger.add(result for _, error, result in client.rest() if error is None)
        daemon.start()
    with daemon.connect() as client:
        following = client.next()
    ledger.assert_no_duplicate()
    assert len(ledger.missing(1, following)) <= depth * kills
    assert following > ledger.highest()
