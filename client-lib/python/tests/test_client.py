"""Every method on the real daemon, for both clients: results, errors, time-outs, the choice of the socket."""

import asyncio
import datetime
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import typing

import pytest

import seqd
from conftest import HERE
from seqd import aio, errors
from servers.mongod import expect_soon
from servers.patience import PATIENCE

INVOICE = "INV-{date:%y%m%d}-{number:6}{check:luhn}"
LONG = 30.0 * PATIENCE


def test_EveryMethodOfTheClient(make_daemon, make_client):
    daemon = make_daemon(sequences={"invoices": {"format": INVOICE}, "down": {"start": 10, "increment": -3, "min": -100, "max": 10}}).start()
    client = make_client(daemon.socket)
    assert [client.next("orders") for _ in range(3)] == [1, 2, 3]
    assert client.range("orders", 5) == [range(4, 9)]
    assert client.next_many("orders", 3) == [9, 10, 11]
    assert client.range("down", 4) == [range(10, -2, -3)] and client.next_many("down", 2) == [-2, -5]
    text = client.next_text("invoices")
    parsed = client.parse("invoices", text)
    assert parsed.number == 1 and parsed.check == "luhn" and parsed.period == datetime.date(
        parsed.date["year"], parsed.date["month"], parsed.date["day"]).isoformat()
    assert client.peek("orders").next == 12 and client.peek("orders").last == 11
    assert client.peek("nobody") == seqd.Peeked(None, 0, None)
    status = client.status()
    assert status["sequences"] == 3 and status["pid"] == daemon.process.pid
    assert client.ping() is None
    assert client.call("explain", "orders", 1)["answer"] == "issued"
    assert [row["name"] for row in client.call("list", {"limit": 2})] == ["down", "invoices"]
    assert client.call("next", "orders") == 12


def test_StatusHasAllThatTheDaemonTells(make_daemon, make_client):
    daemon = make_daemon(sequences={"invoices": {"format": INVOICE}}).start()
    client = make_client(daemon.socket)
    client.next_many("orders", 5)
    with pytest.raises(seqd.BadText):
        client.parse("invoices", "no text of it")
    client.call("drain", "orders")
    expect_soon("the rate of a sequence", lambda: client.next("orders") and client.status()["runway_ms"] is not None)
    status = client.status()
    assert set(status) == set(typing.get_type_hints(seqd.Status))
    assert status["runway_sequence"] == "orders" and status["leases"] >= 2 and status["gaps"] > 0 and status["errors"] == 1


def test_IdsOf64Bits(make_daemon, make_client):
    daemon = make_daemon(sequences={"big": {"first_id": 2**63 - 12, "max_value": 2**63 - 2}}).start()
    client = make_client(daemon.socket)
    assert client.next("big") == 2**63 - 12 and client.next_many("big", 3) == [2**63 - 11, 2**63 - 10, 2**63 - 9]


def test_ErrorsAreClasses(make_daemon, make_client):
    daemon = make_daemon(limits={"max_count": 1000}, sequences={"invoices": {"format": INVOICE}, "few": {"max_value": 2}},
                         defaults={"wait_timeout": "1s"}).start()
    client = make_client(daemon.socket)
    with pytest.raises(seqd.TooLarge):
        client.range("orders", 1001)
    with pytest.raises(seqd.BadRequest):
        client.next("no such name!")
    with pytest.raises(seqd.BadText) as caught:
        client.parse("invoices", "INV-1")
    assert (caught.value.code, caught.value.fault, caught.value.temporary) == ("BAD_TEXT", 1, False)
    assert caught.value.text and str(caught.value) == f"BAD_TEXT: {caught.value.text}"
    with pytest.raises(seqd.NoMethod):
        client.call("destroy")
    assert client.next_many("few", 2) == [1, 2]
    with pytest.raises(seqd.Exhausted):
        client.next("few")
    results = client.pipelined("next", "few", times=3)
    assert all(isinstance(one, seqd.Exhausted) for one in results) and len({id(one) for one in results}) == 3


@pytest.mark.parametrize("call", [
    lambda client: client.next(7), lambda client: client.next("\udc80"), lambda client: client.range("orders", 0),
    lambda client: client.range("orders", True), lambda client: client.range("orders", 1.0), lambda client: client.next("orders", timeout=0),
    lambda client: client.next("orders", timeout="5"), lambda client: client.next("orders", timeout=float("nan")),
    lambda client: client.call("hello"), lambda client: client.call("ack", 5), lambda client: client.call("insert", "people", {}),
    lambda client: client.call("list", object()), lambda client: client.insert("people", []),
    lambda client: client.insert("people", {"a": object()}), lambda client: client.insert("people", {"a": 1}, unique=""),
    lambda client: client.insert("people", {"a": 2**70}), lambda client: client.parse("orders", 5)])
def test_WhatNoDaemonWouldAcceptIsNotSent(daemon, make_client, call):
    client = make_client(daemon.socket)
    assert client.next("orders") == 1
    with pytest.raises(seqd.ArgumentError) as caught:
        call(client)
    assert isinstance(caught.value, ValueError)
    assert client.next("orders") == 2


def deep(levels):
    made = []
    for _ in range(levels - 1):
        made = [made]
    return made


def test_ARequestAboveALimitOfTheDaemonHurtsNoOtherCall(daemon, make_client):
    """frame, depth and name: the error is of this call only, and the connection stays."""
    client = make_client(daemon.socket)
    assert client.next("orders") == 1
    (connection,) = client.call("clients")["clients"]
    for method, parameters, error in (
            ("call", ("list", {"after": "x" * 70_000}), seqd.TooLarge), ("next", ("x" * 70_000,), seqd.TooLarge),
            ("insert", ("people", {"name": "x" * 70_000}), seqd.TooLarge), ("next_text", ("x" * 129,), seqd.TooLarge),
            ("next", ("x" * 129,), seqd.TooLarge), ("call", ("list", deep(7)), seqd.BadRequest), ("call", ("list", deep(6)), seqd.BadRequest),
            ("insert", ("people", {"name": deep(6)}), seqd.BadRequest)):
        with pytest.raises(error):
            getattr(client, method)(*parameters)
    assert client.next("orders") == 2
    assert [one["id"] for one in client.call("clients")["clients"]] == [connection["id"]]


def test_ErrorsCanBePickledAndCopied():
    for kind in (*errors.BY_CODE.values(), seqd.ConnectError, seqd.TimedOut, seqd.ClosedError):
        error = kind("some words")
        error.temporary = not error.temporary
        for copied in (pickle.loads(pickle.dumps(error)), error.again()):
            assert type(copied) is kind and copied is not error
            assert (copied.code, copied.text, copied.temporary, str(copied)) == (error.code, "some words", error.temporary, str(error))
    assert issubclass(seqd.TimedOut, TimeoutError) and issubclass(seqd.ConnectError, ConnectionError)


def test_TheSocketIsTheOneNamedOrOfTheEnvironmentOrOfThePackage(daemon, monkeypatch):
    monkeypatch.setenv("SEQD_SOCKET", str(daemon.socket))
    with seqd.Client() as client:
        assert client.next("orders") == 1
    monkeypatch.setenv("SEQD_SOCKET", "/nowhere")
    with seqd.Client(daemon.socket) as client:
        assert client.next("orders") == 2
    monkeypatch.delenv("SEQD_SOCKET")
    from seqd import _socket
    assert _socket.socket_path() == "/run/seqd.sock"
    for path in ("", "x" * 108, "a\0b", b"/bytes"):
        with pytest.raises(seqd.ArgumentError):
            seqd.Client(path)


def test_WithoutADaemonACallEndsAtItsTime(scratch, make_client):
    client = make_client(scratch / "none", timeout=LONG, connect_timeout=0.5)
    with pytest.raises(seqd.ConnectError, match="No such file") as caught:
        client.next("orders")
    assert caught.value.temporary


def test_WhereWaitingDoesNotHelpACallEndsAtOnce(scratch, make_client):
    (scratch / "file").write_text("no socket")
    (scratch / "folder").mkdir()
    client = make_client(scratch / "file" / "below", timeout=LONG)
    with pytest.raises(seqd.ConnectError) as caught:
        client.next("orders")
    assert not caught.value.temporary


def test_ACallWaitsForADaemonThatStarts(make_daemon, make_client):
    daemon = make_daemon()
    client = make_client(daemon.socket, timeout=LONG)
    ids = []
    worker = threading.Thread(target=lambda: ids.append(client.next("orders")))
    worker.start()
    daemon.start()
    worker.join(LONG)
    assert ids == [1]


def test_ARequestCarriesTheRemainingTime(make_daemon, make_client):
    """An unreachable store: the daemon's UNAVAILABLE comes, with its reason, before the client's own time-out."""
    daemon = make_daemon(stores={"mongo": {"type": "mongodb", "uri": "mongodb://127.0.0.1:9/?serverSelectionTimeoutMS=100"}}).start()
    client = make_client(daemon.socket, timeout=LONG)

    def refused():
        try:
            client.next("orders", timeout=3.0)  # a tenth of it is what the reply may take
        except seqd.Unavailable as error:
            return error
        except (seqd.TimedOut, seqd.ConnectError):
            return None

    assert expect_soon("the reason of the daemon", refused).temporary


def test_AFrozenDaemonEndsInATimeOutAndThawsWithoutADouble(daemon, make_client):
    client = make_client(daemon.socket)
    ids = [client.next("orders")]
    daemon.process.send_signal(signal.SIGSTOP)
    with pytest.raises(seqd.TimedOut):
        client.next("orders", timeout=0.1)
    daemon.process.send_signal(signal.SIGCONT)
    ids += [client.next("orders", timeout=LONG) for _ in range(20)]
    assert ids == sorted(set(ids))


def test_AClosedClient(daemon, make_client):
    client = make_client(daemon.socket)
    client.next("orders")
    client.close()
    if isinstance(client, seqd.Client):
        with pytest.raises(seqd.ClosedError):
            client.next("orders")
    else:
        with pytest.raises(seqd.ClosedError):
            asyncio.run(client.client.next("orders"))


def test_ClosingAcknowledges(daemon):
    with seqd.Client(daemon.socket) as client:
        for _ in range(5):
            client.next("orders")
        connection = client._connection  # pylint: disable=protected-access
        identity = connection._session.identity  # pylint: disable=protected-access
    with daemon.connect() as raw:
        raw.call("hello", {"client": identity})
        raw.ids = iter([3])
        error = raw.error("next", "orders")
        assert error.code == "BAD_REQUEST" and "acknowledged" in error.text


def test_APipelineGivesResultsInOrderAndErrorsOnDemand(daemon):
    with seqd.Client(daemon.socket) as client:
        pipeline = client.pipeline()
        for _ in range(3):
            pipeline.next("orders")
        pipeline.range("orders", 2)
        pipeline.next_many("orders", 1)
        assert len(pipeline) == 5
        assert pipeline.execute() == [1, 2, 3, [range(4, 6)], [6]]
        assert pipeline.execute() == []
        pipeline.next("orders")
        pipeline.call("destroy")
        with pytest.raises(seqd.NoMethod):
            pipeline.execute()
        pipeline.call("destroy")
        pipeline.next("orders")
        refused, following = pipeline.execute(return_exceptions=True)
        assert isinstance(refused, seqd.NoMethod) and following == 8


def test_CancellationTakesNoIdBeforeTheRequestIsSent(daemon):
    async def run():
        async with aio.Client(daemon.socket) as client:
            first = await client.next("orders")
            tasks = [asyncio.ensure_future(client.next("orders")) for _ in range(10)]
            await asyncio.sleep(0)  # they have begun; what they send goes out at the end of this turn
            for task in tasks:
                task.cancel()
            assert all(isinstance(one, asyncio.CancelledError) for one in await asyncio.gather(*tasks, return_exceptions=True))
            return first, await client.next("orders")

    assert asyncio.run(run()) == (1, 2)


def test_CancellationOfWhatIsInFlight(daemon):
    async def run():
        async with aio.Client(daemon.socket, timeout=LONG) as client:
            await client.ping()
            daemon.process.send_signal(signal.SIGSTOP)
            given_up = [asyncio.ensure_future(client.next("orders")) for _ in range(50)]
            kept = [asyncio.ensure_future(client.next("orders")) for _ in range(50)]
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(client.next("orders"), 0.05)
            for task in given_up:
                task.cancel()
            await asyncio.wait(given_up)
            daemon.process.send_signal(signal.SIGCONT)
            ids = await asyncio.gather(*kept)
            # Still the same connection, and the replies that nobody waits for are dropped.
            assert len(set(ids)) == 50 and await client.next("orders") == 102
            assert not client._connection._session.busy  # pylint: disable=protected-access

    asyncio.run(run())


def test_AClientOfAnotherLoop(daemon):
    client = aio.Client(daemon.socket)
    assert asyncio.run(client.next("orders")) == 1
    assert asyncio.run(client.next("orders")) == 2, "the first loop is closed"
    loop = asyncio.new_event_loop()
    assert loop.run_until_complete(client.next("orders")) == 3
    with pytest.raises(RuntimeError, match="another event loop"):
        asyncio.run(client.next("orders"))
    loop.run_until_complete(client.close())
    loop.close()


def shell(daemon, *arguments):
    environment = {**os.environ, "SEQD_SOCKET": str(daemon.socket), "PYTHONPATH": str(HERE.parent / "src")}
    done = subprocess.run([sys.executable, "-B", "-m", "seqd", *arguments], env=environment, capture_output=True, text=True,
                          timeout=LONG, check=False)
    return done.returncode, done.stdout, done.stderr


def test_TheCommand(make_daemon):
    daemon = make_daemon(sequences={"invoices": {"format": INVOICE}}).start()
    assert shell(daemon, "next", "orders") == (0, "1\n", "")
    assert shell(daemon, "next", "orders", "-n", "3") == (0, "2\n3\n4\n", "")
    assert shell(daemon, "range", "orders", "10") == (0, "5 10 1\n", "")
    code, texts, _ = shell(daemon, "next", "invoices", "--text", "-n", "2")
    assert code == 0 and len(texts.split()) == 2
    assert '"number": 2' in shell(daemon, "parse", "invoices", texts.split()[1])[1]
    assert '"next": 15' in shell(daemon, "peek", "orders")[1] and '"pid"' in shell(daemon, "status")[1]
    assert '"issued"' in shell(daemon, "call", "explain", "orders", "1")[1]
    code, _, said = shell(daemon, "next", "no such name!")
    assert code == 1 and said.startswith("BAD_REQUEST: ")
    code, _, said = shell(daemon, "--socket", "/nowhere", "--timeout", "0.1", "next", "orders")
    assert code == 75 and said.startswith("CONNECT: ")
    assert shell(daemon, "next")[0] == 2 and shell(daemon, "next", "orders", "-n", "0")[0] == 2


def test_TheExample(daemon):
    example = HERE.parents[1] / "examples" / "next.py"
    environment = {**os.environ, "PYTHONPATH": str(HERE.parent / "src")}
    done = subprocess.run([sys.executable, "-B", str(example), "orders", str(daemon.socket)], env=environment, capture_output=True,
                          text=True, timeout=LONG, check=True)
    assert done.stdout.splitlines() == ["one ID: 1", *[f"and {number}" for number in range(2, 12)]]


def test_AnIdleClientUsesNoProcessor(daemon, make_client):
    client = make_client(daemon.socket)
    client.next("orders")
    daemon.process.send_signal(signal.SIGSTOP)
    before = time.process_time()
    with pytest.raises(seqd.TimedOut):
        client.next("orders", timeout=1.0)
    daemon.process.send_signal(signal.SIGCONT)
    assert time.process_time() - before < 0.5, "a wait of a second that spins uses all of it"


def test_WithoutDescriptorsACallEndsWithAnErrorOfThePackage(daemon):
    """One is left, so the socket can be made and nothing else."""
    program = """
import os, resource
import seqd
client = seqd.Client(timeout=60.0)
most = os.dup(0)
os.close(most)
limits = resource.getrlimit(resource.RLIMIT_NOFILE)
for left in (0, 1, 2):
    resource.setrlimit(resource.RLIMIT_NOFILE, (most + left, limits[1]))
    try:
        client.next("orders")
        print("an ID")
    except seqd.ConnectError as error:
        print(error.code, error.temporary)
resource.setrlimit(resource.RLIMIT_NOFILE, limits)
print(client.next("orders"))
"""
    environment = {**os.environ, "SEQD_SOCKET": str(daemon.socket), "PYTHONPATH": str(HERE.parent / "src")}
    done = subprocess.run([sys.executable, "-B", "-c", program], env=environment, capture_output=True, text=True, timeout=LONG, check=False)
    assert (done.stdout, done.stderr) == ("CONNECT True\n" * 3 + "1\n", "")
