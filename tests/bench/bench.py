#!/usr/bin/python3
"""`make bench`: seqd beside Redis INCR on a Unix socket and the bare ping-pong of this machine, in one interleaved run.

The same load generator drives both; a second table has what programs link, libseqd and hiredis. seqd runs as it is shipped: embedded store, log of everything handed out. Variables:
BENCH_ROUNDS (5), BENCH_SECONDS (1) a measurement. Prints minimum, median and maximum of the rounds, the ratio to Redis
round by round, and a verdict on each goal; all of it is also in build/bench/latest.json. Ends with 0 unless it could not run.
"""

import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "integration"))
# pylint: disable=wrong-import-position
import harness
from notified import Notified

ROUNDS = int(os.environ.get("BENCH_ROUNDS", "5"))
SECONDS = float(os.environ.get("BENCH_SECONDS", "1"))
OUTPUT = harness.PROJECT / "build" / "bench"
MEMORY_KIB = 24 * 1024
# For the row of ranges: leases that a hundred million IDs a second do not use up in a millisecond.
BULK = {"lease_max": 20_000_000, "max_available": 100_000_000, "max_unsynced": 20_000_000}


class Row:
    """One line of the result: how the load is made, and on which CPUs server and client run (None: anywhere)."""

    def __init__(self, key: str, connections: int, depth: int, server: int = None, client: int = None, *more: str,
                 floor: bool = False):
        self.key, self.connections, self.depth = key, connections, depth
        self.server, self.client, self.more, self.floor = server, client, list(more), floor

    def placement(self) -> str:
        return "unpinned" if self.server is None else f"server CPU {self.server}, client CPU {self.client}"


ROWS = [
    Row("1x1-same", 1, 1, 0, 0, floor=True),
    Row("1x1-split", 1, 1, 0, 1, floor=True),
    Row("1x1-unpinned", 1, 1, floor=True),
    Row("1x16-unpinned", 1, 16),
    Row("8x1", 8, 1, 0, 1),
    Row("8x16", 8, 16, 0, 1),
    Row("8x128", 8, 128, 0, 1),
    Row("8x128-identity", 8, 128, 0, 1, "--identity"),
    Row("8x16-range100", 8, 16, 0, 1, "--method", "range", "--count", "100", "--prefix", "bulk-"),
]


# What programs link: one connection, the defaults of each library.
LIBRARY_DEPTHS = {1: 1.1, 16: 2.0, 128: 3.0}  # and the goal, times hiredis on Redis


def measure(command: list) -> dict:
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"bench: {' '.join(command)} failed: {done.stderr}")
    result = json.loads(done.stdout)
    if result["errors"]:
        sys.exit(f"bench: {result['errors']} errors, the first is {result['first_error']}")
    return result


def place(pid: int, cpu) -> None:
    cpus = set(range(os.cpu_count())) if cpu is None else {cpu}
    for task in os.listdir(f"/proc/{pid}/task"):
        os.sched_setaffinity(int(task), cpus)


def load(row: Row, protocol: str, socket: Path, pid: int) -> dict:
    place(pid, row.server)
    more = [word for word in row.more if protocol == "seqd" or word != "--identity"]
    command = [harness.tool("load"), "--protocol", protocol, "--socket", str(socket), "--seconds", str(SECONDS),
               "--connections", str(row.connections), "--depth", str(row.depth), *more]
    return measure(command + ([] if row.client is None else ["--pin", str(row.client)]))


def floor(row: Row) -> dict:
    command = [harness.tool("load_floor"), "--seconds", str(SECONDS)]
    if row.server is not None:
        command += ["--server-cpu", str(row.server), "--client-cpu", str(row.client)]
    return measure(command)


def start_redis(directory: Path) -> Notified:
    socket = directory / "redis.sock"
    redis = Notified(["redis-server", "--port", "0", "--unixsocket", str(socket), "--save", "", "--appendonly", "no",
                      "--dir", str(directory), "--supervised", "systemd"], directory)
    redis.socket = socket
    return redis


def library(name: str, depth: int, socket: Path, pid: int) -> dict:
    place(pid, 0)
    return measure([str(harness.BUILD / "bench" / "library_load"), "--library", name, "--socket", str(socket), "--depth", str(depth),
                    "--seconds", str(SECONDS), "--pin", "0"])


def run(seqd: harness.Daemon, redis: Notified) -> dict:
    results = {row.key: {"redis": [], "seqd": [], "floor": []} for row in ROWS}
    results.update({f"library-{depth}": {"redis": [], "seqd": []} for depth in LIBRARY_DEPTHS})
    for round_number in range(ROUNDS):
        print(f"round {round_number + 1} of {ROUNDS}", file=sys.stderr, flush=True)
        for row in ROWS:
            sides = [("redis", redis.socket, redis.process.pid), ("seqd", seqd.socket, seqd.process.pid)]
            if row.floor:
                results[row.key]["floor"].append(floor(row))
            for protocol, socket, pid in sides if round_number % 2 == 0 else reversed(sides):
                results[row.key][protocol].append(load(row, protocol, socket, pid))
        libraries = [("redis", "hiredis", redis.socket, redis.process.pid), ("seqd", "seqd", seqd.socket, seqd.process.pid)]
        for depth in LIBRARY_DEPTHS:
            for side, name, socket, pid in libraries if round_number % 2 == 0 else reversed(libraries):
                results[f"library-{depth}"][side].append(library(name, depth, socket, pid))
    return results


def spread(values: list) -> str:
    def short(value: float) -> str:
        return f"{value / 1e6:.2f} M" if value >= 1e6 else f"{value / 1e3:.1f} k" if value >= 1e3 else f"{value:.1f}"
    return " / ".join(short(value) for value in (min(values), statistics.median(values), max(values)))


def column(measurements: list, field: str) -> list:
    return [measurement[field] for measurement in measurements]


def ratios(result: dict, field: str = "requests_per_s") -> list:
    return [ours / theirs for ours, theirs in zip(column(result["seqd"], field), column(result["redis"], field))]


def show(results: dict) -> None:
    print(f"\n{platform.platform()}, {os.cpu_count()} CPUs; {ROUNDS} rounds of {SECONDS:g} s; minimum / median / maximum")
    for row in ROWS:
        result = results[row.key]
        print(f"\n{row.key}: {row.connections} connection(s), depth {row.depth}, {row.placement()} {' '.join(row.more)}")
        for side in ("floor", "redis", "seqd"):
            if result[side]:
                print(f"  {side:6} requests/s {spread(column(result[side], 'requests_per_s')):30}"
                      + "".join(f"  {name} {spread(column(result[side], name + '_us'))}" for name in ("p50", "p99", "p999")))
        if "range" in row.more:
            print(f"  seqd   IDs/s      {spread(column(result['seqd'], 'ids_per_s'))}")
        print("  seqd / Redis by round: " + " ".join(f"{ratio:.2f}" for ratio in ratios(result)))


def show_libraries(results: dict) -> None:
    print("\nlibseqd on seqd and hiredis on Redis: one connection, server and client on CPU 0, IDs/s")
    for depth in LIBRARY_DEPTHS:
        result = results[f"library-{depth}"]
        print(f"  depth {depth:3}  hiredis {spread(column(result['redis'], 'requests_per_s')):30} libseqd "
              f"{spread(column(result['seqd'], 'requests_per_s')):30} by round: " + " ".join(f"{ratio:.2f}" for ratio in ratios(result)))


def verdict(reached: bool) -> str:
    return "reached" if reached else "MISSED"


def verdicts(results: dict, memory_kib: int) -> list:
    """(goal, what was measured, a word)"""
    found = []

    def at_least(goal: str, key: str, factor: float) -> None:
        ratio = statistics.median(ratios(results[key]))
        found.append((goal, f"{ratio:.2f}x Redis", verdict(ratio >= factor)))

    # Of five rounds of two equal things one is ahead in all of them once in sixteen times: less is no difference.
    for key in ("1x1-same", "1x1-split", "1x1-unpinned", "1x16-unpinned"):
        found_ratios = ratios(results[key])
        lowest, ratio, highest = min(found_ratios), statistics.median(found_ratios), max(found_ratios)
        word = "a tie" if ratio < 1 <= highest else verdict(ratio >= 1)
        found.append((f"{key}: no worse than Redis", f"{ratio:.3f}x Redis ({lowest:.2f}-{highest:.2f})", word))
    at_least("8x1: at least 1.5x Redis", "8x1", 1.5)
    at_least("8x16: at least 2x Redis", "8x16", 2.0)
    at_least("8x16: at least 2.5x Redis (later goal)", "8x16", 2.5)
    at_least("8x128: at least 2x Redis", "8x128", 2.0)
    at_least("8x128: at least 5x Redis (later goal)", "8x128", 5.0)
    at_least("8x128-identity: at least 2x Redis", "8x128-identity", 2.0)
    for depth, factor in LIBRARY_DEPTHS.items():
        at_least(f"libseqd at depth {depth}: at least {factor:g}x hiredis on Redis", f"library-{depth}", factor)
    same = results["1x1-same"]
    above = statistics.median([ours / bare for ours, bare in zip(column(same["seqd"], "p50_us"), column(same["floor"], "p50_us"))])
    found.append(("1x1-same: p50 at most 1.25x the bare ping-pong", f"{above:.2f}x", verdict(above <= 1.25)))
    ids = statistics.median(column(results["8x16-range100"]["seqd"], "ids_per_s"))
    found.append(("range(100): at least 100 M IDs/s", f"{ids / 1e6:.1f} M", verdict(ids >= 100e6)))
    found.append(("resident memory after the run at most 24 MiB", f"{memory_kib / 1024:.1f} MiB",
                  verdict(memory_kib <= MEMORY_KIB)))
    return found


def main() -> int:
    OUTPUT.mkdir(parents=True, exist_ok=True)
    directory = Path(tempfile.mkdtemp(prefix="run-", dir=OUTPUT))
    seqd = harness.Daemon(directory, sequences={"bulk-*": BULK})
    redis = start_redis(seqd.short)  # a short path for its socket
    try:
        seqd.start()
        place(seqd.process.pid, None)
        before = seqd.memory_kib()
        results = run(seqd, redis)
        memory_kib = seqd.memory_kib()
    finally:
        redis.close()
        seqd.close()
        shutil.rmtree(directory, ignore_errors=True)
    show(results)
    show_libraries(results)
    judged = verdicts(results, memory_kib)
    print(f"\nresident memory of seqd: {before / 1024:.1f} MiB at the start, {memory_kib / 1024:.1f} MiB after the run\n")
    for goal, measured, word in judged:
        print(f"{word:7}  {goal}: {measured}")
    (OUTPUT / "latest.json").write_text(json.dumps({
        "rounds": ROUNDS, "seconds": SECONDS, "machine": platform.platform(), "cpus": os.cpu_count(),
        "memory_kib": {"start": before, "end": memory_kib}, "results": results,
        "verdicts": [{"goal": goal, "measured": measured, "verdict": word} for goal, measured, word in judged]}, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
