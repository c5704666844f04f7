"""One measurement: the servers of all sides, and how a side is put under the load of a row."""

import contextlib
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Iterable, List, Optional

import harness
from peer_servers import CosId, Postgresql, start_redis
from rows import HOSTS, LIBRARY, MOST_HOSTS, SEQUENCE_ROWS, SIDES, Row
from servers.mongod import Mongod

# For the rows of ranges: leases that a hundred million IDs a second do not use up in a millisecond.
BULK = {"lease_max": 20_000_000, "max_available": 100_000_000, "max_unsynced": 20_000_000}
# The same for blocks, of which a thread takes five times as many.
BLOCKS = {"blocks": True, "lease_max": 1_000_000_000, "max_available": 1_000_000_000, "max_unsynced": 20_000_000}
SPARE_SECONDS = 60  # for the start and the end of a program
LEASE_MS = 60_000
WARM_SECONDS = 2
COSID_STEP = 100  # of a row that does not say how many: CosId's own default with Spring


def finish(command: list, process: subprocess.Popen, seconds: float) -> dict:
    """What the program measured. It is killed when it does not end."""
    try:
        printed, failed = process.communicate(timeout=seconds + SPARE_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        sys.exit(f"bench: {' '.join(command)} did not end")
    if process.returncode != 0:
        sys.exit(f"bench: {' '.join(command)} failed: {failed}")
    result = json.loads(printed)
    if result["errors"]:
        sys.exit(f"bench: {result['errors']} errors, the first is {result['first_error']}")
    return result


def measure(commands: List[list], seconds: float) -> List[dict]:
    """Of all of them at the same time."""
    processes = [subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                 for command in commands]
    try:
        return [finish(command, process, seconds) for command, process in zip(commands, processes)]
    finally:
        for process in processes:
            if process.poll() is None:
                process.kill()
                process.wait()


def together(measurements: List[dict]) -> dict:
    """Of programs that ran at the same time: the sum of the rates, the median of p50, the highest of p99 and p999."""
    joined = {field: sum(one[field] for one in measurements) for field in ("requests_per_s", "ids_per_s")}
    joined["p50_us"] = statistics.median(one["p50_us"] for one in measurements)
    return {**joined, **{field: max(one[field] for one in measurements) for field in ("p99_us", "p999_us")}}


def place(pids: Iterable[int], cpu: Optional[int]) -> None:
    cpus = set(range(os.cpu_count())) if cpu is None else {cpu}
    for pid in pids:
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # some processes of a server come and go
            for task in os.listdir(f"/proc/{pid}/task"):
                os.sched_setaffinity(int(task), cpus)


def start_host(directory: Path, number: int, uri: str) -> harness.Daemon:
    """One of the daemons that lease from one counter of mongod."""
    stores = {"mongo": {"type": "mongodb", "uri": uri, "database": "bench_hosts"}}
    daemon = harness.Daemon(directory, f"host-{number}", stores=stores, sequences={"*": {}})
    try:
        daemon.start()
        with daemon.connect(LEASE_MS / 1000) as connection:
            connection.call("next", "host-000000", {"timeout_ms": LEASE_MS})
    except BaseException:
        daemon.close()
        raise
    return daemon


class Bench:
    """All servers, from `with` to its end. A server that does not start ends it with words."""

    def __init__(self, directory: Path, seconds: float):
        self.directory, self.seconds = directory, seconds
        self.closing = contextlib.ExitStack()

    def __enter__(self) -> "Bench":
        with self.closing as starting:
            def own(server):
                starting.callback(server.close)
                return server
            self.seqd = own(harness.Daemon(self.directory, sequences={"bulk-*": BULK})).start()
            # One user may have three quarters of three quarters of these.
            self.wide = own(harness.Daemon(self.directory, "wide", limits={"max_sequences": 20_000}, daemon={"state_log_size": "24MiB"})).start()
            self.blocks = own(harness.Daemon(self.directory, "blocks", sequences={"*": BLOCKS})).start()
            self.polling = own(harness.Daemon(self.directory, "polling", daemon={"busy_poll": "10ms"})).start()
            self.redis = own(start_redis(self.seqd.short))  # a short path for its socket
            self.postgresql = own(Postgresql(self.directory)).start()
            self.mongod = own(Mongod()).start()
            self.hosts = [own(start_host(self.directory, number, self.mongod.uri())) for number in range(MOST_HOSTS)]
            self.cosid = CosId(self.directory)
            for name in ("lmdb", "lmdb-nosync"):
                (self.directory / name).mkdir()
            self.lease_all()
            self.closing = starting.pop_all()
        return self

    def lease_all(self) -> None:
        """Takes IDs of all the sequences that will be measured: what the first lease of each costs is no speed of issuing."""
        for row in SEQUENCE_ROWS:
            command = self.command(row, "seqd")
            measure([[*command, "--seconds", str(WARM_SECONDS)]], WARM_SECONDS)
        with self.blocks.connect(LEASE_MS / 1000) as connection:
            connection.call("next", "orders", {"timeout_ms": LEASE_MS})

    def __exit__(self, *_) -> None:
        self.closing.close()

    def measure(self, row: Row, side: str) -> dict:
        place(self.pids(row, side), None if side == "cosid" else row.server)
        if row.driver == HOSTS and side == "seqd":
            return together(measure([self.load(row, side, host.socket, 1) for host in self.hosts[:row.connections]],
                                    self.seconds))
        return measure([self.command(row, side)], self.seconds)[0]

    def command(self, row: Row, side: str) -> list:
        if side == "floor":
            pins = [] if row.server is None else ["--server-cpu", str(row.server), "--client-cpu", str(row.client)]
            return [harness.tool("load_floor"), "--seconds", str(self.seconds), *pins]
        if side == "cosid":
            return self.cosid.command(self.mongod.uri(), row.block or COSID_STEP, self.seconds, row.connections)
        if row.driver == LIBRARY or not SIDES[side].loader:
            return self.library(row, side)
        socket = self.redis.socket if side == "redis" else self.wide.socket if row.wide else self.seqd.socket
        return self.load(row, side, socket, row.connections)

    def load(self, row: Row, side: str, socket: Path, connections: int) -> list:
        prefix = "host-" if row.driver == HOSTS else "bulk-" if row.count > 1 else "sequence-"
        command = [harness.tool("load"), "--protocol", SIDES[side].loader, "--socket", str(socket), "--seconds", str(self.seconds),
                   "--connections", str(connections), "--depth", str(row.depth), "--names", str(row.sequences), "--prefix", prefix]
        if row.count > 1:
            command += ["--method", "range", "--count", str(row.count)]
        if row.identity and side == "seqd":
            command += ["--identity"]
        return command + ([] if row.client is None else ["--pin", str(row.client)])

    def library(self, row: Row, side: str) -> list:
        found = SIDES[side]
        name = found.variant if side.startswith("postgresql") else "bulk-orders" if row.count > 1 else "orders"
        depth = row.depth if found.loader or side.startswith("postgresql") else 1
        command = [str(harness.BUILD / "bench" / "peers" / found.program), "--address", self.address(side), "--name", name,
                   "--connections", str(row.connections), "--depth", str(depth), "--count", str(row.count),
                   "--seconds", str(self.seconds), *(["--variant", found.variant] if found.variant else [])]
        if side == "seqd-blocks" and row.block:
            command += ["--variant", str(row.block)]
        return command + ([] if row.client is None else ["--pin", str(row.client)])

    def blocks_audit(self) -> dict:
        """What became of the IDs that were taken from blocks."""
        with self.blocks.connect(LEASE_MS / 1000) as connection:
            audit = connection.call("audit", "orders")
        return {field: audit[field] for field in ("issued", "gaps", "out")}

    def address(self, side: str) -> str:
        servers = {"seqd": self.seqd.socket, "seqd-blocks": self.blocks.socket, "seqd-polling": self.polling.socket, "redis": self.redis.socket, "mongod": self.mongod.uri(),
                   "postgresql-cache1": self.postgresql.socket, "postgresql-cache100": self.postgresql.socket}
        return str(servers.get(side, self.directory / side))  # the others have a file or a folder

    def pids(self, row: Row, side: str) -> List[int]:
        """The processes of the side's server."""
        if side == "seqd":
            daemons = self.hosts if row.driver == HOSTS else [self.wide if row.wide else self.seqd]
            mongod = [self.mongod.process.pid] if row.driver == HOSTS else []
            return [*(daemon.process.pid for daemon in daemons), *mongod]
        if side.startswith("postgresql"):
            return self.postgresql.pids()
        servers = {"seqd-blocks": self.blocks.process, "seqd-polling": self.polling.process, "redis": self.redis.process, "mongod": self.mongod.process, "cosid": self.mongod.process}
        return [servers[side].pid] if side in servers else []
