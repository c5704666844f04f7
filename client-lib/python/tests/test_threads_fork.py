"""Several threads on one client, and children made by fork()."""

import asyncio
import copy
import ctypes
import multiprocessing
import os
import pickle
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest

import seqd
from conftest import HERE
from hostile import Server
from seqd import aio
from servers.patience import PATIENCE, PROGRAM_SECONDS
from takers import twice_and_holes

LONG = 30.0 * PATIENCE


def in_child(function, fork=os.fork):
    """What the function returns in a child made by fork(), as a value to wait for."""
    out, into = os.pipe()
    pid = fork()
    if pid == 0:
        try:
            os.close(out)
            answer = (function(), None)
        except BaseException as error:  # pylint: disable=broad-except
            answer = (None, f"{type(error).__name__}: {error}")
        with os.fdopen(into, "wb") as pipe:
            pickle.dump(answer, pipe)
        os._exit(0)
    os.close(into)

    def wait():
        with os.fdopen(out, "rb") as pipe:
            result, error = pickle.load(pipe)
        os.waitpid(pid, 0)
        assert error is None, error
        return result

    return wait


def c_fork():
    """fork() without Python's knowledge, as of a server written in C."""
    return ctypes.PyDLL(None).fork()


@pytest.mark.limit(60)
def test_ThreadsShareOneConnection(daemon):
    client = seqd.Client(daemon.socket, timeout=LONG)
    received = [[] for _ in range(32)]

    def work(ids):
        for turn in range(300):
            ids.extend(client.next_many("orders", 3) if turn % 5 == 0 else [client.next("orders")])

    threads = [threading.Thread(target=work, args=(ids,)) for ids in received]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LONG)
    assert all(len(ids) == 300 + 2 * 60 for ids in received)
    assert twice_and_holes([number for ids in received for number in ids]) == (0, 0)
    assert client.status()["connections"] == 1
    client.close()


def test_RequestsOfThreadsGoOutTogether(daemon):
    """A daemon that is frozen has them all before it answers the first."""
    client = seqd.Client(daemon.socket, timeout=LONG)
    client.ping()
    daemon.process.send_signal(19)
    ids = []
    threads = [threading.Thread(target=lambda: ids.append(client.next("orders"))) for _ in range(50)]
    for thread in threads:
        thread.start()
    session = client._connection._session  # pylint: disable=protected-access
    while session._sent < 50:  # pylint: disable=protected-access
        assert any(thread.is_alive() for thread in threads)
    daemon.process.send_signal(18)
    for thread in threads:
        thread.join(LONG)
    assert sorted(ids) == list(range(1, 51))
    client.close()


@pytest.mark.parametrize("hasty_first", [False, True])
def test_ThreadsWithTimesOfTheirOwn(daemon, hasty_first):
    """The time of each call counts, whichever thread reads for the others, and whichever ends first."""
    client = seqd.Client(daemon.socket, timeout=LONG)
    client.ping()
    daemon.process.send_signal(19)
    ended = []

    def work(timeout):
        try:
            ended.append(client.next("orders", timeout=timeout))
        except seqd.TimedOut:
            ended.append(timeout)

    patient = [threading.Thread(target=work, args=(LONG,)) for _ in range(3)]
    hasty = [threading.Thread(target=work, args=(timeout,)) for timeout in (0.3, 0.1, 0.2)]
    for thread in [*hasty, *patient] if hasty_first else [*patient, *hasty]:
        thread.start()
    for thread in hasty:
        thread.join(LONG)
    assert sorted(ended) == [0.1, 0.2, 0.3]
    daemon.process.send_signal(18)
    for thread in patient:
        thread.join(LONG)
    assert len(ended) == 6 and len(set(ended[3:])) == 3
    client.close()


def test_ClosingEndsTheCallsOfOtherThreads(daemon):
    client = seqd.Client(daemon.socket, timeout=LONG)
    client.ping()
    daemon.process.send_signal(19)
    errors = []

    def work():
        try:
            client.next("orders")
        except seqd.SeqdError as error:
            errors.append(error.code)

    threads = [threading.Thread(target=work) for _ in range(5)]
    for thread in threads:
        thread.start()
    session = client._connection._session  # pylint: disable=protected-access
    while session._sent < 5:  # pylint: disable=protected-access
        assert any(thread.is_alive() for thread in threads)
    client.close()
    for thread in threads:
        thread.join(LONG)
    assert errors == ["CLOSED"] * 5
    daemon.process.send_signal(18)


@pytest.mark.parametrize("fork", [os.fork, c_fork], ids=["os.fork", "fork in C"])
def test_AChildHasAConnectionAndAnIdentityOfItsOwn(daemon, fork):
    client = seqd.Client(daemon.socket, timeout=LONG)
    ids = [client.next("orders") for _ in range(5)]
    connection = client._connection  # pylint: disable=protected-access

    def child():
        taken = [client.next("orders") for _ in range(100)]
        return taken, connection._session.identity  # pylint: disable=protected-access

    children = [in_child(child, fork) for _ in range(4)]
    ids += [client.next("orders") for _ in range(100)]
    identities = {connection._session.identity}  # pylint: disable=protected-access
    for wait in children:
        taken, identity = wait()
        ids += taken
        identities.add(identity)
    assert len(identities) == 5 and twice_and_holes(ids) == (0, 0)
    client.close()


def test_AChildHasForgottenItsParentBeforeItsFirstCall(daemon):
    """Also where it has its parent's process ID, as in a PID namespace of its own."""
    client = seqd.Client(daemon.socket, timeout=LONG)
    client.next("orders")
    connection = client._connection  # pylint: disable=protected-access
    descriptor = connection._socket.fileno()  # pylint: disable=protected-access

    def child():
        return connection._session.identity, os.path.exists(f"/proc/self/fd/{descriptor}")  # pylint: disable=protected-access

    identity, is_open = in_child(child)()
    assert identity != connection._session.identity and not is_open  # pylint: disable=protected-access
    assert client.next("orders") == 2
    client.close()


def test_AChildOfAProcessWithCallsInFlight(daemon):
    """Another thread holds the lock, or waits as the leader, at the moment of the fork."""
    client = seqd.Client(daemon.socket, timeout=LONG)
    stopping = threading.Event()
    ids = []

    def work():
        while not stopping.is_set():
            ids.append(client.next("orders"))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    taken = []
    for _ in range(20):
        taken += in_child(lambda: [client.next("orders") for _ in range(10)])()
    stopping.set()
    for thread in threads:
        thread.join(LONG)
    assert len(taken) == 200 and ids
    assert twice_and_holes(ids + taken) == (0, 0)
    client.close()


def test_AChildOfALoopWithCallsInFlight(daemon):
    client = aio.Client(daemon.socket, timeout=LONG)

    def child():
        async def run():
            return [await client.next("orders") for _ in range(10)]

        return asyncio.run(run())

    async def run():
        ids = [await client.next("orders")]
        taken = []
        for _ in range(5):
            calls = [asyncio.ensure_future(client.next("orders")) for _ in range(20)]
            await asyncio.sleep(0)
            wait = in_child(child)
            ids += await asyncio.gather(*calls)
            taken += await asyncio.get_running_loop().run_in_executor(None, wait)
        ids.append(await client.next("orders"))
        await client.close()
        return ids + taken

    ids = asyncio.run(run())
    assert len(ids) == 2 + 5 * 30 and twice_and_holes(ids) == (0, 0)


def worker(path, results):
    """As a worker of gunicorn: made by fork from a process that has loaded, and used, the application's client."""
    results.put([worker.client.next("orders") for _ in range(200)])


@pytest.mark.limit(60)
def test_WorkersOfAPreloadedApplication(daemon):
    context = multiprocessing.get_context("fork")
    worker.client = seqd.Client(daemon.socket, timeout=LONG)
    ids = [worker.client.next("orders")]
    results = context.Queue()
    processes = [context.Process(target=worker, args=(daemon.socket, results)) for _ in range(6)]
    for process in processes:
        process.start()
    for _ in processes:
        ids += results.get(timeout=LONG)
    for process in processes:
        process.join(LONG)
    assert twice_and_holes(ids) == (0, 0)
    assert worker.client.next("orders") == max(ids) + 1
    worker.client.close()


def test_TheClientOfTheProcess(daemon, monkeypatch):
    monkeypatch.setenv("SEQD_SOCKET", str(daemon.socket))
    monkeypatch.setattr("seqd.client._default", None)
    assert seqd.default_client() is seqd.default_client()
    assert seqd.default_client().next("orders") == 1
    seqd.default_client().close()


@pytest.mark.parametrize("kind", [seqd.Client, aio.Client])
@pytest.mark.parametrize("copied", [lambda client: pickle.loads(pickle.dumps(client)), copy.copy, copy.deepcopy],
                         ids=["pickle", "copy", "deepcopy"])
def test_ACopyOfAClientIsAnotherClientWithItsOptions(daemon, kind, copied):
    """Two objects with one identity would get each other's IDs."""
    client = kind(daemon.socket, name="shop", timeout=LONG, connect_timeout=7.0, blocks="auto")
    other = copied(client)
    sessions = [one._connection._session for one in (client, other)]  # pylint: disable=protected-access
    assert sessions[0] is not sessions[1] and sessions[0].identity != sessions[1].identity
    assert client.__reduce__() == other.__reduce__()

    async def take():
        found = []
        for one in (client, other):
            following, closing = one.next("orders"), one.close
            found.append(await following if kind is aio.Client else following)
            await closing() if kind is aio.Client else closing()
        return found

    assert asyncio.run(take()) == [1, 2]


def take_some(client, results):
    """In a process that was spawned: the client came to it by pickle."""
    results.put([client.next("orders") for _ in range(20)])


@pytest.mark.limit(60)
def test_ASpawnedProcessTakesTheClientAsAnArgument(daemon):
    context = multiprocessing.get_context("spawn")
    results = context.Queue()
    with seqd.Client(daemon.socket, timeout=LONG) as client:
        ids = [client.next("orders")]
        processes = [context.Process(target=take_some, args=(client, results)) for _ in range(2)]
        for process in processes:
            process.start()
        for _ in processes:
            ids += results.get(timeout=LONG)
        for process in processes:
            process.join(LONG)
    assert twice_and_holes(ids) == (0, 0) and len(ids) == 41


CLOSING = """
import sys, seqd
if sys.argv[1] == "django":
    from django.conf import settings
    settings.configure(SEQD_SOCKET=sys.argv[2])
    from seqd.django import client
    client().next("orders")
else:
    seqd.default_client().next("orders")
"""


@pytest.mark.parametrize("of", ["the process", "django"])
def test_TheClientOfTheProcessIsClosedAtItsEnd(of):
    """It acknowledges, so that the daemon can forget what it kept for it."""
    heard = []

    def act(line):
        line.greet()
        line.say(line.request()[1], 1)
        while (message := line.read()) is not None:
            heard.append(message)

    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        server = Server(Path(folder) / "s", act)
        done = subprocess.run([sys.executable, "-B", "-W", "error", "-c", CLOSING, of, str(server.path)], capture_output=True, text=True,
                              env={**os.environ, "PYTHONPATH": str(HERE.parent / "src"), "SEQD_SOCKET": str(server.path)},
                              timeout=PROGRAM_SECONDS, check=False)
        server.close()
    assert (done.returncode, done.stderr) == (0, "") and not server.failures
    assert heard == [[2, "ack", [2]]]
