#!/usr/bin/python3
"""`make bench-idle`: what a daemon costs that nobody asks: resident memory, and wake-ups a second of all its threads.

With the embedded store, and with a mongod. Each has given an ID of IDLE_SEQUENCES (10) sequences, and rests for ten seconds, which
end what follows an answer (a lease, the history). Then it is watched for IDLE_SECONDS (60, a `store_poll_interval`). Wake-ups are
what the kernel counts as voluntary switches. Memory is what it had at the end: of programs and libraries, pages that are shared with
other processes count, too.
Ends with 1 if a goal is missed. What is measured is the machine, too: let it be idle.
"""

import os
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "integration"))
# pylint: disable=wrong-import-position
import harness
from servers.mongod import Mongod

SEQUENCES = int(os.environ.get("IDLE_SEQUENCES", "10"))
SECONDS = float(os.environ.get("IDLE_SECONDS", "60"))
OUTPUT = harness.PROJECT / "build" / "bench"
MEMORY_GOALS_MIB = {"sqlite": 16, "mongodb": 24}
# The loop's tick, which looks at witness and clock, is one; heartbeat, log and history are some in a minute. The driver has two
# monitors for each server, which hear a hello a second (kHeartbeatMs, so that an outage's end is noticed soon) and poll in between.
WAKE_UPS_GOALS = {"sqlite": 1.5, "mongodb": 8}


def wake_ups(pid: int) -> dict:
    """By the names of the threads."""
    found: dict = {}
    for task in Path(f"/proc/{pid}/task").iterdir():
        lines = dict(line.split(":", 1) for line in (task / "status").read_text().splitlines())
        name = lines["Name"].strip()
        found[name] = found.get(name, 0) + int(lines["voluntary_ctxt_switches"])
    return found


def measure(scratch: Path, kind: str, stores: dict) -> int:
    daemon = harness.Daemon(scratch, f"idle-{kind}", stores=stores)
    try:
        with daemon.start().connect() as connection:
            for number in range(SEQUENCES):
                connection.call("next", f"sequence-{number}")
        threading.Event().wait(10)
        before, begun = wake_ups(daemon.process.pid), time.monotonic()
        threading.Event().wait(SECONDS)
        passed = time.monotonic() - begun
        rates = {name: (count - before.get(name, 0)) / passed for name, count in wake_ups(daemon.process.pid).items()}
        memory = daemon.memory_kib() / 1024
        shared = daemon.memory_kib("RssFile") / 1024
    finally:
        daemon.close()
    threads = ", ".join(f"{name} {rate:.2f}" for name, rate in sorted(rates.items()) if rate > 0)
    missed = 0
    for what, figure, goal, more in ((f"resident memory with {kind}, MiB", memory, MEMORY_GOALS_MIB[kind], f"{shared:.1f} of files"),
                                     (f"wake-ups a second with {kind}", sum(rates.values()), WAKE_UPS_GOALS[kind], threads)):
        missed += figure > goal
        print(f"{'reached' if figure <= goal else 'MISSED '}  {what}: {figure:.2f}, goal {goal} ({more})", flush=True)
    return missed


def main() -> int:
    OUTPUT.mkdir(parents=True, exist_ok=True)
    print(f"load average before it: {os.getloadavg()[0]:.2f}")
    with tempfile.TemporaryDirectory(prefix="idle-", dir=OUTPUT) as place:
        missed = measure(Path(place), "sqlite", {})
        mongod = Mongod()
        try:
            mongod.start()
            missed += measure(Path(place), "mongodb", {"default": {"type": "mongodb", "uri": mongod.uri(), "database": "idle"}})
        finally:
            mongod.close()
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
