#!/usr/bin/python3
"""`make bench-instructions`: user instructions a request, counted by callgrind: a figure that a noisy machine does not move.

Two runs that differ only in the number of requests; the difference is what the additional requests cost, without start and
stop. Of the daemon the goals are about the loop's thread; the workers (store and disk) are shown beside it. Of libseqd all of a
program is counted (tests/bench/peers/libseqd.cc). A case has a gate, too: what it takes now and some room for other compilers and
CPUs. What is above it is counted again, as other programs only add to a count: they let fewer requests meet in a turn. So of each
number of requests the least count is taken. Above the gate with these, this ends with 1: the request became slower, or the gate is to be raised with a reason.
"""

import contextlib
import dataclasses
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Callable, Iterator, Optional, Tuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "integration"))
# pylint: disable=wrong-import-position
import harness

OUTPUT = harness.PROJECT / "build" / "bench"
FEW, MORE = 20_000, 60_000
ATTEMPTS = 3
WARM = 20_000  # before them, so that few requests wait for leases and reservations, which depends on the disk


@dataclasses.dataclass(frozen=True)
class Case:
    title: str
    connections: int
    depth: int
    goal: Optional[int]
    gate: int
    names: int = 1
    few: int = FEW
    more: int = MORE
    plenty: bool = False  # the first lease of each sequence lasts until the end


DAEMON_CASES = [
    Case("1 connection, depth 1", 1, 1, 1500, 3300),
    Case("1 connection, depth 128", 1, 128, 600, 480),
    Case("8 connections, depth 128", 8, 128, 600, 650),
    Case("8 connections, depth 16", 8, 16, 600, 540),
    # Each request is for another sequence than the one before it, and nearly none waits for anything. (Where they lease, flush and
    # rest at times of their own, the count is another one in each run.)
    Case("8 connections, depth 16, 10,000 sequences that have IDs", 8, 16, None, 1850, names=10_000, few=100_000, more=200_000, plenty=True),
]
LIBRARY_CASES = [
    Case("libseqd, depth 1", 1, 1, None, 1750),
    Case("libseqd, depth 16", 1, 16, None, 660),
    Case("libseqd, depth 128", 1, 128, None, 570),
]


def run(command: list) -> None:
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))} failed: {done.stderr}")


def counted(path: Path) -> int:
    found = re.search(r"^(?:summary|totals): (\d+)", path.read_text(errors="replace"), re.M)
    return int(found.group(1)) if found else 0


@contextlib.contextmanager
def running(prefix: Optional[Callable[[Path], list]] = None, plenty: bool = False) -> Iterator[Tuple[Path, harness.Daemon]]:
    directory = Path(tempfile.mkdtemp(prefix="callgrind-", dir=OUTPUT))
    options = {"sequences": {"*": {"lease_min": 100_000}}} if plenty else {}
    # One user may have three quarters of three quarters of these.
    options |= {"limits": {"max_sequences": 20_000}, "daemon": {"state_log_size": "24MiB"}}
    daemon = harness.Daemon(directory, prefix=prefix(directory) if prefix else [], **options)
    try:
        daemon.spawn().wait_ready(60)
        yield directory, daemon
    finally:
        daemon.close()
        shutil.rmtree(directory, ignore_errors=True)


def of_daemon(case: Case, requests: int) -> tuple:
    """Of a whole run: (the loop's thread, all threads)."""
    def prefix(directory: Path) -> list:
        return ["valgrind", "--tool=callgrind", "--separate-threads=yes", "--quiet", f"--callgrind-out-file={directory}/out"]
    with running(prefix, case.plenty) as (directory, daemon):
        for count in (WARM, requests):
            run([harness.tool("load"), "--socket", daemon.socket, "--connections", str(case.connections), "--depth", str(case.depth),
                 "--names", str(case.names), "--requests", str(count)])
        daemon.process.send_signal(signal.SIGTERM)
        daemon.wait_exit(60)
        counts = {path.name: counted(path) for path in directory.glob("out-*")}
        return counts["out-01"], sum(counts.values())


def of_library(case: Case, requests: int) -> tuple:
    """Of a whole program."""
    with running() as (directory, daemon):
        requests -= requests % case.depth
        run(["valgrind", "--tool=callgrind", "--quiet", f"--callgrind-out-file={directory}/out", harness.BUILD / "bench/peers/libseqd",
             "--address", daemon.socket, "--depth", str(case.depth), "--requests", str(requests)])
        return (counted(directory / "out"),)


def judge(case: Case, count: Callable[[Case, int], tuple]) -> bool:
    """Prints a line. Whether it is above its gate."""
    few, more = [], []
    for _ in range(ATTEMPTS):
        few.append(count(case, case.few))
        more.append(count(case, case.more))
        taken, *everything = [(min(much) - min(little)) / (case.more - case.few) for much, little in zip(zip(*more), zip(*few))]
        above = taken > case.gate
        if not above:
            break
    word = "" if case.goal is None else "reached" if taken <= case.goal else "MISSED"
    print(f"{word:8} {case.title}: {taken:.0f} instructions a request" + (f" on the loop ({everything[0]:.0f} with the workers)" if everything else "")
          + (f", goal {case.goal}" if case.goal else "") + f", gate {case.gate}" + (": ABOVE THE GATE" if above else ""),
          flush=True)
    return above


def main() -> int:
    OUTPUT.mkdir(parents=True, exist_ok=True)
    above = [judge(case, count) for cases, count in ((DAEMON_CASES, of_daemon), (LIBRARY_CASES, of_library)) for case in cases]
    return 1 if any(above) else 0


if __name__ == "__main__":
    sys.exit(main())
