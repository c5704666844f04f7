#!/usr/bin/python3
"""`make bench-loop`: how long the loop is held up with LOOP_SEQUENCES (100,000) sequences and LOOP_CONNECTIONS (10,000) connections.

A probe asks `ping` on a connection of its own, one after the other, and the longest answer of a phase is how long the loop was
held up. Phases: the storm in which every sequence is used for the first time; the start behind an orderly stop; serving, with
nothing else to do; connections that all wait for IDs (another process has locked the store's file) and are closed at once.
Prints one line a phase. LOOP_HISTORY_LOST=1 starts once more without the log, so that the history knows what the log does not.
"""

import os
import resource
import shutil
import signal
import socket
import sqlite3
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "integration"))
# pylint: disable=wrong-import-position
import msgpack
import harness
from notified import Notified

SEQUENCES = int(os.environ.get("LOOP_SEQUENCES", "100000"))
CONNECTIONS = int(os.environ.get("LOOP_CONNECTIONS", "10000"))
START_SECONDS = 600
BATCH = 500


class Line:
    """One connection that knows how to ask and to wait for all its answers."""

    def __init__(self, path: Path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(str(path))
        self.unpacker = msgpack.Unpacker()
        self.next = 1

    def send(self, method: str, *params) -> None:
        self.socket.sendall(msgpack.packb([0, self.next, method, list(params)]))
        self.next += 1

    def answers(self, count: int) -> list:
        found = []
        while len(found) < count:
            data = self.socket.recv(1 << 20)
            if not data:
                sys.exit("bench-loop: the daemon closed a connection")
            self.unpacker.feed(data)
            found += list(self.unpacker)
        return found

    def call(self, method: str, *params):
        self.send(method, *params)
        _, _, error, result = self.answers(1)[0]
        if error is not None:
            sys.exit(f"bench-loop: {method} failed: {error[1]}")
        return result


class Probe(threading.Thread):
    """Asks `ping` until it is stopped, and keeps the longest wait."""

    def __init__(self, path: Path):
        super().__init__(daemon=True)
        self.line, self.longest, self.count, self.stopping = Line(path), 0.0, 0, threading.Event()
        self.start()

    def run(self) -> None:
        while not self.stopping.is_set():
            begun = time.monotonic()
            self.line.call("ping")
            self.longest = max(self.longest, time.monotonic() - begun)
            self.count += 1

    def stop(self) -> str:
        self.stopping.set()
        self.join()
        self.line.socket.close()
        return f"longest ping {self.longest * 1000:.1f} ms of {self.count}"


class Bench:
    """A daemon with many sequences, and what is done to it."""

    def __init__(self, directory: Path):
        self.directory, self.socket = directory, directory / "seqd.sock"
        self.config = directory / "seqd.toml"
        room = SEQUENCES * 2  # a quarter is kept for sequences with a table of their own, and a quarter of the rest for other users
        log_kib = max(16 * 1024, room + 4096)
        self.config.write_text(f'''
[daemon]
socket = "{self.socket}"
state_dir = "{directory}/state"
witness_dir = "{directory}/witness"
state_log_size = "{log_kib}KiB"
stop_timeout = "600s"
[limits]
max_sequences = {room}
max_connections = {CONNECTIONS + 200}
[sequence_defaults]
wait_timeout = "600s"
max_waiters = 100000
''', encoding="ascii")
        for name in ("state", "witness"):
            (directory / name).mkdir(exist_ok=True)
        self.process = None

    def start(self) -> float:
        (self.directory / "notify-seqd").unlink(missing_ok=True)
        begun = time.monotonic()
        self.process = Notified([harness.SEQD, "--config", self.config], self.directory, START_SECONDS)
        return time.monotonic() - begun

    def stop(self) -> float:
        begun = time.monotonic()
        self.process.process.send_signal(signal.SIGTERM)
        self.process.process.wait()
        self.process.close()
        return time.monotonic() - begun

    def storm(self) -> str:
        probe, line, begun = Probe(self.socket), Line(self.socket), time.monotonic()
        for first in range(0, SEQUENCES, BATCH):
            names = [f"n{number}" for number in range(first, min(first + BATCH, SEQUENCES))]
            for name in names:
                line.send("next", name)
            failed = [error for _, _, error, _ in line.answers(len(names)) if error]
            if failed:
                sys.exit(f"bench-loop: {failed[0][1]}")
        seconds = time.monotonic() - begun
        line.socket.close()
        return f"{seconds:.1f} s, {probe.stop()}"

    def serve(self, seconds: float) -> str:
        probe, line = Probe(self.socket), Line(self.socket)
        end, count = time.monotonic() + seconds, 0
        while time.monotonic() < end:
            line.call("next", f"n{count % SEQUENCES}")
            count += 1
        line.socket.close()
        return f"{probe.stop()}"

    def close_waiting(self) -> str:
        store = sqlite3.connect(self.directory / "state" / "sequences.db", isolation_level=None, timeout=60)
        store.execute("BEGIN EXCLUSIVE")
        lines = [Line(self.socket) for _ in range(CONNECTIONS)]
        for at, line in enumerate(lines):
            line.send("range", f"n{at % 10}", 100_000)
        look = Line(self.socket)
        while look.call("status")["waiting"] < CONNECTIONS:
            pass
        probe, begun = Probe(self.socket), time.monotonic()
        for line in lines:
            line.socket.close()
        while look.call("status")["connections"] > 2:
            pass
        seconds = time.monotonic() - begun
        store.execute("ROLLBACK")
        store.close()
        return f"{seconds:.1f} s, {probe.stop()}"


def main() -> None:
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if most < CONNECTIONS + 200:
        sys.exit(f"bench-loop: {most} open files are allowed; LOOP_CONNECTIONS={most - 200} is the most that can be measured")
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    with tempfile.TemporaryDirectory(prefix="seqd-loop-") as name:
        bench = Bench(Path(name))
        print(f"{SEQUENCES} sequences, {CONNECTIONS} connections")
        bench.start()
        print("storm:           ", bench.storm(), flush=True)
        print("serving:         ", bench.serve(5), flush=True)
        print("closing waiting: ", bench.close_waiting(), flush=True)
        print(f"orderly stop:      {bench.stop():.1f} s", flush=True)
        print(f"start:             {bench.start():.1f} s", flush=True)
        bench.stop()
        if os.environ.get("LOOP_HISTORY_LOST"):
            for file in ("log.0", "log.1"):
                (bench.directory / "state" / file).unlink()
            shutil.rmtree(bench.directory / "witness")
            (bench.directory / "witness").mkdir()
            print(f"start without log: {bench.start():.1f} s", flush=True)
            bench.stop()


if __name__ == "__main__":
    main()
