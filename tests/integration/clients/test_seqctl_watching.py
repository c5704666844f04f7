"""seqctl as an administrator uses it: probes, and what looks again and again, on a real daemon, through a pipe and a terminal."""

import json
import os
import re
import signal
import sqlite3
import subprocess
import time

import pytest

import harness
from servers.mongod import die_with_parent, expect_soon
from servers.patience import PROGRAM_SECONDS
from watching import environment_of

OWN_SEQUENCES = re.compile(rb"\x1b\[(?:H|K|J|\?1049[hl]|\?25[hl]|0m|7m|31m|33m)")
COLOURS = re.compile(rb"\x1b\[(?:7|31|33)m")


# --- health -----------------------------------------------------------------------------------------------------------


def test_AHealthyDaemonIsLiveAndReady(daemon):
    daemon.seqctl("next", "orders")
    assert daemon.seqctl("health").stdout == "ready, 1 sequences in use\n"
    assert json.loads(daemon.seqctl("-o", "json", "health", "--ready").stdout) == {
        "ready": True, "sequences": 1, "obstacles": 0, "why": []}
    assert daemon.seqctl("health", "--live").stdout == "live\n"


def test_ADaemonWithASequenceThatCannotIssueIsLiveAndNotReady(make_daemon):
    daemon = make_daemon(sequences={"few": {"max_value": 3}}).start()
    daemon.seqctl("range", "few", "3")
    daemon.seqctl("next", "few", expect=1)
    ready = daemon.seqctl("health", "--ready", expect=5)
    assert re.fullmatch(r"not ready: few is stopped: EXHAUSTED: .*\n", ready.stdout)
    assert daemon.seqctl("health", "--live").returncode == 0


def test_AnAbsentDaemonIsNeitherLiveNorReady(daemon):
    daemon.kill()
    for which in ("--live", "--ready"):
        done = daemon.seqctl("-t", "0.1", "health", which, expect=69)
        assert (done.stdout, done.stderr.count("\n")) == ("", 1)


def test_ADaemonThatStandsStillIsNotLive(daemon):
    daemon.process.send_signal(signal.SIGSTOP)
    try:
        assert daemon.seqctl("-t", "0.2", "health", "--live", expect=69).stdout == ""
    finally:
        daemon.process.send_signal(signal.SIGCONT)


# --- stat -------------------------------------------------------------------------------------------------------------


def test_StatGoesOnWhileTheDaemonIsGoneAndEndsWithASignal(daemon, watching):
    stat = watching(daemon.socket, "stat", "-i", "0.05")
    stat.wait_for(rb"IDs/s +requests/s +connections +waiting +leases/s +gaps +errors\n")
    stat.wait_for(rb"\n +[1-9][0-9.]* +[1-9]", lambda: daemon.seqctl("range", "orders", "1000"))
    daemon.kill()
    stat.wait_for(rb"no answer: CONNECT: ")
    daemon.start()
    stat.wait_for(rb"the daemon was restarted, pid %d\n" % daemon.process.pid)
    stat.wait_for(rb"\n +[0-9.]+ +[0-9.]+ +1 +0 +[0-]+ +[0-]+ +[0-]+\n")
    assert stat.end(signal.SIGINT) == (130, b"")
    assert stat.everything.endswith(b"\n")


def test_StatOfSomeIntervalsAsLinesOfJson(daemon):
    lines = daemon.seqctl("-o", "json", "stat", "-i", "0.01", "-n", "3").stdout.splitlines()
    assert len(lines) == 3
    for line in map(json.loads, lines):
        assert line["connections"] == 1 and line["ids_per_second"] == 0 and line["requests_per_second"] > 0


@pytest.mark.parametrize("command", ["stat", "top"])
def test_WhatWatchesEndsWhenItsReaderHasGone(daemon, command):
    reader, writer = os.pipe()
    process = subprocess.Popen([str(harness.SEQCTL), command, "-i", "3600"], env=environment_of(daemon.socket), stdin=subprocess.DEVNULL,
                               stdout=writer, stderr=subprocess.PIPE, preexec_fn=die_with_parent)
    os.close(writer)
    os.close(reader)
    try:
        _, said = process.communicate(timeout=PROGRAM_SECONDS)
    finally:
        process.kill()
        process.wait()
    assert (process.returncode, said) == (0, b"")


def test_StatDoesNotBeginWithoutADaemon(daemon):
    daemon.kill()
    done = daemon.seqctl("-t", "0.1", "stat", expect=69)
    assert done.stdout == "" and done.stderr.startswith("seqctl: CONNECT: ")


def test_StatCountsErrorsAndGapsAndLeases(make_daemon):
    daemon = make_daemon(sequences={"few": {"max_value": 3}}).start()
    with daemon.connect() as client:
        before = client.call("status")
        client.call("range", "few", 3)
        client.error("next", "few")
        client.error("no_such_method")
        client.call("range", "orders", 2)
        lost = client.call("drain", "orders")[0]["gaps"]
        after = client.call("status")
    changed = {key: after[key] - before[key] for key in ("leases", "gaps", "errors")}
    assert changed == {"leases": 2, "gaps": sum(count for _, count in lost), "errors": 2} and changed["gaps"] > 0


# --- latency ----------------------------------------------------------------------------------------------------------


def test_LatencyTakesNoIdAndPrintsQuantilesInOrder(daemon):
    with daemon.connect() as client:
        before = client.call("status")["issued"]
        value = json.loads(daemon.seqctl("-o", "json", "latency", "-n", "200").stdout)
        assert client.call("status")["issued"] == before
    times = [value[key] for key in ("min_us", "p50_us", "p90_us", "p99_us", "max_us")]
    assert value["count"] == 200 and times == sorted(times) and times[0] > 0
    assert sum(bucket["count"] for bucket in value["histogram"]) == 200
    text = daemon.seqctl("latency", "-n", "50").stdout
    assert text.startswith("50 pings: min ") and "#" in text and text.isascii()


def test_LatencyThatIsInterruptedPrintsWhatItMeasured(daemon, watching):
    latency = watching(daemon.socket, "latency", "-n", "1000000")
    with daemon.connect() as client:
        end = time.monotonic() + PROGRAM_SECONDS
        asked = 1
        while client.call("status")["requests"] - asked < 50:
            asked += 1
            assert time.monotonic() < end
    code, said = latency.end(signal.SIGINT)
    assert (code, said) == (130, b"")
    assert re.match(rb"\d+ pings: min ", latency.everything)


# --- top --------------------------------------------------------------------------------------------------------------


def test_TopIsDrawnAgainOnATerminalAlsoAfterAKill(daemon, watching):
    daemon.seqctl("next", "idle")
    top = watching(daemon.socket, "top", "-i", "0.1", terminal=(24, 120))
    top.wait_for(rb"\x1b\[\?1049h")
    top.wait_for(rb"orders +[1-9][0-9]* +\d+ +[0-9.]+ s +0 +default +\w+ .*[\xe2]", lambda: daemon.seqctl("range", "orders", "1000"))
    daemon.kill()
    top.wait_for(rb"\x1b\[31mno answer: CONNECT: .*\x1b\[0m\x1b\[K\r\n.*\n.*(?:orders|idle)")  # above the last table
    daemon.start()
    top.wait_for(rb"\x1b\[Hseqd \S+: ")
    assert top.end(signal.SIGTERM) == (130, b"")
    assert top.everything.endswith(b"\x1b[?25h\x1b[?1049l")


def test_TopFitsTheTerminalAndHasNoColoursWhereTheyAreNotWanted(daemon, watching):
    with daemon.connect() as client:
        for number in range(30):
            client.next(f"sequence-with-a-long-name-{number}")
    top = watching(daemon.socket, "top", "-i", "0.05", "-n", "2", terminal=(10, 60), NO_COLOR="1", LANG="C")
    assert top.end() == (0, b"")
    assert top.everything.isascii() and not COLOURS.search(top.everything)
    screens = top.everything.split(b"\x1b[H")[1:]
    assert len(screens) == 2
    for screen in screens:
        lines = OWN_SEQUENCES.sub(b"", screen).split(b"\r\n")
        assert len(lines) == 10 and max(map(len, lines)) <= 60, lines


def test_TopOnNoTerminalPrintsOneTable(daemon):
    daemon.seqctl("range", "orders", "5")
    lines = daemon.seqctl("top", "-i", "0.01").stdout.splitlines()
    assert re.match(r"seqd \S+: \d+ IDs/s, 1 sequences, 0 stopped, 0 requests waiting, 1 connections$", lines[0])
    assert re.match(r"NAME +IDS/S +AVAILABLE +RUNWAY +WAITING +STORE +STATE$", lines[1])
    assert re.match(r"orders +0 +\d+ +- +0 +default +\w+$", lines[2]) and len(lines) == 3


@pytest.mark.limit(180)
def test_TopFindsTheBusyOneOfTenThousandSequences(make_daemon, watching):
    daemon = make_daemon(daemon={"state_log_size": "24MiB"}, limits={"max_sequences": 20_000}).start()
    with daemon.connect(60) as client:
        names = [f"s{number:05}" for number in range(10_000)]
        for begin in range(0, len(names), 1_000):
            for request in [client.request("next", name) for name in names[begin:begin + 1_000]]:
                client.result(request)
        # Ten thousand rows, twice: a slow machine needs longer than seqctl waits for an answer by itself.
        top = watching(daemon.socket, "-t", "60", "-o", "json", "top", "-i", "0.1", "-n", "1000000")
        top.wait_for(rb'"name":"s07777".*"sequences":10000', lambda: client.call("range", "s07777", 10), 9 * PROGRAM_SECONDS)
    first = json.loads(top.everything.splitlines()[0])
    assert len(first["rows"]) == 20
    assert top.end(signal.SIGINT) == (130, b"")
    assert daemon.seqctl("health").stdout == "ready, 10000 sequences in use\n"


# --- hostile answers --------------------------------------------------------------------------------------------------

EVIL = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202e\r\nseqctl: ok"
HOSTILE = {"list": [{"name": EVIL, "store": EVIL, "state": EVIL, "error": EVIL, "available": 0, "issued": 5, "waiting": 1, "next": EVIL}],
           "status": {"version": EVIL, "pid": EVIL, "uptime_ms": EVIL, "state_how": EVIL, "instance": EVIL, "issued": EVIL,
                      "stores": [{"name": EVIL, "type": EVIL, "state": EVIL, "error": EVIL}],
                      "ending": [{"name": EVIL, "left": EVIL, "days_left": EVIL}], "log": EVIL}}


@pytest.mark.parametrize("arguments", [("health",), ("stat", "-n", "2", "-i", "0.01"), ("top", "-i", "0.01"), ("doctor",), ("list",),
                                       ("status",), ("-o", "json", "top", "-i", "0.01"), ("-o", "json", "doctor"),
                                       ("-o", "json", "health")])
def test_WhatAHostileDaemonSendsDoesNotReachTheTerminal(fake_daemon, watching, arguments):
    command = watching(fake_daemon(**HOSTILE), *arguments)
    code, said = command.end()
    assert code in (0, 1, 5)
    text = (command.everything + said).decode()
    assert text and not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]", text), text


def test_WhatAHostileDaemonSendsDoesNotReachTheTerminalOfTop(fake_daemon, watching):
    top = watching(fake_daemon(**HOSTILE), "top", "-i", "0.01", "-n", "3", terminal=(24, 200), LANG="C")
    assert top.end() == (0, b"")
    text = OWN_SEQUENCES.sub(b"", top.everything).replace(b"\r\n", b"")
    assert b"owned" in text
    assert not re.search(rb"[^ -~]", text), text


def test_PagesWithoutAnEndDoNotKeepHealthForEver(fake_daemon, watching):
    page = [{"name": f"{number:04}"} for number in range(1_000)]
    command = watching(fake_daemon(status={"stores": []}, list=page), "health")
    code, said = command.end()
    assert code == 1 and b"do not end" in said


# --- watch ------------------------------------------------------------------------------------------------------------


def test_WatchTellsEachChangeAndSurvivesAKill(daemon, watching):
    watch = watching(daemon.socket, "watch", "-i", "0.05", "orders", "invoices")
    watch.wait_for(rb"TIME +NAME +NEXT +IDs/s +AVAILABLE +RUNWAY +WAITING STATE\n")
    watch.wait_for(rb"\d\d:\d\d:\d\d orders .* not in use\n\d\d:\d\d:\d\d invoices .* not in use\n")
    with daemon.connect() as client:
        client.call("range", "orders", 7)
    watch.wait_for(rb"orders +8 .* ready\n")
    daemon.kill()
    watch.wait_for(rb"no answer: \w+: .*\n")
    daemon.start()
    watch.wait_for(rb"orders +8 .*\n.*invoices .* not in use\n")
    with daemon.connect() as client:
        assert client.next("invoices") == 1
    watch.wait_for(rb"invoices +2 .* ready\n")
    code, said = watch.end(signal.SIGINT)
    assert (code, said) == (130, b"")
    assert watch.everything.endswith(b"\n")


def test_WatchOfRestingSequencesIsSilent(daemon, watching):
    daemon.seqctl("next", "orders")
    watch = watching(daemon.socket, "-o", "json", "watch", "-i", "0.01", "-n", "50", "orders")
    assert watch.end() == (0, b"")
    (line,) = [json.loads(line) for line in watch.everything.splitlines()]
    assert (line["name"], line["next"], line["ids_per_second"], line["state"], line["waiting"]) == ("orders", 2, None, "ready", 0)


def test_WatchOfANameThatIsNoneIsAnError(daemon):
    assert daemon.seqctl("watch", "or ders", expect=1).stderr.startswith("seqctl: BAD_REQUEST: ")


def test_AShortRunwayInAnOutageIsWarnedOfOnce(make_daemon):
    daemon = make_daemon(defaults={"lease_min": 1_000, "lease_max": 1_000}).start()
    daemon.seqctl("range", "orders", "10")
    with sqlite3.connect(daemon.state / "sequences.db", isolation_level=None) as lock, daemon.connect() as client:
        lock.execute("BEGIN EXCLUSIVE")

        def warned():
            if client.call("peek", "orders")["available"] > 100:
                client.call("range", "orders", 10)
            return 'the available IDs of "orders" last for about' in daemon.stderr(-1)

        expect_soon("the warning", warned)
        lock.execute("ROLLBACK")
    assert daemon.stderr(-1).count("last for about") == 1
    assert "store default has an error: UNAVAILABLE" in daemon.stderr(-1)
