#!/usr/bin/python3
"""`make bench-hosts`: many daemons lease one counter of a MongoDB replica set of three, in every lease mode.

Each daemon takes `range(20)` so many times with lease_max = 20, which is one lease a request. Printed are the leases a second of
all daemons together and the time a request waits, also without the first of each daemon, which finds nothing connected. "bare" is
the floor of the machine: as many programs that call findAndModify themselves, as often, without any daemon. The second trial has four shared counters, and the first daemon also leases one of its own: its time says whether a sequence waits for the
conflicts of others. Variables: BENCH_HOSTS (20), BENCH_RANGES (10) of each daemon and counter, BENCH_MODES ("bare session slot
plain"), SEQD_BIN (the program). All of it is also in build/bench/hosts.json.
Checks that no ID was issued twice, and ends with 1 if one was.
"""

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import List

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "integration"))
# pylint: disable=wrong-import-position
import harness
from servers.mongod import ReplicaSet, replica_set

HOSTS = int(os.environ.get("BENCH_HOSTS", "20"))
RANGES = int(os.environ.get("BENCH_RANGES", "10"))
MODES = os.environ.get("BENCH_MODES", "bare session slot plain").split()
OUTPUT = harness.PROJECT / "build" / "bench"
COUNT = 20
PATIENCE_MS = 120_000


class Client(threading.Thread):
    """Takes ranges of one sequence of one daemon, and notes how long each took."""

    def __init__(self, daemon: harness.Daemon, name: str, gate: threading.Event, ended: threading.Event = None):
        super().__init__(daemon=True)
        self.connection, self.name_, self.gate, self.ended = daemon.connect(PATIENCE_MS / 1000), name, gate, ended
        self.seconds: List[float] = []
        self.ids: List[int] = []

    def run(self) -> None:
        self.gate.wait()
        while not self.ended.is_set() if self.ended else len(self.seconds) < RANGES:
            began = time.monotonic()
            runs = self.connection.call("range", self.name_, COUNT, {"timeout_ms": PATIENCE_MS})
            self.seconds.append(time.monotonic() - began)
            for first, count, step in runs:
                self.ids.extend(range(first, first + count * step, step))


def percentile(values: List[float], part: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * part))] if ordered else float("nan")


class BareClient(threading.Thread):
    """A program of its own that counts with findAndModify: what a lease costs at least."""

    PROGRAM = """
import sys, time, pymongo
uri, ranges, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
counters = pymongo.MongoClient(uri)["bench_bare"].get_collection("counters", write_concern=pymongo.WriteConcern("majority", j=True))
counters.find_one({"_id": "none"})
print("ready", flush=True)
sys.stdin.readline()
for _ in range(ranges):
    began = time.monotonic()
    found = counters.find_one_and_update({"_id": "shared"}, {"$inc": {"seq": count}}, upsert=True, return_document=True)
    print(found["seq"], time.monotonic() - began, flush=True)
"""

    def __init__(self, uri: str):
        super().__init__(daemon=True)
        self.program = subprocess.Popen([sys.executable, "-c", self.PROGRAM, uri, str(RANGES), str(COUNT)],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.seconds: List[float] = []
        self.values: List[int] = []

    def wait_ready(self) -> None:
        if self.program.stdout.readline().strip() != "ready":
            sys.exit("bench-hosts: a bare client did not start")

    def run(self) -> None:
        printed, _ = self.program.communicate("\n", timeout=PATIENCE_MS / 1000)
        for value, seconds in map(str.split, printed.splitlines()):
            self.values.append(int(value))
            self.seconds.append(float(seconds))


def bare_trial(servers: ReplicaSet) -> dict:
    clients = [BareClient(servers.uri()) for _ in range(HOSTS)]
    for client in clients:
        client.wait_ready()
    began = time.monotonic()
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    seconds = time.monotonic() - began
    values = [value for client in clients for value in client.values]
    if len(set(values)) != HOSTS * RANGES:
        sys.exit(f"bench-hosts: bare: {len(set(values))} values of {HOSTS * RANGES}")
    return result("bare", 1, seconds, [each for client in clients for each in client.seconds],
                  [each for client in clients for each in client.seconds[1:]], [])


def result(mode: str, counters: int, seconds: float, waited: List[float], later: List[float], own: List[float]) -> dict:
    return {"mode": mode, "hosts": HOSTS, "counters": counters, "leases_per_s": len(waited) / seconds,
            "p50_ms": percentile(waited, 0.5) * 1000, "p99_ms": percentile(waited, 0.99) * 1000,
            "later_p99_ms": percentile(later, 0.99) * 1000, "own_p99_ms": percentile(own, 0.99) * 1000}


def trial(servers: ReplicaSet, mode: str, counters: int) -> dict:
    database = f"bench_{mode}_{counters}"
    stores = {"mongo": {"type": "mongodb", "uri": servers.uri(), "database": database, "lease_mode": mode}}
    leases = {"lease_min": COUNT, "lease_max": COUNT}
    shared = [f"shared-{number}" for number in range(counters)]
    gate, ended = threading.Event(), threading.Event()
    daemons: List[harness.Daemon] = []
    with tempfile.TemporaryDirectory(prefix="seqd-bench-") as scratch:
        try:
            for host in range(HOSTS):
                daemons.append(harness.Daemon(Path(scratch), f"host-{host}", stores=stores, defaults=leases, sequences={"*": {}}))
                daemons[-1].spawn()
            for daemon in daemons:
                daemon.wait_ready(120)
            # The first lease of a database makes its collections, which takes long and happens once.
            with daemons[0].connect(PATIENCE_MS / 1000) as first:
                for name in [*shared, "own"]:
                    first.call("range", name, COUNT, {"timeout_ms": PATIENCE_MS})
            clients = [Client(daemon, name, gate) for daemon in daemons for name in shared]
            probe = Client(daemons[0], "own", gate, ended)
            for client in [*clients, probe]:
                client.start()
            began = time.monotonic()
            gate.set()
            for client in clients:
                client.join()
            seconds = time.monotonic() - began
            ended.set()
            probe.join()
        finally:
            for daemon in daemons:
                daemon.close()
    waited = [each for client in clients for each in client.seconds]
    later = [each for client in clients for each in client.seconds[1:]]
    for name in shared:
        ids = [number for client in clients if client.name_ == name for number in client.ids]
        if len(set(ids)) != len(ids) or len(ids) != HOSTS * RANGES * COUNT:
            sys.exit(f"bench-hosts: {mode}: {len(ids)} IDs of {name}, {len(set(ids))} of them different")
    return result(mode, counters, seconds, waited, later, probe.seconds)


def main() -> int:
    results = []
    with replica_set() as servers:
        for counters in (1, 4):
            for mode in MODES:
                if mode == "bare" and counters > 1:
                    continue
                results.append(bare_trial(servers) if mode == "bare" else trial(servers, mode, counters))
                print("{mode:7} {hosts:3} hosts, {counters} shared: {leases_per_s:6.0f} leases/s, p50 {p50_ms:6.0f} ms, p99 {p99_ms:6.0f} ms, "
                      "behind the first {later_p99_ms:6.0f} ms; "
                      "a counter of its own: p99 {own_p99_ms:6.0f} ms".format(**results[-1]), flush=True)
    OUTPUT.mkdir(parents=True, exist_ok=True)
    (OUTPUT / "hosts.json").write_text(json.dumps(results, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
