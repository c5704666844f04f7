"""The runner of these tests: a test that fails or hangs ends, and does not keep the run from its end."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Sequence

import pytest

import harness
from block_pages import number
from disks import NotShown
from servers.patience import PROGRAM_SECONDS

HERE = Path(__file__).resolve().parent

FAILS_WITH_A_FULL_PIPE = """
from clients import Process

def test_fails():
    Process(bytes, 10_000_000)  # far more than a pipe takes
    assert False, "as wanted"

def test_follows():
    assert not Process.running
"""
HANGS = """
import threading
import pytest

@pytest.mark.limit(3)
def test_hangs():
    threading.Event().wait()

def test_follows():
    pass
"""
HANGS_FOR_GOOD = """
import signal
import threading
import pytest

@pytest.mark.limit(15)
def test_hangs_whatever_comes():
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])
    threading.Event().wait()
"""
HANGS_AT_THE_END = """
import threading

def test_passes():
    threading.Thread(target=threading.Event().wait).start()
"""


TWO_FILES = ("""
def test_one(figures):
    figures("kills", 2, IDs=5)
""", """
from disks import NotShown

def test_two(figures):
    figures("kills", 3, IDs=7)

def test_three():
    raise NotShown("there are no loop devices")
""")
DIES = ("""
import os
import signal

def test_dies():
    os.kill(os.getpid(), signal.SIGKILL)

def test_follows():
    pass
""", """
def test_is_of_another_file():
    pass
""")
LEAVES_MEMORY = """
from block_pages import LIBC

def test_leaves_a_segment():
    assert LIBC.shmget({}, 4096, 0o1600) >= 0
"""
FAILS_ONCE = """
import signal
import subprocess
import time
from pathlib import Path

import pymongo.errors

from clients import Process
from rpc import RpcError
from servers.mongod import expect_soon, wait_for
from servers.mongod_binary import ServerNotAvailable
from servers.patience import WaitedInVain

def wait():
    subprocess.run(["sleep", "9"], timeout=0.01)

def fail(make_daemon):
    ids = [1, 2, 2]
    STATEMENT

def test_second(scratch, make_daemon):
    again = Path("again")
    if not again.exists():
        again.touch()
        fail(make_daemon)
    assert scratch.is_dir()

def test_follows():
    pass
"""
FROM_OUTSIDE = ("raise WaitedInVain('no READY=1')", "raise TimeoutError('test_second did not end')", "wait()",
                "Process(time.sleep, 9).result(0.001)", "Process(wait).result()",
                "raise ServerNotAvailable('mongod does not start')", "wait_for('a primary', lambda: False, 0.01)",
                "raise pymongo.errors.AutoReconnect('closed')",
                "raise pymongo.errors.ServerSelectionTimeoutError('none')", "raise RpcError([0, 'UNAVAILABLE: the store does not answer'])")
FINAL = ("assert len(set(ids)) == len(ids)", "assert ids == list(range(1, 4))", "assert ids.count(2) == 1", "assert False, 'too slow'",
         "expect_soon('the line', lambda: False, 0.01)", "raise RpcError([0, 'SEQ_REGRESSED: lower'])",
         "raise ConnectionResetError", "raise KeyError(3)",
         "Process(int, 'x').result()")
ENDS_BADLY = {
    "a signal": "daemon = make_daemon().start(); daemon.process.send_signal(signal.SIGABRT); daemon.wait_exit()",
    "an earlier life": "daemon = make_daemon().start(); daemon.process.send_signal(signal.SIGSEGV); daemon.wait_exit(); daemon.start()",
    "an assertion": "make_daemon().stderr_file.write_text('<2>seqd: CHECK failed at daemon/core/turn.cc:7: false' + 5000 * '.')",
    "a sanitizer": "make_daemon().stderr_file.write_text('==1==ERROR: AddressSanitizer: heap-use-after-free')"}


def run(scratch: Path, text: str, factor: float, tries: int = 1) -> subprocess.CompletedProcess:
    return run_files(scratch, [text], factor, tries)


def run_files(scratch: Path, texts: Sequence[str], factor: float = 1, tries: int = 1, workers: int = 0) -> subprocess.CompletedProcess:
    """With as many workers as said, as the Makefile has them; 0: in one process."""
    files = [scratch / f"test_inner{at or ''}.py" for at in range(len(texts))]
    for file, text in zip(files, texts):
        file.write_text(text)
    environment = {**os.environ, "BUILD": str(harness.BUILD), "PYTHONPATH": str(HERE), "TEST_TIME_FACTOR": str(factor),
                   "TEST_TRIES": str(tries)}
    return subprocess.run([sys.executable, "-B", "-m", "pytest", "-p", "no:cacheprovider", "-p", "conftest", "-q",
                           *(["-n", str(workers)] if workers else []), *map(str, files)], cwd=scratch,
                          env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PROGRAM_SECONDS, check=False)


def test_AProcessWhoseTestFailedIsEndedWithIt(scratch):
    done = run(scratch, FAILS_WITH_A_FULL_PIPE, 1)
    assert done.returncode == 1 and "1 failed, 1 passed" in done.stdout, done.stdout + done.stderr


def test_AHungTestFailsAndTheNextOneRuns(scratch):
    done = run(scratch, HANGS, 0.5)
    assert done.returncode == 1 and "1 failed, 1 passed" in done.stdout and "TimeoutError: test_hangs did not end" in done.stdout, done.stdout


def test_ATestThatNothingInterruptsEndsTheRunWithItsStack(scratch):
    done = run(scratch, HANGS_FOR_GOOD, 0.1)
    assert done.returncode == 1 and "Timeout (0:00:02" in done.stderr and "in test_hangs_whatever_comes" in done.stderr, done.stderr


def test_ARunThatHangsAtItsEndIsEnded(scratch):
    done = run(scratch, HANGS_AT_THE_END, 0.1)
    assert done.returncode == 1 and "1 passed" in done.stdout and "Timeout (0:00:06)" in done.stderr, done.stdout + done.stderr


@pytest.mark.parametrize("statement", FROM_OUTSIDE)
def test_WhatFailedFromOutsideIsTriedAgainWhereThatIsAskedForAndSaidToBeUnsteady(scratch, statement):
    done = run(scratch, FAILS_ONCE.replace("STATEMENT", statement), 1, tries=2)
    assert done.returncode == 0 and "2 passed, 1 unsteady" in done.stdout and "UNSTEADY, " in done.stdout, done.stdout


def test_NothingIsTriedAgainWhereThatIsNotAskedFor(scratch):
    done = run(scratch, FAILS_ONCE.replace("STATEMENT", FROM_OUTSIDE[0]), 1)
    assert done.returncode == 1 and "1 failed, 1 passed" in done.stdout, done.stdout


@pytest.mark.parametrize("statement", FINAL)
def test_WhatATestFoundWrongIsNeverTriedAgain(scratch, statement):
    done = run(scratch, FAILS_ONCE.replace("STATEMENT", statement), 1, tries=2)
    assert done.returncode == 1 and "1 failed, 1 passed" in done.stdout, done.stdout


@pytest.mark.parametrize("how", ENDS_BADLY)
def test_ADaemonThatEndedBadlyIsFinalWhateverTheTestSaw(scratch, how):
    done = run(scratch, FAILS_ONCE.replace("STATEMENT", f"{ENDS_BADLY[how]}; raise TimeoutError"), 1, tries=2)
    assert done.returncode == 1 and "1 failed, 1 passed" in done.stdout, done.stdout


def test_ATestThatFailsTwiceHasFailed(scratch):
    done = run(scratch, "def test_bad():\n    raise TimeoutError('as wanted')\n", 1, tries=2)
    assert done.returncode == 1 and "1 failed, 1 unsteady" in done.stdout, done.stdout


def test_WhatTheWorkersCountedIsAddedUp(scratch):
    done = run_files(scratch, TWO_FILES, workers=2)
    assert done.returncode == 0 and "2 passed, 1 unshown" in done.stdout, done.stdout + done.stderr
    assert "kills 5, IDs 12\n" in done.stdout and "test_three: there are no loop devices" in done.stdout, done.stdout


def test_AWorkerThatDiesFailsItsTestAndTheOthersRun(scratch):
    done = run_files(scratch, DIES, workers=2)
    assert done.returncode == 1 and "1 failed, 2 passed" in done.stdout and "test_dies" in done.stdout, done.stdout + done.stderr


@pytest.mark.parametrize("text", [FAILS_ONCE, LEAVES_MEMORY.format(0)], ids=["unsteady", "good"])
def test_AWorkerRepeatsATestAsARunWithoutWorkersDoes(scratch, text):
    done = run_files(scratch, [text.replace("STATEMENT", FROM_OUTSIDE[0])], tries=2, workers=2)
    assert done.returncode == 0 and ("2 passed, 1 unsteady" in done.stdout) == ("UNSTEADY, " in done.stdout) == (text == FAILS_ONCE), done.stdout


@pytest.mark.parametrize("workers", [0, 2])
def test_SharedMemoryThatATestLeftGoesWithTheRun(scratch, workers):
    if os.getuid() != 0:
        raise NotShown("shared memory of their own is for root")
    key = 1 + int.from_bytes(os.urandom(3), "big")
    done = run_files(scratch, [LEAVES_MEMORY.format(key)], workers=workers)
    assert done.returncode == 0 and "1 passed" in done.stdout, done.stdout + done.stderr
    assert number(key) == -1
