"""The runner of these tests: a test that fails or hangs ends, and does not keep the run from its end."""

import os
import subprocess
import sys
from pathlib import Path

import harness
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


UNSTEADY = """
from pathlib import Path

def test_second(scratch):
    again = Path("again-%(words)s")
    if not again.exists():
        again.touch()
        assert False, "%(words)s"
    assert scratch.is_dir()

def test_follows():
    pass
"""


def run(scratch: Path, text: str, factor: float, tries: int = 1) -> subprocess.CompletedProcess:
    file = scratch / "test_inner.py"
    file.write_text(text)
    environment = {**os.environ, "BUILD": str(harness.BUILD), "PYTHONPATH": str(HERE), "TEST_TIME_FACTOR": str(factor),
                   "TEST_TRIES": str(tries)}
    return subprocess.run([sys.executable, "-B", "-m", "pytest", "-p", "no:cacheprovider", "-p", "conftest", "-q", str(file)], cwd=scratch,
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


def test_ATestIsTriedAgainWhereThatIsAskedForAndSaidToBeUnsteady(scratch):
    done = run(scratch, UNSTEADY % {"words": "too slow"}, 1, tries=2)
    assert done.returncode == 0 and "2 passed, 1 unsteady" in done.stdout and "UNSTEADY, " in done.stdout, done.stdout
    done = run(scratch, UNSTEADY % {"words": "slow again"}, 1)
    assert done.returncode == 1 and "1 failed, 1 passed" in done.stdout, done.stdout


def test_WhatTellsOfIdsIsNeverTriedAgain(scratch):
    done = run(scratch, UNSTEADY % {"words": "3 IDs were issued twice"}, 1, tries=2)
    assert done.returncode == 1 and "1 failed, 1 passed" in done.stdout, done.stdout


def test_ATestThatFailsTwiceHasFailed(scratch):
    done = run(scratch, "def test_bad():\n    assert False, 'as wanted'\n", 1, tries=2)
    assert done.returncode == 1 and "1 failed, 1 unsteady" in done.stdout, done.stdout
