#!/usr/bin/python3
"""`make bench`: seqd beside its peers and the bare ping-pong of this machine, in one interleaved run.

rows.py says what is measured. seqd runs as it is shipped: embedded store, log of everything issued. Variables: BENCH_ROUNDS (7),
BENCH_SECONDS (0.3) a measurement, BENCH_ROWS (all; patterns, as "block-* threads-1"). Prints minimum, median and maximum of the
rounds, the ratio to Redis round by round, and a verdict on each goal. All of it, if no row was left out, is also in
build/bench/latest.json, of which `make bench-page` makes daemon/doc/PERFORMANCE.md. Ends with 0 unless it could not run.
"""

import fnmatch
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "integration"))
# pylint: disable=wrong-import-position
import harness
import machine
from figures import has, kept, ratios, spread
from loads import Bench
from rows import ROWS, SIDES
from servers.mongod_binary import ServerNotAvailable
from servers.patience import WaitedInVain
from verdicts import verdicts

ROUNDS = int(os.environ.get("BENCH_ROUNDS", "7"))
SECONDS = float(os.environ.get("BENCH_SECONDS", "0.3"))
PATTERNS = os.environ.get("BENCH_ROWS", "*").split()
CHOSEN = [row for row in ROWS if any(fnmatch.fnmatch(row.key, pattern) for pattern in PATTERNS)]
OUTPUT = harness.PROJECT / "build" / "bench"


def run(bench: Bench) -> dict:
    """Every round measures every row; every second one takes the sides in reverse."""
    results = {row.key: {side: [] for side in row.sides} for row in CHOSEN}
    for number in range(ROUNDS):
        print(f"round {number + 1} of {ROUNDS}", file=sys.stderr, flush=True)
        for row in CHOSEN:
            for side in row.sides if number % 2 == 0 else reversed(row.sides):
                results[row.key][side].append(kept(bench.measure(row, side)))
    return results


def show(results: dict, about: dict) -> None:
    print(f"\n{about['machine']}, {about['cpus']} CPUs; {ROUNDS} rounds of {SECONDS:g} s; minimum / median / maximum")
    for row in CHOSEN:
        result = results[row.key]
        print(f"\n{row.key}: {row.title()}, {row.placement()}")
        for side in row.sides:
            measured = result[side]
            rate = "ids_per_s" if row.count > 1 else "requests_per_s"
            print(f"  {SIDES[side].title:29} {'IDs/s' if row.count > 1 else 'requests/s':10} {spread(measured, rate):26}"
                  + "".join(f"  {name} {spread(measured, name + '_us')}" for name in ("p50", "p99", "p999")
                            if has(measured, name + "_us")))
        if "redis" in row.sides:
            print("  seqd / Redis by round: " + " ".join(f"{ratio:.2f}" for ratio in ratios(result)))


def write(figures: dict) -> None:
    """A measurement a line, so that two files can be compared."""
    text = json.dumps({**figures, "results": None}, indent=1)
    rows = ",\n".join(f"  {json.dumps(key)}: {{\n" + ",\n".join(
        f"   {json.dumps(side)}: [\n    " + ",\n    ".join(json.dumps(one) for one in measured) + "]"
        for side, measured in result.items()) + "}" for key, result in figures["results"].items())
    (OUTPUT / "latest.json").write_text(text.replace('"results": null', '"results": {\n' + rows + "}") + "\n", encoding="ascii")


def main() -> int:
    began = time.monotonic()
    if os.cpu_count() < 2:
        sys.exit("bench: needs two CPUs, one for the server and one for the client")
    if not CHOSEN:
        sys.exit(f"bench: BENCH_ROWS names no row; there are {' '.join(row.key for row in ROWS)}")
    OUTPUT.mkdir(parents=True, exist_ok=True)
    directory = Path(tempfile.mkdtemp(prefix="run-", dir=OUTPUT))
    directory.chmod(0o755)
    try:
        about = {"rounds": ROUNDS, "seconds": SECONDS, **machine.describe(), "versions": machine.versions()}
        with Bench(directory, SECONDS) as bench:
            before = bench.seqd.memory_kib()
            results = run(bench)
            memory_kib = bench.seqd.memory_kib()
            audit = bench.blocks_audit()
    except (ServerNotAvailable, WaitedInVain, harness.Died, OSError, subprocess.SubprocessError) as error:
        sys.exit(f"bench: {error}")
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    show(results, about)
    judged = verdicts(results, memory_kib)
    print(f"\nresident memory of seqd: {before / 1024:.1f} MiB at the start, {memory_kib / 1024:.1f} MiB after the run")
    print(f"blocks of seqd: {audit['issued']:,} IDs issued, {audit['gaps']:,} gaps, {audit['out']:,} out\n")
    for goal, measured, word in judged:
        print(f"{word:7}  {goal}: {measured}")
    if CHOSEN == ROWS:
        write({**about, "memory_kib": {"start": before, "end": memory_kib}, "blocks": audit, "results": results,
               "verdicts": [{"goal": goal, "measured": measured, "verdict": word} for goal, measured, word in judged]})
    print(f"\n{time.monotonic() - began:.0f} s" + ("; the page of these figures: make bench-page" if CHOSEN == ROWS else ""))
    return 0


if __name__ == "__main__":
    sys.exit(main())
