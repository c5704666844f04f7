#!/usr/bin/python3
"""`make bench-sequences`: what many sequences cost: memory of one that rests, and the time from exec to READY.

For each count of SEQUENCES_COUNTS ("1000 16000 100000") a daemon gives one ID of so many sequences, whose names are like those of
tenants. Printed with their goals are the resident memory of the loop's thread that each of them costs while all rest, over that of
the same daemon with a few, after they were used, after an orderly stop and after kill -9; and the shortest and the median time to
READY of SEQUENCES_STARTS (7) starts of either kind. An orderly stop closes the store, a kill does not. The time begins when the
child calls exec, so the harness is not in it. What is measured is the machine, too: let it be idle.
Ends with 1 if a goal is missed. SEQUENCES_COUNTS="750000" is what `limits.max_sequences = 1000000` allows without tables.
"""

import os
import re
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import List

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "integration"))
# pylint: disable=wrong-import-position
import msgpack
import harness

COUNTS = [int(count) for count in os.environ.get("SEQUENCES_COUNTS", "1000 16000 100000").split()]
STARTS = int(os.environ.get("SEQUENCES_STARTS", "7"))
OUTPUT = harness.PROJECT / "build" / "bench"
FEW = 100  # of the daemon that the others are compared with: it has all that does not depend on their number
BATCH = 500
ARENA = 64 << 20
PATIENCE_SECONDS = 600.0
BYTES_GOAL = 1024  # of a sequence that rests
READY_GOALS_MS = [(1_000, 20), (16_000, 200), (1_000_000, 10_000)]  # up to so many sequences


def name_of(number: int) -> str:
    return f"tenant-{number:06}.order"


class Host:
    """A daemon that has given one ID of each of `count` sequences."""

    def __init__(self, scratch: Path, count: int):
        self.count = count
        most = min(max(count * 3 // 2, 2_000), 1_000_000)  # a quarter is kept for sequences with a table
        # For a typical sequence 1 KiB of the log is counted.
        self.daemon = harness.Daemon(scratch, f"host-{count}", daemon={"state_log_size": f"{most + 8192}KiB", "stop_timeout": "600s"},
                                     limits={"max_sequences": most}, defaults={"wait_timeout": "600s", "max_waiters": 100_000})
        self.exec_ns, self.writer = os.pipe()
        self.daemon.preexec = lambda: os.write(self.writer, b"%020d" % time.monotonic_ns())

    def start_ms(self) -> float:
        self.daemon.spawn().wait_ready(PATIENCE_SECONDS)
        ready = time.monotonic_ns()
        return (ready - int(os.read(self.exec_ns, 20))) / 1e6

    def use_all(self) -> float:
        """Each once; the seconds that it took."""
        begun = time.monotonic()
        connection = self.daemon.connect(PATIENCE_SECONDS)
        unpacker = msgpack.Unpacker()
        for first in range(0, self.count, BATCH):
            names = [name_of(number) for number in range(first, min(first + BATCH, self.count))]
            connection.socket.sendall(b"".join(msgpack.packb([0, at, "next", [name]]) for at, name in enumerate(names, first + 1)))
            left = len(names)
            while left:
                unpacker.feed(connection.socket.recv(1 << 20))
                for _, _, error, _ in unpacker:
                    if error is not None:
                        sys.exit(f"bench-sequences: {error}")
                    left -= 1
        connection.close()
        return time.monotonic() - begun

    def resting_bytes(self) -> int:
        """When it does not shrink any more."""
        lowest, since = self.loop_bytes(), time.monotonic()
        while time.monotonic() - since < 4:
            time.sleep(0.5)
            now = self.loop_bytes()
            if now < lowest:
                lowest, since = now, time.monotonic()
        return lowest

    def loop_bytes(self) -> int:
        """Of the loop's thread: malloc gives other threads arenas that begin at multiples of 64 MiB. What the workers keep, the page
        caches of SQLite, has a bound that does not depend on the sequences."""
        total, counted = 0, False
        for line in Path(f"/proc/{self.daemon.process.pid}/smaps").read_text().splitlines():
            if re.match(r"[0-9a-f]+-[0-9a-f]+ ", line):
                counted = int(line.split("-")[0], 16) % ARENA != 0
            elif counted and line.startswith("Anonymous:"):
                total += int(line.split()[1]) * 1024
        return total

    def end(self, kill: bool) -> None:
        if kill:
            self.daemon.kill()
        else:
            self.daemon.process.terminate()
            self.daemon.wait_exit(PATIENCE_SECONDS)


class Report:
    def __init__(self) -> None:
        self.missed = 0

    def line(self, what: str, figure: float, unit: str, goal: float, more: str = "") -> None:
        reached = figure <= goal
        self.missed += not reached
        print(f"{'reached' if reached else 'MISSED '}  {what}: {figure:.{1 if unit == 'ms' else 0}f} {unit}, goal {goal} {unit}{more}",
              flush=True)


def measure(scratch: Path, count: int, few: List[int], report: Report) -> None:
    host = Host(scratch, count)
    try:
        host.start_ms()
        print(f"{count} sequences: used once each in {host.use_all():.1f} s", flush=True)
        goal_ms = next(goal for most, goal in READY_GOALS_MS if count <= most)
        bytes_used = [host.resting_bytes()]
        for kill, how in [(False, "an orderly stop"), (True, "kill -9")]:
            times = []
            for _ in range(STARTS):
                host.end(kill)
                times.append(host.start_ms())
            report.line(f"READY after {how}", min(times), "ms", goal_ms, f" (median {statistics.median(times):.1f})")
            bytes_used.append(host.resting_bytes())
        if count <= FEW:
            few[:] = bytes_used
            return
        for how, used, base in zip(["use", "an orderly stop", "kill -9"], bytes_used, few):
            report.line(f"memory of one after {how}", (used - base) / (count - FEW), "bytes", BYTES_GOAL, f" ({used >> 20} MiB in all)")
    finally:
        host.daemon.close()


def main() -> int:
    OUTPUT.mkdir(parents=True, exist_ok=True)
    report, few = Report(), []
    with tempfile.TemporaryDirectory(prefix="sequences-", dir=OUTPUT) as name:
        for count in [FEW, *COUNTS]:
            measure(Path(name), count, few, report)
    return 1 if report.missed else 0


if __name__ == "__main__":
    sys.exit(main())
