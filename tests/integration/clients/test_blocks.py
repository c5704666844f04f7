"""Blocks on the real daemon: IDs taken in other processes, and what becomes of them when the processes, the daemon, or both end."""

import ctypes
import os
import random
import signal
import subprocess
import time
from array import array
from pathlib import Path
from typing import List

import pytest

import block_pages
import harness
from accounting import Ledger
from servers.mongod import die_with_parent, expect_soon, wait_for
from servers.patience import PATIENCE

KILLS = int(os.environ.get("BLOCK_KILLS", "100"))
SEED = int(os.environ.get("SEED", str(random.SystemRandom().randrange(2**32))))
WRONG_MODE = -21
THREADS = 2
MOST_IDS = 1_000_000  # of a thread in one life
RATE = 20_000         # of a thread in a second
BLOCKS = {"blocks": True, "wait_timeout": "30s"}
LARGE = {"lease_min": 100_000, "max_available": 1_000_000}


class BlockClient:
    """build/tools/block_client: threads that take from blocks. What they used stands in mapped files, also after a kill."""

    def __init__(self, daemon: harness.Daemon, log: Path, *, threads: int = THREADS, ids: int = MOST_IDS, rate: int = RATE):
        log.parent.mkdir(parents=True, exist_ok=True)
        self.logs = [log.with_name(f"{log.name}.{thread}") for thread in range(threads)]
        self.said = log.with_name(log.name + ".said")
        self.files: List = []
        command = [harness.tool("block_client"), "--socket", str(daemon.socket), "--threads", str(threads), "--ids", str(ids),
                   "--rate", str(rate), "--log", str(log)]
        with open(self.said, "wb") as said:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=said, stderr=said, preexec_fn=die_with_parent)

    def used(self) -> array:
        """The IDs that the threads have used up to now."""
        ids = array("q")
        for log in self.logs:
            if log.exists():
                own = array("q")
                own.frombytes(log.read_bytes())
                ids.extend(own[:self.length(own)])
        return ids

    @staticmethod
    def length(ids: array) -> int:
        """How many stand in front of the zeros."""
        low, high = 0, len(ids)
        while low < high:
            middle = (low + high) // 2
            low, high = (middle + 1, high) if ids[middle] else (low, middle)
        return low

    def wait_for_more(self, count: int = 1) -> None:
        """Until every thread has used so many further IDs."""
        wanted = [length + count for length in self.lengths()]

        def taken() -> bool:
            assert self.process.poll() is None, self.said.read_text(errors="replace")
            return all(length >= target for length, target in zip(self.lengths(), wanted))

        wait_for("IDs of block_client", taken)

    def lengths(self) -> List[int]:
        return [self.length_of(log) for log in self.logs]

    def length_of(self, log: Path) -> int:
        if not log.exists():
            return 0
        with open(log, "rb") as file:
            low, high = 0, os.fstat(file.fileno()).st_size // 8
            while low < high:
                middle = (low + high) // 2
                file.seek(middle * 8)
                low, high = (middle + 1, high) if any(file.read(8)) else (low, middle)
        return low

    def pause_in_a_block(self, daemon: harness.Daemon) -> None:
        """SIGSTOP while a block is out: that many IDs were used says nothing of it, because a fast client takes them one by one
        while it waits for a block."""
        def paused() -> bool:
            self.process.send_signal(signal.SIGSTOP)
            if audit(daemon)["out"] > 0:
                return True
            self.process.send_signal(signal.SIGCONT)
            return False

        expect_soon("a block is out", paused)

    def go_on(self) -> None:
        self.process.send_signal(signal.SIGCONT)

    def kill(self) -> array:
        self.process.kill()
        self.process.wait()
        return self.finished()

    def stop(self) -> array:
        """It closes its handle."""
        if self.process.poll() is None:
            self.process.terminate()
        code = self.process.wait(60 * PATIENCE)
        assert code == 0, f"block_client ended with {code}: {self.said.read_text(errors='replace')[-2000:]}"
        return self.finished()

    def finished(self) -> array:
        ids = self.used()
        for log in self.logs:
            log.unlink(missing_ok=True)
        return ids


class Options(ctypes.Structure):
    """seqd_options as far as the socket."""
    _fields_ = [("size", ctypes.c_size_t), ("socket_path", ctypes.c_char_p)]


class Handle:
    """A handle of libseqd.so, in this process."""

    def __init__(self, daemon: harness.Daemon, name: str):
        self.library = ctypes.CDLL(str(harness.BUILD / "libseqd.so"))
        self.blocks = ctypes.c_void_p()
        options = Options(ctypes.sizeof(Options), str(daemon.socket).encode())
        assert self.library.seqd_blocks_open(ctypes.byref(options), name.encode(), ctypes.byref(self.blocks)) == 0

    def next(self) -> int:
        """One ID; an error is below 0."""
        number = ctypes.c_int64()
        return self.library.seqd_blocks_next(self.blocks, ctypes.byref(number)) or number.value

    def close(self) -> None:
        self.library.seqd_blocks_close(self.blocks)


def audit(daemon: harness.Daemon) -> dict:
    with daemon.connect(30) as client:
        answer = client.call("audit", "orders")
    assert answer["good"] and answer["unaccounted"] == 0, answer
    return answer


def settled(daemon: harness.Daemon) -> dict:
    """The audit, when no block is out any more."""
    answers = []

    def none_out() -> bool:
        answers[:] = [audit(daemon)]
        return answers[0]["out"] == 0

    expect_soon("no block is out", none_out)
    return answers[0]


def check(daemon: harness.Daemon, ledger: Ledger, lost: int) -> dict:
    """Nothing was used twice, nothing is a gap, and of what was taken at most `lost` IDs were not used."""
    ledger.assert_no_duplicate()
    answer = settled(daemon)
    assert answer["gaps"] == 0, answer
    assert ledger.count <= answer["issued"] <= ledger.count + lost, (answer, ledger.count)
    return answer


def pages_of(daemon: harness.Daemon) -> List[int]:
    return block_pages.keys(daemon.witness)


@pytest.fixture(name="daemon")
def daemon_with_blocks(make_daemon):
    return make_daemon(defaults=BLOCKS).start()


def test_NothingIsLostWhenAHandleIsClosed(daemon, scratch):
    ledger = Ledger("orders")
    for life in range(3):
        client = BlockClient(daemon, scratch / f"life-{life}", threads=4)
        client.wait_for_more(1_000)
        ledger.add(client.stop())
        check(daemon, ledger, 0)
    # What was left is issued next: no hole below the highest ID.
    with daemon.connect() as client:
        first = client.next()
    assert first <= ledger.highest() + 1


def test_ManyThreadsShareAHandle(daemon, scratch):
    ledger = Ledger("orders")
    client = BlockClient(daemon, scratch / "many", threads=40, ids=500)
    assert client.process.wait(60 * PATIENCE) == 0, client.said.read_text()
    ledger.add(client.finished())
    assert ledger.count == 40 * 500
    check(daemon, ledger, 0)


def test_AKilledClientLosesAnIdOfEachThreadAtMost(daemon, scratch):
    ledger = Ledger("orders")
    for life in range(10):
        client = BlockClient(daemon, scratch / f"life-{life}")
        client.wait_for_more(200)
        ledger.add(client.kill())
        check(daemon, ledger, (life + 1) * THREADS)


def test_AKilledDaemonLosesNothing(daemon, scratch):
    ledger = Ledger("orders")
    client = BlockClient(daemon, scratch / "ids")
    for _ in range(20):
        client.wait_for_more(500)
        daemon.kill()
        daemon.start()
    client.wait_for_more(5_000)
    ledger.add(client.stop())
    check(daemon, ledger, 0)


def test_WithoutADaemonAProcessGoesOnToTheEndOfItsBlocks(make_daemon, scratch):
    daemon = make_daemon(defaults={**BLOCKS, **LARGE}).start()
    ledger = Ledger("orders")
    client = BlockClient(daemon, scratch / "ids", rate=100)  # a block lasts longer than the daemon may need for the next one
    went_on = 0
    for _ in range(25):
        client.wait_for_more(100)
        client.process.send_signal(signal.SIGSTOP)
        daemon.kill()
        lengths = client.lengths()
        client.go_on()
        # Nearly always every thread has half of its block, or the next one. One that was refused a block (nothing was issuable yet)
        # waits for the daemon: then it is tried again.
        until = time.monotonic() + 2
        while time.monotonic() < until and not (on := all(length > then for length, then in zip(client.lengths(), lengths))):
            time.sleep(0.01)
        went_on += on
        daemon.start()
        if went_on == 3:
            break
    assert went_on == 3
    ledger.add(client.stop())
    check(daemon, ledger, 0)


def test_BlocksOfAClientThatDiedWithTheDaemonComeBack(daemon, scratch):
    ledger = Ledger("orders")
    client = BlockClient(daemon, scratch / "ids")
    client.wait_for_more(500)
    daemon.kill()
    ledger.add(client.kill())
    daemon.start()
    check(daemon, ledger, THREADS)  # 10 s later: it could have come back


def test_AnOrderlyStopEndsBlocks(daemon, scratch):
    ledger = Ledger("orders")
    client = BlockClient(daemon, scratch / "ids")
    for _ in range(5):
        client.wait_for_more(500)
        daemon.restart()
    client.wait_for_more(500)
    ledger.add(client.stop())
    check(daemon, ledger, 5 * THREADS)


def test_ADrainEndsBlocks(daemon, scratch):
    ledger = Ledger("orders")
    client = BlockClient(daemon, scratch / "ids")
    client.wait_for_more(500)
    with daemon.connect(30) as other:
        drained = other.call("drain", "orders")
    client.wait_for_more(500)
    ledger.add(client.stop())
    ledger.assert_no_duplicate()
    answer = settled(daemon)
    # `reuse` is never: what the drain took back is a gap, and nothing else is.
    gaps = sum(span[1] for sequence in drained for span in sequence["gaps"])
    assert answer["gaps"] == gaps
    assert ledger.count <= answer["issued"] <= ledger.count + THREADS


def test_ASequenceWithoutBlocksSaysSo(make_daemon, scratch):
    daemon = make_daemon().start()
    client = BlockClient(daemon, scratch / "ids")
    assert client.process.wait(60 * PATIENCE) == 1
    assert "WRONG_MODE" in client.said.read_text()


def test_APageThatIsEmptiedCostsItsBlocksAndNothingElse(daemon, scratch):
    """Zeros do not say that nothing was taken."""
    ledger = Ledger("orders")
    client = BlockClient(daemon, scratch / "ids")
    client.wait_for_more(500)
    client.pause_in_a_block(daemon)
    page, = pages_of(daemon)
    block_pages.empty(page)
    ledger.add(client.kill())
    ledger.assert_no_duplicate()
    answer = settled(daemon)
    assert answer["gaps"] > 0 and daemon.running()
    with daemon.connect(30) as other:
        ledger.add([other.next() for _ in range(100)])
    ledger.assert_no_duplicate()


def test_InAnotherIpcNamespaceIdsAreTakenByRequests(daemon, scratch):
    ledger = Ledger("orders")
    command = ["unshare", "--ipc", harness.tool("block_client"), "--socket", str(daemon.socket), "--threads", "2", "--ids", "200",
               "--log", str(scratch / "ids")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60 * PATIENCE, check=False)
    assert done.returncode == 0, done.stderr
    for log in scratch.glob("ids.*"):
        own = array("q")
        own.frombytes(log.read_bytes())
        ledger.add(own[:200])
    assert ledger.count == 400
    answer = settled(daemon)
    assert answer["issued"] == 400 and answer["gaps"] == 0


def test_APageThatIsRemovedIsUsedWhileTheDaemonLives(daemon, scratch):
    ledger = Ledger("orders")
    client = BlockClient(daemon, scratch / "ids")
    client.wait_for_more(500)
    page, = pages_of(daemon)
    block_pages.remove(page)
    client.wait_for_more(2_000)
    ledger.add(client.stop())
    check(daemon, ledger, 0)


def test_APageThatIsRemovedWhileTheDaemonIsDownCostsItsBlocksAndNothingElse(daemon, scratch):
    """The process still has it and uses it up. Its blocks end as gaps when it connects, and it gets another page and further blocks."""
    ledger = Ledger("orders")
    client = BlockClient(daemon, scratch / "ids")
    client.wait_for_more(500)
    client.pause_in_a_block(daemon)
    daemon.kill()
    page, = pages_of(daemon)
    block_pages.remove(page)
    daemon.start()
    client.go_on()
    expect_soon("another page", lambda: len(pages_of(daemon)) == 1)
    expect_soon("blocks in the other page", lambda: audit(daemon)["out"] > 0)
    client.wait_for_more(2_000)
    ledger.add(client.stop())
    ledger.assert_no_duplicate()
    answer = settled(daemon)
    assert answer["gaps"] > 0
    assert ledger.count <= answer["issued"] + answer["gaps"]
    again = BlockClient(daemon, scratch / "again")
    again.wait_for_more(500)
    assert len(pages_of(daemon)) == 1
    ledger.add(again.stop())
    ledger.assert_no_duplicate()
    assert settled(daemon)["gaps"] == answer["gaps"]
    assert not pages_of(daemon)


def test_AnIndexOfPagesThatIsRemovedWithTheWitnessIsMadeAgain(daemon, scratch):
    ledger = Ledger("orders")
    client = BlockClient(daemon, scratch / "ids")
    for _ in range(3):
        client.wait_for_more(500)
        files = (*daemon.witness.glob("*.witness"), *daemon.witness.glob("*.pages"))
        assert len(files) == 2
        for file in files:
            file.unlink()
        expect_soon("both again", lambda them=files: all(file.exists() for file in them) and len(pages_of(daemon)) == 1)
        client.wait_for_more(500)
        daemon.kill()
        daemon.start()
        expect_soon("the page", lambda: len(pages_of(daemon)) == 1)  # where no block was out, the client asks for it again
        page, = pages_of(daemon)
    client.wait_for_more(500)
    ledger.add(client.stop())
    check(daemon, ledger, 0)
    assert not pages_of(daemon) and block_pages.number(page) < 0


def test_WhatIsOutAndWhatWasTakenIsShown(daemon, scratch):
    client = BlockClient(daemon, scratch / "ids")
    client.wait_for_more(500)
    client.pause_in_a_block(daemon)
    with daemon.connect(30) as other:
        row, = other.call("list")
        assert row["out"] > 0 and other.call("status")["out"] > 0
        taken = {each["pid"]: each["ids"] for each in other.call("clients")["clients"]}
        assert taken[client.process.pid] > 100
    assert "  OUT  " in daemon.seqctl("list").stdout and " in blocks, " in daemon.seqctl("status").stdout
    client.go_on()
    client.stop()
    settled(daemon)
    with daemon.connect(30) as other:
        row, = other.call("list")
        assert row["out"] == other.call("status")["out"] == 0


def test_HandlesOfSequencesWithoutBlocksHoldNothing(make_daemon):
    daemon = make_daemon(sequences={"orders": {"blocks": True}}).start()
    handles = [Handle(daemon, f"other{number}") for number in range(64)]
    assert {handle.next() for handle in handles} == {WRONG_MODE}
    orders = Handle(daemon, "orders")
    assert orders.next() == 1
    for handle in (orders, *handles):
        handle.close()
    settled(daemon)
    with daemon.connect(30) as other:
        expect_soon("the connections have ended", lambda: other.call("status")["connections"] == 1)
    assert not pages_of(daemon)


def test_AHandleThatIsClosedAfterARestartOfTheDaemonLosesNoId(daemon):
    handle = Handle(daemon, "orders")
    ids = [handle.next()]
    expect_soon("a block is out", lambda: ids.append(handle.next()) or audit(daemon)["out"] > 0)
    assert ids == list(range(1, len(ids) + 1))
    daemon.kill()
    daemon.start()
    assert audit(daemon)["out"] > 0
    handle.close()
    answer = settled(daemon)
    assert answer["issued"] == len(ids) and answer["gaps"] == 0
    assert not pages_of(daemon)


def test_TheExampleTakesFromBlocks(daemon):
    example = harness.BUILD / "examples" / "blocks-c"
    assert example.exists(), f"{example} is missing: make test-client"
    done = subprocess.run([str(example), "orders", "1000", str(daemon.socket)], capture_output=True, text=True, timeout=60 * PATIENCE, check=False)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 2
    assert settled(daemon)["issued"] == 2000


@pytest.mark.limit(60 + KILLS)
def test_AfterMixedKillsNoIdIsUsedTwiceAndOneOfEachThreadIsLostAtMost(daemon, scratch, figures):
    print(f"SEED={SEED}")
    moments = random.Random(SEED)
    ledger = Ledger("orders")
    client, lives, killed = None, 0, 0
    for kill in range(KILLS):
        if client is None or client.process.poll() is not None:
            if client is not None:
                ledger.add(client.stop())
            lives += 1
            client = BlockClient(daemon, scratch / f"life-{lives}")
        client.wait_for_more(moments.randrange(1, 400))
        what = moments.choice(("daemon", "client", "both"))
        if what != "client":
            daemon.kill()
        if what != "daemon":
            ledger.add(client.kill())
            killed += 1
            client = None
        if what != "client":
            daemon.start()
        if kill % 100 == 99:
            ledger.assert_no_duplicate()
    if client is not None:
        ledger.add(client.stop())
    answer = check(daemon, ledger, killed * THREADS)
    figures("blocks:", KILLS, kills=KILLS, ids=ledger.count, lost=answer["issued"] - ledger.count)
