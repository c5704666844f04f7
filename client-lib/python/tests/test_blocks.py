"""Blocks by libseqd on the real daemon: threads, fork(), ends of the program and of the daemon, and what stands in the way."""

import ctypes
import gc
import os
import random
import shutil
import subprocess
import sys
import threading
from array import array

import pytest

import harness
import seqd
from accounting import Ledger
from seqd import _blocks, _libseqd
from servers.mongod import expect_soon, wait_for
from servers.patience import PATIENCE, PROGRAM_SECONDS
from test_threads_fork import c_fork, in_child

KILLS = int(os.environ.get("KILLS", "20")) // 2
SEED = int(os.environ.get("SEED", str(random.SystemRandom().randrange(2**32))))
LONG = 30.0 * PATIENCE
LIBSEQD = harness.BUILD / "libseqd.so"
SEQUENCES = {"orders": {"blocks": True, "wait_timeout": "30s"}, "single": {}}

# Takes IDs with two threads, of which each writes what it used, and says when it has begun.
PROGRAM = """
import os, sys, threading, seqd
client = seqd.Client(blocks=True, timeout=60.0)

def take(path):
    with open(path, "wb", buffering=0) as used:
        for turn in range(10**9):
            used.write(client.next("orders").to_bytes(8, sys.byteorder))
            if turn == 500:
                os.write(1, b"taking\\n")  # print() writes the two parts apart

for path in sys.argv[1:]:
    threading.Thread(target=take, args=(path,)).start()
"""


@pytest.fixture(autouse=True, scope="module")
def libseqd():
    """The one that is built. What is loaded under this name already is what the client finds."""
    return ctypes.CDLL(str(LIBSEQD))


@pytest.fixture(name="daemon")
def daemon_with_blocks(make_daemon):
    return make_daemon(sequences=SEQUENCES).start()


def blocks_of(client):
    """Of a client of either kind."""
    return getattr(client, "client", client)._blocks  # pylint: disable=protected-access


def requests(daemon):
    with daemon.connect(30) as client:
        return client.call("status")["requests"]


def settled(daemon):
    """The audit, when no block is out any more."""
    answers = []

    def none_out():
        with daemon.connect(30) as client:
            answers[:] = [client.call("audit", "orders")]
        assert answers[0]["good"] and answers[0]["unaccounted"] == 0, answers
        return answers[0]["out"] == 0

    expect_soon("no block is out", none_out)
    return answers[0]


def check(daemon, received, lost=0):
    """No ID was issued twice, none is a gap, and at most so many of the IDs that were taken are lost."""
    ledger = Ledger("orders")
    for ids in received:
        ledger.add(ids)
    ledger.assert_no_duplicate()
    answer = settled(daemon)
    assert answer["gaps"] == 0 and ledger.count <= answer["issued"] <= ledger.count + lost, (answer, ledger.count)
    return ledger.count


class BlockTakers:
    """Threads that take from the blocks of one client, about 20,000 IDs a second each, until they are told to stop."""

    def __init__(self, client, threads=3):
        self.client = client
        self.received = [array("q") for _ in range(threads)]
        self.errors = []
        self.stopping = threading.Event()
        self.threads = [threading.Thread(target=self._take, args=(ids,)) for ids in self.received]
        for thread in self.threads:
            thread.start()

    def _take(self, ids):
        try:
            while not self.stopping.wait(0.0005):
                ids.extend([self.client.next("orders") for _ in range(10)])
        except BaseException as error:  # pylint: disable=broad-except
            self.errors.append(error)

    def wait_for_more(self, count):
        """Until each thread has so many more."""
        wanted = [len(ids) + count for ids in self.received]

        def taken():
            if self.errors:
                raise self.errors[0]
            return all(len(ids) >= target for ids, target in zip(self.received, wanted))

        wait_for("IDs from blocks", taken)

    def stop(self):
        self.stopping.set()
        for thread in self.threads:
            thread.join(LONG)
            assert not thread.is_alive(), "a call does not end"
        if self.errors:
            raise self.errors[0]
        return self.received


def test_IdsComeWithoutRequestsAndNoneIsLost(daemon, make_client):
    client = make_client(daemon.socket, timeout=LONG, blocks=True)
    before = requests(daemon)
    ids = [client.next("orders") for _ in range(20_000)]
    ids += [client.next("orders", timeout=LONG) for _ in range(1_000)]
    assert requests(daemon) - before < 2_000
    ids += client.next_many("orders", 5)

    def is_out():  # the last one may be used up, and the next one refused at first
        ids.append(client.next("orders"))
        with daemon.connect(30) as asker:
            return asker.call("audit", "orders")["out"] > 0

    expect_soon("a block is out", is_out)
    client.close()
    check(daemon, [ids])


@pytest.mark.limit(60)
def test_ThreadsHaveBlocksOfTheirOwn(daemon):
    """More threads than there are slots, one after the other and at once."""
    with seqd.Client(daemon.socket, timeout=LONG, blocks=True) as client:
        received = [array("q") for _ in range(40)]
        threads = [threading.Thread(target=lambda ids=ids: ids.extend([client.next("orders") for _ in range(2_000)])) for ids in received]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(LONG)
        received.append(array("q", [client.next("orders")]))
    assert check(daemon, received) == 80_001


@pytest.mark.limit(60 + 2 * KILLS)
def test_KillsUnderLoadCostNoIdAndNoCall(daemon):
    print(f"SEED={SEED}")
    moments = random.Random(SEED)
    with seqd.Client(daemon.socket, timeout=60.0 * PATIENCE, blocks=True) as client:
        takers = BlockTakers(client)
        try:
            for _ in range(KILLS):
                takers.wait_for_more(moments.randrange(1, 2_000))
                daemon.kill()
                daemon.start()
            takers.wait_for_more(5_000)
        finally:
            takers.stopping.set()
        received = takers.stop()
    print(f"{KILLS} kills, {check(daemon, received)} IDs: none twice, none lost")


@pytest.mark.limit(60)
def test_CloseUnderLoadLosesNothing(daemon):
    """Threads in the middle of their calls get their ID, or ClosedError; what is left of the blocks is available again. Only a
    request that was under way costs its ID, as ever."""
    everything = []
    for turn in range(10):
        client = seqd.Client(daemon.socket, timeout=LONG, blocks=True)
        received = [array("q") for _ in range(3)]
        errors = []
        started = threading.Barrier(4)

        def take(ids, client=client, errors=errors, started=started):
            ids.append(client.next("orders"))
            started.wait(LONG)
            try:
                while True:
                    ids.append(client.next("orders"))
            except BaseException as error:  # pylint: disable=broad-except
                errors.append(error)

        threads = [threading.Thread(target=take, args=(ids,)) for ids in received]
        for thread in threads:
            thread.start()
        started.wait(LONG)
        client.close()
        for thread in threads:
            thread.join(LONG)
        assert [type(error) for error in errors] == [seqd.ClosedError] * 3
        # Also while the errors, and with them the frames of their calls, are still here.
        everything += received
        check(daemon, everything, lost=3 * (turn + 1))


@pytest.mark.limit(60)
def test_AChildHasBlocksOfItsOwn(daemon):
    """Forked while other threads of the parent take."""
    client = seqd.Client(daemon.socket, timeout=LONG, blocks=True)
    own = array("q", [client.next("orders") for _ in range(100)])
    takers = BlockTakers(client)
    children = []
    for _ in range(5):
        takers.wait_for_more(100)
        children.append(in_child(lambda: [client.next("orders") for _ in range(1_000)]))
        own.extend(client.next("orders") for _ in range(1_000))
    received = [own, *(wait() for wait in children)]
    received += takers.stop()
    client.close()
    check(daemon, received)


def test_AChildThatPythonDoesNotKnowOfHasBlocksOfItsOwn(daemon):
    """Without other threads, for which Python's own lock would wait in such a child."""
    client = seqd.Client(daemon.socket, timeout=LONG, blocks=True)
    own = array("q", [client.next("orders") for _ in range(1_000)])
    wait = in_child(lambda: [client.next("orders") for _ in range(1_000)], c_fork)
    own.extend(client.next("orders") for _ in range(1_000))
    received = [own, wait()]
    client.close()
    check(daemon, received)


def until_a_block(client):
    """Takes IDs until one came out of a block: before that they are single requests."""
    ids = array("q")

    def is_there():
        ids.append(client.next("orders"))
        handle = client._blocks._handles.get("orders")  # pylint: disable=protected-access
        return handle is not None and handle.gave

    wait_for("a block", is_there)
    return ids


def test_AForkInASignalHandlerLeavesTheParentItsId(daemon):
    """The handler runs where libseqd has given the ID to the call already: the child's call must not return it, too."""
    client = seqd.Client(daemon.socket, timeout=LONG, blocks=True)
    own = array("q")
    blocks = client._blocks  # pylint: disable=protected-access

    own.extend(until_a_block(client))
    real, children, codes = blocks._next, [], []  # pylint: disable=protected-access
    parent = os.getpid()

    def interrupted(*arguments):
        blocks._next = real  # pylint: disable=protected-access
        codes.append(real(*arguments))
        children.append(os.fork())
        return codes[-1]

    blocks._next = interrupted  # pylint: disable=protected-access
    try:
        own.append(client.next("orders"))
        refused = False
    except seqd.ForkedError:
        refused = True
    if os.getpid() != parent:
        os._exit(0 if refused and client.next("orders") not in own else 1)
    assert not refused and os.waitpid(children[0], 0)[1] == 0
    assert codes == [0], "libseqd gave no ID: the block was used up"
    own.extend(client.next("orders") for _ in range(100))
    client.close()
    check(daemon, [own], lost=1)


def test_AKilledProgramLosesAnIdOfEachThreadAtMost(daemon, scratch):
    received = []
    for life in range(3):
        used = [scratch / f"used.{life}.{thread}" for thread in range(2)]
        program = subprocess.Popen([sys.executable, "-c", PROGRAM, *map(str, used)], stdout=subprocess.PIPE,  # pylint: disable=consider-using-with
                                   env=environment(scratch, daemon, LIBSEQD))
        assert [program.stdout.readline() for _ in used] == [b"taking\n"] * 2
        program.kill()
        program.communicate(timeout=PROGRAM_SECONDS)
        for path in used:
            ids = array("q")
            ids.frombytes(path.read_bytes())
            received.append(ids)
    assert check(daemon, received, lost=6) > 3_000


def environment(scratch, daemon, library):
    """Of a program that finds this libseqd, or none."""
    folder = scratch / "lib"
    folder.mkdir(exist_ok=True)
    if library is not None:
        shutil.copy(library, folder / "libseqd.so.0")
    # A path in front of the system's, so that an installed libseqd is not found instead.
    return {**os.environ, "LD_LIBRARY_PATH": str(folder), "PYTHONPATH": str(harness.PROJECT / "client-lib/python/src"),
            "SEQD_SOCKET": str(daemon.socket)}


@pytest.mark.parametrize("case", ["no library", "without blocks", "another ABI"])
def test_WhereNoLibseqdFitsTheErrorSaysSoAndAutoMakesRequests(daemon, scratch, case):
    if case == "no library":
        (scratch / "text").write_text("this is no library\n" * 100)
        library = scratch / "text"
    else:
        library = ctypes_path("m")  # has none of the functions
    program = """
import seqd
client = seqd.Client(blocks="auto")
print(client.next("orders"), client.next("orders"))
try:
    seqd.Client(blocks=True)
except seqd.LibraryError as error:
    print(error)
"""
    place = environment(scratch, daemon, library)
    if case == "another ABI":
        (scratch / "lib" / "libseqd.so.0").rename(scratch / "lib" / "libseqd.so.1")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env=place, timeout=PROGRAM_SECONDS)
    ids, error = done.stdout.splitlines()
    assert ids == "1 2" and error.startswith("LIBRARY: blocks need ")
    said = {"no library": "cannot be loaded", "without blocks": "newer libseqd.so.0", "another ABI": "libseqd0, which cannot be loaded"}
    assert said[case] in error, error


def ctypes_path(name):
    """Where the library of this process is."""
    for line in open("/proc/self/maps", encoding="utf-8"):
        if f"/lib{name}.so" in line or f"/lib{name}-" in line:
            return line.split()[-1]
    raise AssertionError(f"lib{name} is not loaded")


def test_ASequenceWithoutBlocksIsAnErrorIfTheyAreWanted(daemon, make_client):
    """As soon as the daemon has said so: until then they are requests."""
    client = make_client(daemon.socket, blocks=True)

    def refused():
        try:
            client.next("single")
        except seqd.WrongMode as error:
            assert 'has no blocks' in str(error)
            return True
        return False

    wait_for("an error", refused)
    client.next("orders")


def test_ASequenceWithoutBlocksIsTakenFromByRequests(daemon, monkeypatch):
    with seqd.Client(daemon.socket, blocks="auto") as client:
        ids = [client.next("single") for _ in range(4)]
        for _ in range(100_000):  # until the answer is known: each call looks
            if "single" in blocks_of(client)._refused:  # pylint: disable=protected-access
                break
            ids.append(client.next("single"))
        assert ids == list(range(1, len(ids) + 1))
        # It is asked again after a while: it may have been configured.
        daemon.configure(sequences={**SEQUENCES, "single": {"blocks": True}})
        with daemon.connect() as asker:
            asker.call("reload")
        before = requests(daemon)
        assert [client.next("single") for _ in range(3)] == [len(ids) + at for at in (1, 2, 3)]
        assert requests(daemon) - before >= 3
        monkeypatch.setattr(_blocks, "monotonic", lambda: 1e9)
        ids = [client.next("single") for _ in range(1_000)]
        assert len(set(ids)) == 1_000 and requests(daemon) - before < 300
        # And the other way round.
        daemon.configure(sequences=SEQUENCES)
        with daemon.connect() as asker:
            asker.call("reload")
        more = [client.next("single") for _ in range(1_000)]
        assert len(set(ids + more)) == 2_000


def test_ErrorsAreThoseOfRequests(make_daemon, make_client, tmp_path):
    daemon = make_daemon(defaults={"blocks": True}, daemon={"allow_unlisted": False}, sequences={"orders": {"max_value": 3}}).start()
    client, plain = make_client(daemon.socket, blocks=True), seqd.Client(daemon.socket)
    for name in ("other", "", "x" * 200, "a\0b", "x y", 5, "\ud800"):
        with pytest.raises(seqd.SeqdError) as expected:
            plain.next(name)
        with pytest.raises(expected.type) as raised:
            client.next(name)
        assert str(raised.value) == str(expected.value)
    # What is too long for a name is not remembered.
    assert "x" * 200 not in blocks_of(client)._used  # pylint: disable=protected-access
    assert [client.next("orders") for _ in range(3)] == [1, 2, 3]
    with pytest.raises(seqd.Exhausted):
        client.next("orders")
    plain.close()
    client.close()
    with pytest.raises(seqd.ConnectError) as raised:
        make_client(tmp_path / "nothing", blocks=True, timeout=0.05).next("orders")
    assert raised.value.temporary
    with pytest.raises(seqd.ArgumentError, match="blocks is True, False"):
        seqd.Client(blocks="yes")


def test_NamesThatAreRefusedLeaveRoomForBlocks(make_daemon, make_client):
    """Each of them once, as those of a service whose names come from its users."""
    daemon = make_daemon(daemon={"allow_unlisted": False}, sequences=SEQUENCES).start()
    client = make_client(daemon.socket, timeout=LONG, blocks=True)
    for number in range(_blocks.MOST_SEQUENCES):
        with pytest.raises(seqd.NoSequence):
            client.next(f"other{number}")
    before = requests(daemon)
    ids = [client.next("orders") for _ in range(1_000)]
    assert requests(daemon) - before < 300
    with daemon.connect(30) as asker:
        # The client's own, that of its blocks, and the one that asks.
        assert asker.call("status")["connections"] <= 3
    client.close()
    check(daemon, [ids])


def test_SequencesWithoutBlocksThatAreUsedOnceHoldNothing(daemon, make_client):
    """Of each of them no call follows that could tell that it has no blocks."""
    client = make_client(daemon.socket, timeout=LONG, blocks="auto")
    for number in range(_blocks.MOST_SEQUENCES):
        assert client.next(f"other{number}") == 1
    # The client's own.
    assert client.status()["connections"] == 1
    before = requests(daemon)
    ids = [client.next("orders") for _ in range(1_000)]
    assert requests(daemon) - before < 300
    client.close()
    check(daemon, [ids])


@pytest.mark.parametrize("uses", range(1, 6))
def test_SequencesWithoutBlocksThatAreUsedAFewTimesLeaveRoomForBlocks(daemon, make_client, uses):
    """They are used too seldom for the answer that tells that they have none."""
    client = make_client(daemon.socket, timeout=LONG, blocks="auto")

    def use_others(word):
        for number in range(_blocks.MOST_SEQUENCES + 2):
            assert [client.next(f"{word}{number}") for _ in range(uses)] == list(range(1, uses + 1))

    use_others("other")
    before = requests(daemon)
    ids = [client.next("orders") for _ in range(1_000)]
    assert requests(daemon) - before < 300
    # Nor does it make room for them.
    handles = blocks_of(client)._handles  # pylint: disable=protected-access
    handle = handles["orders"]
    use_others("another")
    assert handles["orders"] is handle and len(handles) <= _blocks.MOST_SEQUENCES
    del handle
    client.close()
    check(daemon, [ids])


def test_OfMoreSequencesInTurnAsManyAsThereAreHandlesHaveBlocks(make_daemon, make_client):
    """They do not push each other out before they have their first block."""
    daemon = make_daemon(defaults={"blocks": True}).start()
    client = make_client(daemon.socket, timeout=LONG, blocks="auto")
    handles = blocks_of(client)._handles  # pylint: disable=protected-access

    def all_gave():
        for number in range(_blocks.MOST_SEQUENCES + 30):
            client.next(f"tenant{number}")
        return sum(handle.gave for handle in handles.values()) == _blocks.MOST_SEQUENCES

    wait_for("blocks", all_gave)


def test_ANameThatAnotherThreadForgetsMeanwhileIsNoError(daemon):
    """There is a bound to the names without blocks: a thread that reaches it forgets all of them while another one looks."""
    class Forgotten(dict):
        """As if that thread ran between any two steps."""
        def __contains__(self, name):
            found = super().__contains__(name)
            self.clear()
            return found

    with seqd.Client(daemon.socket, blocks="auto") as client:
        client._blocks._refused = Forgotten(single=1e9)  # pylint: disable=protected-access
        assert client.next("single") == 1


def test_TheNumberOfConnectionsIsBounded(make_daemon):
    daemon = make_daemon(defaults={"blocks": True}).start()
    with seqd.Client(daemon.socket, blocks="auto") as client:
        for time in range(2):
            for number in range(_blocks.MOST_SEQUENCES + 5):
                assert client.next(f"tenant{number}") > time  # others may be in a block already
        # The client's other connection, and the one that asks.
        expect_soon("the others are closed", lambda: client.status()["connections"] == _blocks.MOST_SEQUENCES + 1)


def test_NothingIsLeftBehind(daemon):
    """Descriptors and attached pages of clients that were closed, dropped, or failed."""
    def left():
        with open("/proc/self/maps", encoding="utf-8") as maps:
            return len(os.listdir("/proc/self/fd")), sum("/SYSV" in line for line in maps)

    def once():
        with seqd.Client(daemon.socket, blocks=True) as client:
            until_a_block(client)
        dropped = seqd.Client(daemon.socket, blocks="auto")
        until_a_block(dropped)
        for _ in range(2):
            dropped.next("single")

    once()
    gc.collect()
    before = left()
    for _ in range(20):
        once()
    gc.collect()
    assert left() == before


def test_TheLibraryIsLoadedOnce():
    assert _libseqd.library() is _libseqd.library()
