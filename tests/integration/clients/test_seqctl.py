"""seqctl as a person uses it, on a real daemon: interrupted, mistyped, with more time than the daemon takes."""

import json
import os
import re
import signal
import subprocess
import time

import pytest

import harness
from servers.patience import PROGRAM_SECONDS


def start(daemon, *arguments):
    return subprocess.Popen([os.path.join(harness.BUILD, "seqctl"), "--socket", str(daemon.socket), "-t", "600", *arguments],
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0)


def read_some(process):
    head = b""
    while len(head) < 20:
        part = process.stdout.read(1_000)
        assert part, "the output ended"
        head += part
    return head


def interrupt(daemon, process, number, stands_still):
    """What it prints from here on, what it says, and how long it took. A daemon that stands still meanwhile answers nothing."""
    if stands_still:
        daemon.process.send_signal(signal.SIGSTOP)
    began = time.monotonic()
    process.send_signal(number)
    try:
        rest, errors = process.communicate(timeout=PROGRAM_SECONDS)
    finally:
        daemon.process.send_signal(signal.SIGCONT)
    return rest, errors, time.monotonic() - began


def interrupted(daemon, number, stands_still, *arguments):
    """Begins a command that prints without end, and interrupts it: (process, what it printed, what it said, how long that took)."""
    process = start(daemon, *arguments)
    try:
        head = read_some(process)  # it prints while it runs, not at its end
        rest, errors, waited = interrupt(daemon, process, number, stands_still)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 130
    return process, head + rest, errors, waited


def assert_all_are_told(daemon, process, taken, errors, waited, at_once, first=1):
    """Each ID that was issued to it was printed. Or it waited in vain and says for how many requests; of those the history knows."""
    following = int(daemon.seqctl("next", "orders").stdout)
    assert len(set(taken)) == len(taken)
    missing = sorted(set(range(first, following)) - set(taken))
    said = re.fullmatch(rb"(?:.*INTERRUPTED.*?(\d+) requests were not answered.*\n)?", errors)
    assert said, errors
    assert len(missing) <= at_once * int(said.group(1) or 0), f"lost: {missing[:10]} ..."
    assert said.group(1) is None or waited > 0.4
    with daemon.connect() as client:
        while missing:
            answer = client.call("explain", "orders", missing[0])
            assert answer["answer"] == "issued" and process.pid in [caller["pid"] for caller in answer["issued"]["callers"]], answer
            end = answer["issued"]["first"] + answer["issued"]["count"]
            missing = [number for number in missing if number >= end]


either_way = pytest.mark.parametrize("stands_still", [False, True])


@either_way
def test_InterruptedNextPrintsEveryIdThatItTookAsCompleteJson(daemon, stands_still):
    process, out, *said = interrupted(daemon, signal.SIGINT, stands_still, "-o", "json", "next", "orders", "-n", "1000000000")
    answer = json.loads(out)
    assert answer["name"] == "orders"
    assert_all_are_told(daemon, process, answer["ids"], *said, at_once=10_000)


@either_way
def test_InterruptedNextPrintsEveryIdThatItTookAsText(daemon, stands_still):
    process, out, *said = interrupted(daemon, signal.SIGTERM, stands_still, "next", "orders", "-n", "1000000000")
    assert_all_are_told(daemon, process, [int(line) for line in out.splitlines()], *said, at_once=10_000)


@either_way
def test_InterruptedNextPrintsEveryTextThatItTook(daemon, stands_still):
    process, out, *said = interrupted(daemon, signal.SIGTERM, stands_still, "next", "orders", "--text", "-n", "1000000000")
    assert_all_are_told(daemon, process, [int(line) for line in out.splitlines()], *said, at_once=1)


@either_way
def test_InterruptedRangePrintsWhatItTookOrTakesNothing(daemon, stands_still):
    daemon.seqctl("next", "orders")
    process = start(daemon, "range", "orders", "100000")
    try:
        out, errors, waited = interrupt(daemon, process, signal.SIGTERM, stands_still)  # wherever it is
    finally:
        process.kill()
        process.wait()
    # Before it heeds the signal it has not asked for anything; behind its end it does not hear of it.
    assert process.returncode in (130, -signal.SIGTERM, 0)
    runs = [line.split() for line in out.splitlines()]
    taken = [number for run in runs for number in range(int(run[0]), int(run[0]) + int(run[1]))]
    assert len(taken) in ((0, 100_000) if process.returncode == 130 else (0,) if process.returncode else (100_000,)), errors
    assert_all_are_told(daemon, process, taken, errors, waited, at_once=100_000, first=2)


def test_DrainWithMoreTimeThanTheDaemonTakesIsDone(daemon):
    daemon.seqctl("next", "orders")
    done = daemon.seqctl("-t", "600", "drain", "orders", "--yes")
    assert (done.returncode, done.stderr) == (0, "")


def test_StatusOfADaemonInOrderIsZero(daemon):
    daemon.seqctl("status")  # its store may not have been needed yet
    daemon.seqctl("next", "orders")
    assert daemon.seqctl("status").returncode == 0
    assert json.loads(daemon.seqctl("-o", "json", "status").stdout)["stopped"] == []
