"""Signal handlers that raise, return, or call the client, in the middle of a call of the blocking client."""

import os
import signal
import threading

import pytest

import seqd
from servers.mongod import wait_for
from servers.patience import PATIENCE

LONG = 30.0 * PATIENCE


def until_sent(client):
    session = client._connection._session  # pylint: disable=protected-access
    wait_for("the request", lambda: session._sent)  # pylint: disable=protected-access


def test_AnInterruptedCallIsAbandonedAndTheClientStaysUsable(daemon):
    class Interrupt(Exception):
        pass

    def interrupt(*_):
        raise Interrupt

    client = seqd.Client(daemon.socket, timeout=LONG)
    assert client.next("orders") == 1
    previous = signal.signal(signal.SIGUSR1, interrupt)
    try:
        daemon.process.send_signal(signal.SIGSTOP)
        others = []
        other = threading.Thread(target=lambda: others.append(client.next("orders")))
        sender = threading.Thread(target=lambda: (until_sent(client), other.start(), os.kill(os.getpid(), signal.SIGUSR1)))
        with pytest.raises(Interrupt):
            sender.start()
            client.next("orders")
        daemon.process.send_signal(signal.SIGCONT)
        sender.join()
        other.join(LONG)
        assert len(others) == 1 and client.next("orders") > others[0]
    finally:
        signal.signal(signal.SIGUSR1, previous)
        client.close()


def test_ASignalHandlerThatCallsTheClientGetsAnError(daemon):
    """In the middle of a call of the same thread the client cannot serve another one; it says so, and the call goes on."""
    client = seqd.Client(daemon.socket, timeout=LONG)
    client.ping()
    said = []

    def handler(*_):
        try:
            client.next("orders")
        except RuntimeError as error:
            said.append(str(error))
        daemon.process.send_signal(signal.SIGCONT)

    previous = signal.signal(signal.SIGUSR1, handler)
    try:
        daemon.process.send_signal(signal.SIGSTOP)
        threading.Thread(target=lambda: (until_sent(client), os.kill(os.getpid(), signal.SIGUSR1))).start()
        assert client.next("orders") == 1
        assert len(said) == 1 and "signal handler" in said[0]
        assert client.next("orders") == 2
    finally:
        signal.signal(signal.SIGUSR1, previous)
        client.close()


@pytest.mark.limit(60)
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # some interrupts fall into the interpreter's own callbacks
def test_InterruptsAtAnyMomentLeaveTheClientUsable(daemon):
    """Exceptions of a signal handler fall between any two instructions of a call, of a thread that leads and of one that follows.
    No call hangs afterwards, and no ID comes twice."""
    class Interrupt(Exception):
        pass

    armed = [False]

    def handler(*_):
        if armed[0]:
            armed[0] = False
            raise Interrupt

    client = seqd.Client(daemon.socket, timeout=LONG)
    stopping = threading.Event()
    ids = []

    def work():
        while not stopping.is_set():
            ids.append(client.next("orders"))

    others = [threading.Thread(target=work) for _ in range(2)]
    previous = signal.signal(signal.SIGALRM, handler)
    timer = signal.setitimer(signal.ITIMER_REAL, 0)
    interrupted = 0
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.001, 0.00137)
        for number in range(3000):
            if number == 1500:
                for thread in others:
                    thread.start()
            try:
                armed[0] = True
                try:
                    ids.append(client.next("orders"))
                finally:
                    armed[0] = False
            except Interrupt:
                interrupted += 1
        signal.setitimer(signal.ITIMER_REAL, 0)
        stopping.set()
        for thread in others:
            thread.join(LONG)
            assert not thread.is_alive()
        assert client.next("orders") > max(ids)
        assert interrupted > 20 and len(set(ids)) == len(ids)
    finally:
        stopping.set()
        signal.signal(signal.SIGALRM, previous)
        signal.setitimer(signal.ITIMER_REAL, *timer)
        client.close()


def test_ASignalHandlerThatReturnsChangesNothing(daemon):
    """A profiler's timer interrupts the waits of a call; its time is over all the same."""
    client = seqd.Client(daemon.socket)
    client.next("orders")
    ticks = []
    previous = signal.signal(signal.SIGPROF, lambda *_: ticks.append(1))
    stop = threading.Event()

    def tick():
        while not stop.wait(0.01):
            os.kill(os.getpid(), signal.SIGPROF)

    ticker = threading.Thread(target=tick)
    ticker.start()
    try:
        daemon.process.send_signal(signal.SIGSTOP)
        with pytest.raises(seqd.TimedOut):
            client.next("orders", timeout=0.5)
        daemon.process.send_signal(signal.SIGCONT)
        assert client.next("orders", timeout=LONG) > 1
        assert len(ticks) > 1
    finally:
        stop.set()
        ticker.join()
        signal.signal(signal.SIGPROF, previous)
        client.close()


@pytest.mark.limit(60)
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_ClosingInASignalHandlerEndsTheCall(daemon):
    """Wherever the signal falls: close() does its work, or says that it cannot; the call ends with an error of the package or that."""
    def handler(*_):
        if armed[0]:
            client.close()
            armed[0] = False  # not after an error, which the interpreter may pass over: in its own callbacks

    armed = [False]
    ended = set()
    previous = signal.signal(signal.SIGALRM, handler)
    timer = signal.setitimer(signal.ITIMER_REAL, 0.001, 0.00137)
    try:
        for _ in range(150):
            client = seqd.Client(daemon.socket, timeout=LONG)
            armed[0] = True
            try:
                while True:
                    client.next("orders")
            except (seqd.ClosedError, RuntimeError) as error:
                armed[0] = False
                ended.add(type(error).__name__)
            client.close()
    finally:
        signal.setitimer(signal.ITIMER_REAL, *timer)
        signal.signal(signal.SIGALRM, previous)
    assert "ClosedError" in ended and ended <= {"ClosedError", "RuntimeError"}
