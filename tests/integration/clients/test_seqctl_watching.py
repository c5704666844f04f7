"""seqctl as an administrator uses it: probes, and what looks again and again, on a real daemon, through a pipe and a terminal."""

import fcntl
import json
import os
import pty
import re
import resource
import shutil
import signal
import socket
import sqlite3
import struct
import subprocess
import tempfile
import termios
import threading
import time
import tomllib
from pathlib import Path

import msgpack
import pytest

import harness
from disks import NotShown
from servers.mongod import die_with_parent, expect_soon
from servers.patience import PROGRAM_SECONDS, WaitedInVain

OWN_SEQUENCES = re.compile(rb"\x1b\[(?:H|K|J|\?1049[hl]|\?25[hl]|0m|7m|31m|33m)")
COLOURS = re.compile(rb"\x1b\[(?:7|31|33)m")


def environment_of(socket_path, **more):
    environment = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "LC_ALL", "LC_CTYPE")}
    return {**environment, "SEQD_SOCKET": str(socket_path), "TERM": "xterm", "LANG": "C.UTF-8", **more}


class Watching:
    """A seqctl that is read while it runs. `terminal`: rows and columns; else a pipe."""

    def __init__(self, socket_path, *arguments, terminal=None, **environment):
        if terminal:
            self.source, writer = pty.openpty()
            fcntl.ioctl(writer, termios.TIOCSWINSZ, struct.pack("HHHH", *terminal, 0, 0))
        else:
            self.source, writer = os.pipe()
        self.process = subprocess.Popen([str(harness.SEQCTL), *arguments], env=environment_of(socket_path, **environment),
                                        stdin=subprocess.DEVNULL, stdout=writer, stderr=subprocess.PIPE, preexec_fn=die_with_parent)
        os.close(writer)
        self.everything = b""
        self.unread = b""  # what no wait has seen

    def read(self, seconds=PROGRAM_SECONDS):
        """Some more of what it prints; False at its end."""
        if not harness.readable(seconds, self.source):
            raise WaitedInVain(f"nothing more came after {self.everything[-2000:]!r}")
        try:
            part = os.read(self.source, 65536)
        except OSError:  # of a terminal whose last writer has gone
            part = b""
        self.everything += part
        self.unread += part
        return bool(part)

    def wait_for(self, pattern, meanwhile=lambda: None, seconds=PROGRAM_SECONDS):
        """Until what it prints from here on has the pattern; forgets what came up to there."""
        end = time.monotonic() + seconds
        while True:
            found = re.search(pattern, self.unread)
            if found:
                self.unread = self.unread[found.end():]
                return found
            if time.monotonic() > end:
                raise WaitedInVain(f"no {pattern!r} in {self.unread[-3000:]!r}")
            meanwhile()
            assert self.read(seconds), f"it ended without {pattern!r}: {self.everything[-3000:]!r}"

    def end(self, number=None):
        """Its exit code, after that signal; everything that it printed is in `everything`, and what it said is returned with it."""
        if number is not None:
            self.process.send_signal(number)
        while self.read():
            pass
        _, said = self.process.communicate(timeout=PROGRAM_SECONDS)
        return self.process.returncode, said

    def close(self):
        self.process.kill()
        self.process.communicate()
        os.close(self.source)


@pytest.fixture
def watching():
    """Starts commands that end with the test."""
    started = []

    def start(*arguments, **options):
        started.append(Watching(*arguments, **options))
        return started[-1]

    yield start
    for each in started:
        each.close()


class FakeDaemon(threading.Thread):
    """Answers with what it is told to, as no real daemon would."""

    def __init__(self, path, results):
        super().__init__(daemon=True)
        self.results = results
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.listener.bind(str(path))
        self.listener.listen()
        self.start()

    def run(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            with connection:
                self.serve(connection)

    def serve(self, connection):
        unpacker = msgpack.Unpacker(raw=False, strict_map_key=False)
        while part := connection.recv(65536):
            unpacker.feed(part)
            for message in unpacker:
                if message[0] == 0:
                    connection.sendall(msgpack.packb([1, message[1], None, self.results.get(message[2])], use_bin_type=False))

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.join(PROGRAM_SECONDS)


HELLO = {"server": "seqd", "version": "0.1.0", "protocol": 1, "known": False, "instance": "i", "connection": "c",
         "limits": {"frame": 65536, "depth": 8, "name": 128, "count": 1000, "pipeline": 100, "unacknowledged": 100}}


@pytest.fixture
def fake_daemon():
    """Makes a fake daemon, which ends with the test: its socket."""
    started = []
    with tempfile.TemporaryDirectory(prefix="seqd-test-", dir="/dev/shm") as directory:
        def start(**results):
            path = Path(directory) / "s"
            started.append(FakeDaemon(path, {"hello": HELLO, "ping": "pong", **results}))
            return path

        yield start
        for each in started:
            each.close()


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
def test_TopFindsTheBusyOneOfTenThousandSequences(daemon, watching):
    with daemon.connect(60) as client:
        names = [f"s{number:05}" for number in range(10_000)]
        for begin in range(0, len(names), 1_000):
            for request in [client.request("next", name) for name in names[begin:begin + 1_000]]:
                client.result(request)
        # Ten thousand rows, twice: a slow machine needs longer than seqctl waits for an answer by itself.
        top = watching(daemon.socket, "-t", "60", "-o", "json", "top", "-i", "0.1", "-n", "1000000")
        top.wait_for(rb'"name":"s07777".*"sequences":10000', lambda: client.call("range", "s07777", 10), 3 * PROGRAM_SECONDS)
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


# --- doctor -----------------------------------------------------------------------------------------------------------


def findings_of(done):
    by_subject = {}
    for finding in json.loads(done.stdout)["findings"]:
        by_subject.setdefault(finding["subject"], finding)
    return by_subject


def test_DoctorLooksAtARunningDaemon(daemon):
    daemon.seqctl("next", "orders")
    found = findings_of(daemon.seqctl("-o", "json", "doctor", "--witness-dir", str(daemon.witness), expect=None))
    assert {found[subject]["level"] for subject in ("socket", "daemon", "rights", "store", "sequences", "witness")} == {"ok"}
    assert "and administer" in found["rights"]["text"]
    assert found["state"]["text"].startswith(str(daemon.state))  # found by the process
    assert found["clock"]["level"] in ("ok", "warn", "unknown") and "disk" in found and "unit" in found
    assert "bad" not in {finding["level"] for subject, finding in found.items() if subject not in ("state", "disk", "unit")}


def test_DoctorSaysWhatIsBadAndWhatToDo(make_daemon):
    daemon = make_daemon(sequences={"few": {"max_value": 3}}).start()
    daemon.seqctl("range", "few", "3")
    daemon.seqctl("next", "few", expect=1)
    text = daemon.seqctl("doctor", expect=1).stdout
    assert re.search(r"^bad +sequence +few is stopped: EXHAUSTED: .*\n +-> journalctl", text, re.MULTILINE)
    daemon.kill()
    found = findings_of(daemon.seqctl("-t", "0.1", "-o", "json", "doctor", expect=1))
    assert found["daemon"]["level"] == "bad" and found["daemon"]["remedy"]
    daemon.socket.unlink()
    assert findings_of(daemon.seqctl("-t", "0.1", "-o", "json", "doctor", expect=1))["socket"]["level"] == "bad"


def doctor_of_a_stranger(daemon):
    """What user and group 65534 are told; where the clone is may be closed to them."""
    if os.getuid() != 0:
        raise NotShown("another user can be tried by root only")
    seqctl = daemon.short / "seqctl"
    shutil.copy(harness.SEQCTL, seqctl)
    daemon.short.chmod(0o755)
    done = subprocess.run([str(seqctl), "-o", "json", "doctor"], env=environment_of(daemon.socket), stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=PROGRAM_SECONDS, check=False, user=65534, group=65534, extra_groups=[])
    assert done.stderr == ""
    return done.returncode, findings_of(done)


def test_DoctorTellsAStrangerWhatTheStrangerMayDo(make_daemon):
    daemon = make_daemon(daemon={"socket_mode": "0666"}).start()
    code, found = doctor_of_a_stranger(daemon)
    assert code == 0 and found["socket"]["level"] == "warn"
    assert found["rights"]["text"].endswith("and may not administer")


def test_DoctorNeverAdvisesToBecomeAMemberOfRoot(make_daemon):
    daemon = make_daemon(daemon={"socket_mode": "0660"}).start()
    code, found = doctor_of_a_stranger(daemon)
    assert code == 1 and found["socket"]["level"] == "bad" and found["daemon"]["remedy"] == "see socket"
    assert "usermod" not in found["socket"]["remedy"]
    os.chown(daemon.socket, 0, 65533)
    _, found = doctor_of_a_stranger(daemon)
    assert found["socket"]["remedy"].startswith("usermod -aG 65533 ")


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


# --- clients, watch, config dump


def clients_of(daemon):
    return json.loads(daemon.seqctl("-o", "json", "clients").stdout)


def test_ClientsShowsWhoTookWhat(daemon):
    with daemon.connect() as client:
        client.call("hello", {"name": "sh\x1b[2Jop"})
        client.call("range", "orders", 500)
        client.next("orders")
        (shop,) = [row for row in clients_of(daemon) if row["name"] == "sh?[2Jop"]
        assert (shop["uid"], shop["pid"], shop["ids"], shop["requests"], shop["waiting"]) == (os.getuid(), os.getpid(), 501, 3, 0)
        before = shop["connected_ms"]
        assert before >= 0
        assert next(row for row in clients_of(daemon) if row["id"] == shop["id"])["connected_ms"] >= before
        text = daemon.seqctl("clients").stdout
        assert re.search(rf"^\S+ +{os.getpid()} +sh\?\[2Jop +\d+ .*3 +0 +501$", text, re.MULTILINE), text
    expect_soon("the end of the connection", lambda: [row["name"] for row in clients_of(daemon)] == ["seqctl"])


def test_ClientsOfOthersAreForAdministrators(make_daemon):
    if os.getuid() != 0:
        raise NotShown("another user can be tried by root only")
    daemon = make_daemon(daemon={"socket_mode": "0666"}).start()
    daemon.short.chmod(0o755)
    seqctl = daemon.short / "seqctl"
    shutil.copy(harness.SEQCTL, seqctl)

    def stranger(*arguments):
        return subprocess.run([str(seqctl), *arguments], env=environment_of(daemon.socket), stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=PROGRAM_SECONDS, check=False, user=65534, group=65534, extra_groups=[])

    with daemon.connect():
        assert {row["uid"] for row in clients_of(daemon)} == {0}
        seen = stranger("-o", "json", "clients")
        assert [row["uid"] for row in json.loads(seen.stdout)] == [65534]
        refused = stranger("config", "dump")
        assert refused.returncode == 1 and refused.stderr.startswith("seqctl: DENIED: config is for administrators")


def test_ThousandsOfConnectionsAreSeenPageByPage(daemon):
    files = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (files[1], files[1]))
    clients = [daemon.connect() for _ in range(1_100)]
    try:
        rows = clients_of(daemon)
        assert len(rows) == 1_101
        assert len({row["id"] for row in rows}) == 1_101
    finally:
        for client in clients:
            client.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, files)


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


def test_ConfigDumpIsWhatIsInForceAndReadsAsAFile(make_daemon, scratch):
    secret = "hunter2"
    stores = {"default": {"type": "sqlite"}, "central": {"type": "mongodb", "uri": f"mongodb://ann:{secret}@127.0.0.1:1/"}}
    daemon = make_daemon(daemon={"stop_timeout": "7s"}, stores=stores, sequences={"orders": {"max_value": 900}, "t-*": {"lease_min": 7}}).start()
    daemon.seqctl("next", "orders")
    text = daemon.seqctl("config", "dump").stdout
    assert secret not in text and "ann" not in text
    read = tomllib.loads(text)
    assert read["daemon"]["stop_timeout"] == "7s" and read["daemon"]["socket"] == str(daemon.socket)
    assert read["store"]["central"]["uri"] == "mongodb://***@127.0.0.1:1/"
    assert read["sequence"] == {"orders": {"max_value": 900}, "t-*": {"lease_min": 7}}
    line = daemon.config_file.read_text().splitlines().index('stop_timeout = "7s"') + 1
    assert re.search(rf'^stop_timeout = "7s" +# line {line}$', text, re.MULTILINE)
    assert re.search(r'^history_max_age = "30d" +# default$', text, re.MULTILINE)
    # A dump is a configuration, but for the secret.
    again = scratch / "again.toml"
    again.write_text(text.replace("***@", ""))
    subprocess.run([harness.SEQD, "--config", again, "--check"], check=True, capture_output=True, timeout=PROGRAM_SECONDS)

    daemon.configure(daemon={"stop_timeout": "8s", "history": False}, stores=stores, sequences={"orders": {"max_value": 900, "collection": "c"}})
    daemon.seqctl("reload")
    dumped = json.loads(daemon.seqctl("-o", "json", "config", "dump").stdout)
    options = {(table["table"], option["key"]): option for table in dumped["tables"] for option in table["options"]}
    assert dumped["reloads"] == 1 and dumped["file"] == str(daemon.config_file)
    assert options["daemon", "stop_timeout"]["value"] == '"8s"' and not options["daemon", "stop_timeout"]["waits"]
    assert options["daemon", "history"]["value"] == "true" and options["daemon", "history"]["waits"]
    assert options['sequence."orders"', "collection"]["value"] == '"counters"' and options['sequence."orders"', "collection"]["waits"]
    of_orders = daemon.seqctl("config", "dump", "orders").stdout
    assert '[sequence."orders"]' in of_orders and re.search(r'^lease_min = 10 +# default$', of_orders, re.MULTILINE), of_orders
    daemon.restart()
    assert "waits for a restart" not in daemon.seqctl("config", "dump").stdout


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
