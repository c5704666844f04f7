"""Restarts and kill -9 of the real daemon under load: no call fails, no ID comes twice, and none is lost."""

import os
import random

import pytest

from cutting import Cutter
from seqd._session import RENEW_FROM
from servers.mongod import wait_for
from servers.patience import PATIENCE
from takers import Takers, twice_and_holes

CUTS = 150
KILLS = int(os.environ.get("KILLS", "20"))
SEED = int(os.environ.get("SEED", str(random.SystemRandom().randrange(2**32))))


@pytest.mark.limit(60 + 3 * KILLS)
def test_KillsUnderLoadCostNoIdAndNoCall(daemon):
    print(f"SEED={SEED}")
    moments = random.Random(SEED)
    takers = Takers(daemon.socket)
    try:
        for _ in range(KILLS):
            takers.wait_for_more(moments.randrange(1, 3000))
            daemon.kill()
            daemon.start()
        takers.wait_for_more(1000)
    finally:
        takers.stopping.set()
    ids = takers.stop()
    print(f"{KILLS} kills, {len(ids)} IDs: {twice_and_holes(ids)[0]} twice, {twice_and_holes(ids)[1]} holes")
    assert twice_and_holes(ids) == (0, 0)


@pytest.mark.limit(60)
def test_OrderlyRestartsCostNoIdAndNoCall(daemon):
    takers = Takers(daemon.socket)
    try:
        for _ in range(10):
            takers.wait_for_more(500)
            daemon.restart()
        takers.wait_for_more(500)
    finally:
        takers.stopping.set()
    assert twice_and_holes(takers.stop()) == (0, 0)


@pytest.mark.limit(60)
@pytest.mark.parametrize("kinds", [{"threads": 1, "tasks": 0}, {"threads": 0, "tasks": 1}], ids=["one thread", "one task"])
def test_EachKindAloneWithOneCallAtATime(daemon, kinds):
    takers = Takers(daemon.socket, **kinds)
    try:
        for _ in range(5):
            before = takers.count() + 50
            wait_for("IDs", lambda before=before: takers.count() >= before or takers.errors)
            daemon.kill()
            daemon.start()
    finally:
        takers.stopping.set()
    assert twice_and_holes(takers.stop()) == (0, 0)


def test_ADaemonThatForgotTheClientGivesNewIds(make_daemon, make_client):
    """A new state directory: `known` is false, and repeats take new IDs, as IDs of another counter here."""
    daemon = make_daemon().start()
    client = make_client(daemon.socket, timeout=20 * PATIENCE)
    assert client.next_many("orders", 20)[-1] == 20
    daemon.kill()
    other = make_daemon("other", daemon={"socket": str(daemon.socket)})
    other.start()
    assert client.next("orders") == 1


@pytest.mark.limit(120)
def test_RepliesThatAreLostAreRepeated(daemon):
    """Connections are cut in the middle of the replies: the IDs in the lost ones are issued, and come all the same."""
    print(f"SEED={SEED}")
    cutter = Cutter(daemon.short / "cutter.sock", daemon.socket, SEED, 2000)
    takers = Takers(daemon.short / "cutter.sock")
    try:
        while cutter.cuts < CUTS:
            takers.wait_for_more(50)
    finally:
        cutter.most = None
        takers.stopping.set()
    ids = takers.stop()
    cutter.close()
    assert twice_and_holes(ids) == (0, 0)


@pytest.mark.parametrize("at_once", [1, 40])
def test_AtTheEndOfTheNumbersTheClientTakesANewIdentity(daemon, make_client, at_once):
    """The last request numbers of 32 bits, with calls in flight: nobody notices, and no ID is lost or comes twice."""
    client = make_client(daemon.socket, timeout=60 * PATIENCE)
    session = getattr(client, "client", client)._connection._session  # pylint: disable=protected-access
    session._next = session._floor = session._first = RENEW_FROM - 70  # pylint: disable=protected-access
    before = session.identity
    ids = []
    while len(ids) < 200:
        ids += client.pipelined("next", "orders", times=at_once)
    assert session.identity != before and session._next < 200  # pylint: disable=protected-access
    assert twice_and_holes(ids) == (0, 0)
