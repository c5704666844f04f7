"""The protocol core alone: what is sent when, byte by byte, without a socket and without a clock."""

import os
import subprocess
import sys

import msgpack
import pytest

from conftest import HERE
from seqd import _requests, _session, errors
from servers.patience import PROGRAM_SECONDS

LIMITS = {"frame": 65536, "depth": 8, "name": 128, "count": 100000, "pipeline": 4096, "unacknowledged": 16384}


class World:
    """A session and what its daemon would see and say."""

    def __init__(self, first_number=1, **limits):
        self.ended = []
        self.session = _session.Session(self.ended.append, "test", first_number)
        self.limits = {**LIMITS, **limits}

    def connect(self, known=False):
        self.session.connected()
        (hello,) = self.sent()
        assert hello == [0, 0, "hello", [{"client": self.session.identity, "name": "test"}]]
        assert self.say(0, {"server": "seqd", "version": "1", "protocol": 1, "known": known, "instance": "i",
                            "connection": "c", "limits": self.limits})

    def sent(self, now=0.0):
        messages = []
        while True:
            output = self.session.output(now)
            if not output:
                return messages
            unpacker = msgpack.Unpacker()
            unpacker.feed(output)
            messages.extend(unpacker)

    def say(self, number, result=None, error=None):
        return self.session.receive(msgpack.packb([1, number, error, result]))

    def submit(self, request=None, deadline=10.0):
        request = request or _requests.next_id("orders")
        self.session.submit(request, deadline, deadline)
        return request

    def numbers(self, now=0.0):
        return [message[1] for message in self.sent(now) if message[0] == 0]


def acks(messages):
    return [message[2][0] for message in messages if message[0] == 2]


def test_NothingIsSentBeforeTheHelloIsAnswered():
    world = World()
    world.submit()
    world.session.connected()
    assert [message[2] for message in world.sent()] == ["hello"]
    assert not world.sent()


def test_NumbersIncreaseAndRequestsTellTheTimeThatIsLeft():
    world = World()
    world.connect()
    world.submit(deadline=10.0)
    world.submit(_requests.id_range("orders", 5), deadline=2.0)
    world.submit(_requests.peek("orders"))
    assert world.sent(now=1.0) == [[0, 1, "next", ["orders", {"timeout_ms": 8100}]],
                                   [0, 2, "range", ["orders", 5, {"timeout_ms": 900}]],
                                   [0, 3, "peek", ["orders"]]]


def test_TheDaemonHasALittleLessTimeThanTheCaller():
    assert [_session.wait_within(left) for left in (5.0, 0.1, 0.009, 0.0, -1.0)] == [4500, 90, 8, 0, 0]
    assert _session.wait_within(1e8) == 3_600_000


def test_EveryEightRepliesAreAcknowledgedWithTheNextRequest():
    world = World()
    world.connect()
    for number in range(1, 9):
        world.submit()
        assert not acks(world.sent())
        world.say(number, number)
    assert not world.sent(), "eight replies can wait for the next request"
    world.submit()
    messages = world.sent()
    assert messages[0] == [2, "ack", [9]] and messages[1][1] == 9


def test_ABurstOfMoreThanEightIsAcknowledgedThoughNoRequestFollows():
    world = World()
    world.connect()
    for _ in range(9):
        world.submit()
    world.sent()
    for number in range(1, 10):
        world.say(number, number)
    assert world.sent() == [[2, "ack", [10]]]
    assert not world.sent()


def test_TheAckIsTheLowestNumberWithoutAReply():
    world = World()
    world.connect()
    for _ in range(20):
        world.submit()
    world.sent()
    for number in (1, 2, *range(4, 21)):
        world.say(number, number)
    assert acks(world.sent()) == [3]
    world.say(3, 3)
    for _ in range(8):
        world.submit()
    world.sent()
    for number in range(21, 29):
        world.say(number, number)
    world.submit()
    assert acks(world.sent())[-1] == 29


def test_AfterABusyTheNextRequestIsPrecededByAnAck():
    world = World()
    world.connect()
    busy = world.submit()
    world.sent()
    world.say(1, error=[0, "BUSY: too much"])
    assert isinstance(busy.error, errors.Busy) and busy.error.temporary
    world.submit()
    assert [message[0] for message in world.sent()] == [2, 0]


def test_AfterAReconnectTheAckComesFirstThenTheRepeatsInOrder():
    world = World()
    world.connect()
    requests = [world.submit() for _ in range(4)]
    world.sent()
    world.say(1, 101)
    world.say(3, 103)
    world.session.disconnected(0.0)
    newer = world.submit()
    world.connect(known=True)
    messages = world.sent(now=4.0)
    assert messages[0] == [2, "ack", [2]]
    assert [message[1] for message in messages[1:]] == [2, 4, 5]
    assert messages[1][3] == ["orders", {"timeout_ms": 5400}], "a repeat tells the time that is left"
    for number in (2, 4, 5):
        world.say(number, 100 + number)
    assert [request.result for request in [*requests, newer]] == [101, 102, 103, 104, 105]


def test_ANewConnectionAcknowledgesAgain():
    world = World()
    world.connect()
    for _ in range(20):
        world.submit()
    world.sent()
    for number in range(1, 21):
        world.say(number, number)
    assert acks(world.sent()) == [21]
    world.session.disconnected(0.0)
    world.submit()
    world.connect()
    messages = world.sent()
    assert messages[0] == [2, "ack", [21]] and messages[1][1] == 21


def test_AStoppingDaemonIsLeftWhenItHasAnsweredEverything():
    world = World()
    world.connect()
    first, second = world.submit(), world.submit()
    world.sent()
    assert world.say(1, error=[0, "STOPPING: soon"])
    third = world.submit()
    assert not world.sent(), "nothing more is sent to it"
    assert not world.say(2, 7)
    assert second.result == 7 and not world.ended == [first]
    world.session.disconnected(0.0)
    world.connect()
    assert world.numbers() == [1, 3]
    world.say(1, 8), world.say(3, 9)
    assert (first.result, third.result) == (8, 9)


def test_AnInsertIsNeverRepeated():
    world = World()
    world.connect()
    insert = world.submit(_requests.insert("people", {"name": "Ada"}, None))
    assert world.sent()[0][3] == ["people", {"name": "Ada"}, {"timeout_ms": 9000, "connection": "c"}]
    world.session.disconnected(0.0)
    assert isinstance(insert.error, errors.OutcomeUnknown)
    world.connect()
    assert not world.numbers()


def test_AnInsertThatWasNotSentYetIsSentOnTheNextConnection():
    world = World()
    insert = world.submit(_requests.insert("people", {}, None))
    world.session.connected()
    world.session.disconnected(0.0)
    world.connect()
    assert world.numbers() == [1]
    world.say(1, error=[0, "STOPPING: soon"])
    world.session.disconnected(0.0)
    world.connect()
    assert world.numbers() == [1], "STOPPING says that it was not inserted"
    world.say(1, 5)
    assert insert.result == 5


@pytest.mark.parametrize("code, kept", [("DOCUMENT_REFUSED", "DOCUMENT_REFUSED"), ("UNAVAILABLE", "OUTCOME_UNKNOWN"),
                                        ("OUTCOME_UNKNOWN", "OUTCOME_UNKNOWN")])
def test_AnErrorOfARepeatedInsertSpeaksOfTheLastAttemptOnly(code, kept):
    world = World()
    world.connect()
    insert = world.submit(_requests.insert("people", {"key": 1}, "key"))
    assert world.sent()[0][3][2]["unique"] == "key"
    world.session.disconnected(0.0)
    world.connect()
    assert world.numbers() == [1]
    world.say(1, error=[0, code + ": words"])
    assert insert.error.code == kept


def test_WhatIsOverItsDeadlineEndsAndItsLateReplyIsDropped():
    world = World()
    world.connect()
    early, late = world.submit(deadline=1.0), world.submit(deadline=5.0)
    world.sent()
    assert world.session.soonest <= 1.0
    world.session.expire(1.0, lambda: errors.ConnectError("nobody"))
    assert isinstance(early.error, errors.TimedOut) and late.state != _requests.DONE
    assert world.session.soonest == 5.0
    assert world.say(1, 77)
    assert early.result is None
    with pytest.raises(errors.ProtocolError):
        world.say(1, 77)


def test_WithoutADaemonTheShorterTimeCounts():
    world = World()
    request = _requests.next_id("orders")
    world.session.submit(request, 10.0, 1.0)
    assert world.session.soonest == 1.0
    world.session.expire(1.0, lambda: errors.ConnectError("nobody"))
    assert isinstance(request.error, errors.ConnectError)


def test_AfterAGoodConnectionTheDaemonHasTimeToComeBack():
    world = World()
    world.connect()
    request = _requests.next_id("orders")
    world.session.submit(request, 10.0, 1.0)
    world.session.disconnected(4.0)
    world.session.expire(2.0, lambda: errors.ConnectError("nobody"))
    assert request.state != _requests.DONE and world.session.soonest == 4.0
    world.session.expire(4.0, lambda: errors.ConnectError("nobody"))
    assert isinstance(request.error, errors.ConnectError)


def test_WhatIsAbandonedBeforeItWasSentTakesNoNumber():
    world = World()
    world.connect()
    given_up, wanted = world.submit(), world.submit()
    world.session.abandon(given_up)
    assert world.numbers() == [1]
    world.say(1, 42)
    assert wanted.result == 42 and not world.session.busy


def test_ManyAbandonedRequestsAreNotKept():
    world = World()
    for _ in range(10_000):
        world.session.abandon(world.submit())
    assert len(world.session._queue) < 200 and not world.session.busy  # pylint: disable=protected-access


def test_WhatIsAbandonedIsNotRepeated():
    world = World()
    world.connect()
    given_up, _ = world.submit(), world.submit()
    world.sent()
    world.session.abandon(given_up)
    world.session.disconnected(0.0)
    world.connect()
    messages = world.sent()
    assert messages[0] == [2, "ack", [2]] and [message[1] for message in messages[1:]] == [2]


def test_NoMoreIsUnacknowledgedThanTheDaemonRemembers():
    world = World(unacknowledged=100)
    world.connect()
    for _ in range(500):
        world.submit()
    assert world.numbers() == list(range(1, 101))
    for number in range(2, 101):
        world.say(number, number)
    assert not world.numbers(), "number 1 has no reply"
    world.say(1, 1)
    messages = world.sent()
    assert messages[0] == [2, "ack", [101]]
    assert [message[1] for message in messages if message[0] == 0] == list(range(101, 201))


def test_BeforeTheNumbersEndANewIdentityIsDrawn():
    world = World(first_number=_session.RENEW_FROM - 2)
    world.connect()
    world.sent()
    before = world.session.identity
    requests = [world.submit() for _ in range(4)]
    assert world.numbers() == [_session.RENEW_FROM - 2, _session.RENEW_FROM - 1]
    assert not world.session.exhausted
    world.say(_session.RENEW_FROM - 2, 1), world.say(_session.RENEW_FROM - 1, 2)
    assert world.session.exhausted
    world.session.disconnected(0.0)
    world.connect()
    assert world.session.identity != before
    assert world.numbers() == [1, 2]
    world.say(1, 3), world.say(2, 4)
    assert [request.result for request in requests] == [1, 2, 3, 4]


def test_TheLastWordsAcknowledge():
    world = World()
    world.connect()
    world.submit()
    world.sent()
    world.say(1, 1)
    assert msgpack.unpackb(world.session.last_words()) == [2, "ack", [2]]
    assert world.session.last_words() == b""


@pytest.mark.parametrize("message", [
    [1, 0, [0, "BAD_REQUEST: a message is an array"], None], [1, 5, None, 1], [1, 1.0, None, 1], [1, True, None, 1],
    [0, 1, "next", []], [1, 1, None], [], {}, 7, "text", [1, 1, None, 1, 1], [3, 1, None, 1], [True, 1, None, 1],
    [1, 1, [0], None], [1, 1, [2, "BUSY: x"], None], [1, 1, ["0", "x"], None], [1, 1, "BUSY: x", None], [1, 1, [0, 5], None],
    [1, 1, None, None], [1, 1, None, "1"], [1, 1, None, True], [1, 1, None, 1.0], [1, 1, None, 2**63], [1, 1, None, [1]],
    [1, 1, None, b"1"]])
def test_WhatNoDaemonSaysIsNotBelieved(message):
    world = World()
    world.connect()
    world.submit()
    world.sent()
    with pytest.raises(errors.ProtocolError):
        world.session.receive(msgpack.packb(message))


@pytest.mark.parametrize("runs", [
    None, 5, [5], [[1, 2]], [[1, 5, 1, 1]], [[1, 4, 1]], [[1, 6, 1]], [[1, 5, 0]], [[1, -5, 1], [1, 10, 1]], [[1, 0, 1], [1, 5, 1]],
    [[1.0, 5, 1]], [["1", 5, 1]], [[2**63 - 2, 5, 1]], [[1, 5, 2**62]], [[1, True, 1], [2, 4, 1]], []])
def test_RunsThatWereNotAskedForAreNotBelieved(runs):
    world = World()
    world.connect()
    world.submit(_requests.next_many("orders", 5))
    world.sent()
    with pytest.raises(errors.ProtocolError):
        world.say(1, runs)


def test_ANotificationOfALaterDaemonIsPassedOver():
    world = World()
    world.connect()
    request = world.submit()
    world.sent()
    world.session.receive(msgpack.packb([2, "news", [1]]) + msgpack.packb([1, 1, None, 3]))
    assert request.result == 3


def test_ClientsOfSeveralThreadsDoNotMixUpWhatTheyWrite():
    """In the interpreter whose msgpack is written in Python, and which changes threads all the time."""
    program = """
import sys, threading
import msgpack
from seqd import _requests, _session
HELLO = msgpack.packb([1, 0, None, {"protocol": 1, "known": False, "connection": "c"}])
sys.setswitchinterval(1e-6)
good = []

def work(name):
    session = _session.Session(lambda request: None)
    session.connected()
    session.output(0.0)
    session.receive(HELLO)
    for number in range(1, 1501):
        session.submit(_requests.insert(name, {}, "key"), 10.0, 10.0)
        message = msgpack.unpackb(session.output(0.0).split(b"\\x93\\x02\\xa3ack")[0] or b"\\xc0")
        assert message in (None, [0, number, "insert", [name, {}, {"timeout_ms": 9000, "connection": "c", "unique": "key"}]])
        session.receive(msgpack.packb([1, number, None, 7]))
    good.append(name)

threads = [threading.Thread(target=work, args=("n" * length,)) for length in (1, 2, 3, 4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(len(good))
"""
    environment = {**os.environ, "PYTHONPATH": str(HERE.parent / "src"), "MSGPACK_PUREPYTHON": "1"}
    done = subprocess.run([sys.executable, "-B", "-c", program], env=environment, capture_output=True, text=True,
                          timeout=PROGRAM_SECONDS, check=False)
    assert (done.stdout, done.stderr) == ("4\n", "")


def test_RetriesContinueIfTheNextDaemonRemembersLess():
    """Fewer numbers than the eight after which an acknowledgement is due."""
    world = World()
    world.connect()
    for _ in range(12):
        world.submit()
    assert len(world.numbers()) == 12
    world.session.disconnected(0.0)
    world.limits["unacknowledged"] = 5
    world.connect()
    told = []
    while new := world.numbers():
        told += new
        for number in new:
            world.say(number, number)
    assert told == list(range(1, 13))


def test_TheOldIdentityIsAcknowledgedBeforeANewOneIsDrawn():
    world = World(first_number=_session.RENEW_FROM - 1)
    world.connect()
    world.submit()
    world.sent()
    world.say(_session.RENEW_FROM - 1, 1)
    assert world.session.exhausted and world.sent() == [[2, "ack", [_session.RENEW_FROM]]]
