#!/usr/bin/python3
"""`make bench-blocks`: nanoseconds an ID that is taken inside the program's process, with one thread and with two that share a handle:
seqd's blocks, beside CosId's segment chain on mongod. The sides take turns in BENCH_ROUNDS (5) rounds of BENCH_SECONDS (2) each.

Prints one line a row: the median over the rounds of the mean of the threads, and the lowest and highest round. Then what is lost
of it when the program is killed: of seqd by its own audit, of CosId what it had leased and not issued.
"""

import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Dict, List, Tuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "integration"))
# pylint: disable=wrong-import-position
import harness
from peer_servers import CosId
from servers.mongod import Mongod

ROUNDS = int(os.environ.get("BENCH_ROUNDS", "5"))
SECONDS = float(os.environ.get("BENCH_SECONDS", "2"))
THREADS = (1, 2)
COSID_STEP = 100  # its own default with Spring
IDS_A_SECOND = 200_000_000  # about as many as a thread takes, for the length of a round
# Leases and blocks that hundreds of millions of IDs a second do not use up in a millisecond.
BULK = {"blocks": True, "lease_max": 1_000_000_000, "max_available": 1_000_000_000, "max_unsynced": 20_000_000, "wait_timeout": "30s"}
SPARE_SECONDS = 120


def run(command: List[str]) -> str:
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=SECONDS * 20 + SPARE_SECONDS, check=False)
    if done.returncode != 0:
        sys.exit(f"bench-blocks: {' '.join(command)} failed: {done.stderr}")
    return done.stdout


def of_seqd(daemon: harness.Daemon, threads: int) -> float:
    said = run([harness.tool("block_client"), "--socket", str(daemon.socket), "--threads", str(threads), "--ids",
                str(int(IDS_A_SECOND * SECONDS)), "--bench"])
    return statistics.mean(float(found) for found in re.findall(r'"ns_per_id": ([\d.]+)', said))


def of_cosid(cosid: CosId, uri: str, threads: int, unused: List[int]) -> float:
    said = json.loads(run([*cosid.command(uri, COSID_STEP, SECONDS), str(threads)]))
    unused.append(said["unused"])
    return threads * 1e9 / said["ids_per_s"]


def print_row(title: str, threads: int, found: List[float]) -> None:
    noun = "thread" if threads == 1 else "threads"
    print(f"{title:32} {threads} {noun:8} {statistics.median(found):8.2f} ns an ID ({min(found):.2f} .. {max(found):.2f})")


def main() -> None:
    directory = Path(tempfile.mkdtemp(prefix="seqd-bench-blocks-"))
    daemon = harness.Daemon(directory, defaults=BULK)
    mongod = Mongod()
    found: Dict[Tuple[str, int], List[float]] = {}
    unused: List[int] = []
    try:
        daemon.start()
        mongod.start()
        cosid = CosId(directory)
        for _ in range(ROUNDS):
            for threads in THREADS:
                found.setdefault(("seqd, blocks", threads), []).append(of_seqd(daemon, threads))
                found.setdefault(("CosId segment chain on mongod", threads), []).append(of_cosid(cosid, mongod.uri(), threads, unused))
        for (title, threads), measured in sorted(found.items(), key=lambda row: (row[0][1], row[0][0])):
            print_row(title, threads, measured)
        with daemon.connect(30) as client:
            audit = client.call("audit", "orders")
        print(f"seqd: {audit['issued']:,} IDs issued, {audit['gaps']:,} gaps, {audit['out']:,} out; "
              f"CosId: {statistics.median(unused):,.0f} IDs of a program leased and lost (median)")
    finally:
        mongod.close()
        daemon.close()
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    main()
