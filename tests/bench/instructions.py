#!/usr/bin/python3
"""`make bench-instructions`: user instructions a request, counted by callgrind: a figure that a noisy machine does not move.

Two runs that differ only in the number of requests; the difference is what the additional requests cost, without start and
stop. The goal is about the loop's thread; the workers (store and disk) are shown beside it. Each case has a gate, too: what it takes
now and some room for other compilers and CPUs. Above it, this ends with 1: the request became slower, or the gate is to be raised
with a reason.
"""

import re
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "integration"))
# pylint: disable=wrong-import-position
import harness

OUTPUT = harness.PROJECT / "build" / "bench"
# Title, connections, depth, goal, gate.
CASES = [("1 connection, depth 1", 1, 1, 1500, 3700), ("1 connection, depth 128", 1, 128, 600, 600), ("8 connections, depth 128", 8, 128, 600, 800)]
FEW, MORE = 20_000, 60_000


def instructions(connections: int, depth: int, requests: int) -> tuple:
    """Of a whole run: (the loop's thread, all threads)."""
    directory = Path(tempfile.mkdtemp(prefix="callgrind-", dir=OUTPUT))
    daemon = harness.Daemon(directory, prefix=["valgrind", "--tool=callgrind", "--separate-threads=yes", "--quiet",
                                               f"--callgrind-out-file={directory}/out"])
    try:
        daemon.spawn().wait_ready(60)
        command = [harness.tool("load"), "--socket", str(daemon.socket), "--connections", str(connections), "--depth", str(depth),
                   "--requests", str(requests)]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)} failed: {done.stderr}")
        daemon.process.send_signal(signal.SIGTERM)
        daemon.wait_exit(60)
        counts = {}
        for path in directory.glob("out-*"):
            found = re.search(r"^(?:summary|totals): (\d+)", path.read_text(errors="replace"), re.M)
            counts[path.name] = int(found.group(1)) if found else 0
        return counts["out-01"], sum(counts.values())
    finally:
        daemon.close()
        shutil.rmtree(directory, ignore_errors=True)


def main() -> int:
    OUTPUT.mkdir(parents=True, exist_ok=True)
    above = 0
    for title, connections, depth, goal, gate in CASES:
        few, more = instructions(connections, depth, FEW), instructions(connections, depth, MORE)
        loop, everything = ((much - little) / (MORE - FEW) for much, little in zip(more, few))
        above += loop > gate
        print(f"{'reached' if loop <= goal else 'MISSED '}  {title}: {loop:.0f} instructions a request on the loop "
              f"({everything:.0f} with the workers), goal {goal}, gate {gate}{': ABOVE THE GATE' if loop > gate else ''}", flush=True)
    return 1 if above else 0


if __name__ == "__main__":
    sys.exit(main())
