"""seqctl as a person uses it, on a real daemon: interrupted, mistyped, with more time than the daemon takes."""

import json
import os
import signal
import subprocess
import time

import harness


def start(daemon, *arguments):
    return subprocess.Popen([os.path.join(harness.BUILD, "seqctl"), "--socket", str(daemon.socket), *arguments],
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0)


def read_some(process):
    head = b""
    while len(head) < 20:
        part = process.stdout.read(1_000)
        assert part, "the output ended"
        head += part
    return head


def assert_all_are_told(daemon, process, errors, last, waited):
    """Each ID that it took was printed, or it waited in vain for an answer and says so."""
    assert process.returncode == 130
    following = int(daemon.seqctl("next", "orders").stdout)
    if b"INTERRUPTED: " in errors:
        assert following > last and waited > 0.2
    else:
        assert (errors, following) == (b"", last + 1)


def test_InterruptedNextPrintsEveryIdThatItTookAsCompleteJson(daemon):
    process = start(daemon, "-o", "json", "next", "orders", "-n", "1000000000")
    try:
        head = read_some(process)  # the IDs come while it runs, not at its end
        assert head.startswith(b'{"ids":[1,2,3,')
        asked = time.monotonic()
        process.send_signal(signal.SIGINT)
        rest, errors = process.communicate(timeout=60)
    finally:
        process.kill()
        process.wait()
    answer = json.loads(head + rest)
    assert answer["name"] == "orders"
    assert answer["ids"] == list(range(1, len(answer["ids"]) + 1))
    assert_all_are_told(daemon, process, errors, answer["ids"][-1], time.monotonic() - asked)


def test_InterruptedNextPrintsEveryIdThatItTookAsText(daemon):
    process = start(daemon, "next", "orders", "-n", "1000000000")
    try:
        head = read_some(process)
        asked = time.monotonic()
        process.send_signal(signal.SIGTERM)
        rest, errors = process.communicate(timeout=60)
    finally:
        process.kill()
        process.wait()
    assert_all_are_told(daemon, process, errors, int((head + rest).splitlines()[-1]), time.monotonic() - asked)


def test_InterruptedNextPrintsEveryTextThatItTook(daemon):
    process = start(daemon, "next", "orders", "--text", "-n", "1000000000")
    try:
        head = read_some(process)
        process.send_signal(signal.SIGTERM)
        rest, errors = process.communicate(timeout=60)
    finally:
        process.kill()
        process.wait()
    assert (process.returncode, errors) == (130, b"")
    taken = [int(line) for line in (head + rest).splitlines()]
    assert taken == list(range(1, len(taken) + 1))
    assert daemon.seqctl("next", "orders").stdout == f"{taken[-1] + 1}\n"


def test_InterruptedRangePrintsWhatItTookOrTakesNothing(daemon):
    daemon.seqctl("next", "orders")
    process = start(daemon, "range", "orders", "100000")
    try:
        process.send_signal(signal.SIGTERM)  # wherever it is
        out, errors = process.communicate(timeout=60)
    finally:
        process.kill()
        process.wait()
    taken = sum(int(line.split()[1]) for line in out.splitlines())
    assert taken in (0, 100_000), errors
    # Where it was asked for and not answered within a moment, it waited, and was dropped.
    assert daemon.seqctl("next", "orders").stdout == f"{2 + taken}\n"


def test_DrainWithMoreTimeThanTheDaemonTakesIsDone(daemon):
    daemon.seqctl("next", "orders")
    done = daemon.seqctl("-t", "600", "drain", "orders", "--yes")
    assert (done.returncode, done.stderr) == (0, "")


def test_StatusOfADaemonInOrderIsZero(daemon):
    daemon.seqctl("status")  # its store may not have been needed yet
    daemon.seqctl("next", "orders")
    assert daemon.seqctl("status").returncode == 0
    assert json.loads(daemon.seqctl("-o", "json", "status").stdout)["stopped"] == []
