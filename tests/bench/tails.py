#!/usr/bin/python3
"""`make bench-tails`: how late the latest answers are while something else goes on in the daemon.

Daemons that differ in one thing run side by side, and the same load (8 connections, one request each at a time) is put on one after
the other, always next to a round on the undisturbed daemon. Each disturbance is proved to have happened during each measurement.
Variables: BENCH_ROUNDS (7), BENCH_SECONDS (1) a measurement. Goal: p999 at most 1.5 times that of the undisturbed daemon. The
figures are also in build/bench/tails.json, of which `make bench-page` makes a table of daemon/doc/PERFORMANCE.md.
"""

import contextlib
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "integration"))
# pylint: disable=wrong-import-position
import harness
import machine
from figures import median
from servers.mongod import Mongod
from tails_table import QUANTILES, verdict

ROUNDS = int(os.environ.get("BENCH_ROUNDS", "7"))
SECONDS = float(os.environ.get("BENCH_SECONDS", "1"))
OUTPUT = harness.PROJECT / "build" / "bench"
# So much that no lease is needed during a measurement.
PLENTY = {"lease_min": 20_000_000, "lease_max": 20_000_000, "max_available": 100_000_000, "max_unsynced": 20_000_000}
SCARCE = {"lease_min": 2_000, "lease_max": 2_000, "max_available": 20_000}


class Side:
    """A daemon, how it is disturbed while it is measured, and the proof."""

    title = "undisturbed"
    happens = ""  # what count() counts
    options = {"daemon": {"history": False}, "sequences": {"*": PLENTY}}

    def __init__(self, directory: Path):
        self.daemon = harness.Daemon(directory, type(self).__name__.lower(), **self.options)
        self.results = []
        self.happened = []  # so often in each measurement
        self.ratios = []  # p999 to that of the neighbouring measurement of the undisturbed daemon

    def start(self) -> None:
        self.daemon.start()
        self.load(0.2)  # the first lease

    def count(self) -> int:
        """Grows while the disturbance goes on."""
        return 0

    def status(self) -> dict:
        with self.daemon.connect() as connection:
            return connection.call("status")

    def load(self, seconds: float) -> dict:
        command = [harness.tool("load"), "--socket", str(self.daemon.socket), "--connections", "8", "--depth", "1", "--seconds", str(seconds)]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=seconds + 60)
        if done.returncode != 0:
            sys.exit(f"bench-tails: {' '.join(command)} failed: {done.stderr}")
        return json.loads(done.stdout)

    def measure(self) -> None:
        before = self.count()
        result = self.load(SECONDS)
        self.results.append({field: result[field] for field in ("requests_per_s", *QUANTILES)})
        self.happened.append(self.count() - before)
        if self.happens and self.happened[-1] < 1:
            sys.exit(f"bench-tails: {self.title}: that did not happen, so its figures show nothing")

    def figures(self) -> dict:
        return {"title": self.title, "happens": self.happens, "happened": self.happened, "results": self.results, "ratios": self.ratios}

    def close(self) -> None:
        self.daemon.close()


class Rotations(Side):
    title = "the log rotates all the time"
    happens = "rotations"
    options = {"daemon": {"history": False, "state_log_size": "256KiB"}, "limits": {"max_sequences": 64, "max_retry_clients": 64},
               "sequences": {"*": PLENTY}}

    def count(self) -> int:
        return self.status()["log"]["rotations"]


class Leases(Side):
    title = "a lease every 2,000 IDs"
    happens = "leases"
    options = {"daemon": {"history": False}, "sequences": {"*": SCARCE}}

    def count(self) -> int:
        return self.status()["leases"]


class History(Side):
    title = "the history writes"
    happens = "IDs recorded"
    options = {"sequences": {"*": PLENTY}}

    def count(self) -> int:
        with contextlib.closing(sqlite3.connect(f"file:{self.daemon.state / 'history.db'}?mode=ro", uri=True, timeout=60)) as history:
            return history.execute("SELECT coalesce(sum(issued), 0) FROM sequence").fetchone()[0]


class Hanging(Side):
    title = "the store hangs"
    happens = "requests that wait for it"

    def __init__(self, directory: Path):
        self.mongod = Mongod()
        self.mongod.start()
        self.options = {**Side.options, "stores": {"mongo": {"type": "mongodb", "uri": self.mongod.uri(), "database": "tails"}}}
        super().__init__(directory)
        self.waiting = None

    def measure(self) -> None:
        """Another sequence waits for its first lease meanwhile."""
        self.mongod.process.send_signal(signal.SIGSTOP)
        try:
            with self.daemon.connect() as self.waiting:
                super().measure()
        finally:
            self.mongod.process.send_signal(signal.SIGCONT)

    def load(self, seconds: float) -> dict:
        if self.waiting is not None:
            self.waiting.request("next", f"other-{len(self.results)}", {"timeout_ms": 600_000})
        return super().load(seconds)

    def count(self) -> int:
        """Requests that wait."""
        return self.status()["waiting"]

    def close(self) -> None:
        super().close()
        self.mongod.close()


def run(sides: list) -> None:
    quiet, *disturbed = sides
    for side in sides:
        side.start()
    for number in range(ROUNDS):
        print(f"round {number + 1} of {ROUNDS}", file=sys.stderr, flush=True)
        for side in disturbed:
            for one in (quiet, side) if number % 2 == 0 else (side, quiet):
                one.measure()
            side.ratios.append(side.results[-1]["p999_us"] / quiet.results[-1]["p999_us"])


def main() -> int:
    OUTPUT.mkdir(parents=True, exist_ok=True)
    directory = Path(tempfile.mkdtemp(prefix="tails-", dir=OUTPUT))
    with contextlib.ExitStack() as closing:
        closing.callback(shutil.rmtree, directory, ignore_errors=True)
        sides = []
        for kind in (Side, Hanging, Rotations, Leases, History):
            sides.append(kind(directory))
            closing.callback(sides[-1].close)
        about = {"rounds": ROUNDS, "seconds": SECONDS, "load_before": machine.describe()["load_before"], "seqd": machine.versions()["seqd"]}
        run(sides)
        found = {**about, "sides": [side.figures() for side in sides]}
        (OUTPUT / "tails.json").write_text(json.dumps(found, indent=1) + "\n", encoding="ascii")
        print(f"{'':8} {'':32}" + "".join(f"{quantile[:-3]:>10}" for quantile in QUANTILES) + "   p999 / undisturbed")
        for side in found["sides"]:
            ratio, word = verdict(side)
            print(f"{word:8} {side['title']:32}" + "".join(f"{median(side['results'], quantile):10.1f}" for quantile in QUANTILES)
                  + f"   {ratio:.2f}   {sum(side['happened']):,} {side['happens']}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
