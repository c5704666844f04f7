"""What `make bench` measures: the rows, and the sides that are measured beside each other in a row.

A row's key is its name in the figures. Its sides are measured one after the other in every round, so that all of them see the same
minutes of the machine.
"""

import dataclasses
from typing import Dict, List, Optional, Tuple


@dataclasses.dataclass(frozen=True)
class Side:
    """Something that issues IDs. `survives` says after what end no number comes twice."""
    title: str
    survives: str
    program: str = ""  # of tests/bench/peers
    variant: str = ""  # for the program: its --variant, or which of the server's sequences
    loader: str = ""  # the wire of tests/tools/load.cc, if it has one


POWER, KILL, NOTHING = "power loss", "kill -9", "nothing"

SIDES: Dict[str, Side] = {
    "floor": Side("bare ping-pong", "-"),
    "seqd": Side("seqd", POWER, "libseqd", loader="seqd"),
    "seqd-blocks": Side("seqd, blocks", POWER, "blocks"),
    "seqd-polling": Side("seqd, busy_poll", POWER, "libseqd", "busy-poll"),
    "redis": Side("Redis INCR / INCRBY", NOTHING, "hiredis", loader="redis"),
    "postgresql-cache1": Side("PostgreSQL nextval, CACHE 1", POWER, "postgresql", "orders_1"),
    "postgresql-cache100": Side("PostgreSQL nextval, CACHE 100", POWER, "postgresql", "orders_100"),
    "mongod": Side("mongod findAndModify", POWER, "mongodb"),
    "flock": Side("file under flock", KILL, "flock"),
    "flock-fsync": Side("file under flock, fsync", POWER, "flock", "fsync"),
    "lmdb": Side("LMDB", POWER, "lmdb"),
    "lmdb-nosync": Side("LMDB, MDB_NOSYNC", KILL, "lmdb", "nosync"),
    "cosid": Side("CosId segment chain on mongod", KILL),
}

# How the load is made. LOAD: tests/tools/load.cc, which speaks the wire itself. LIBRARY: a program that links the side's own
# library, a thread a connection. HOSTS: as many daemons on one counter of mongod, each with one connection of LOAD.
LOAD, LIBRARY, HOSTS = "load", "library", "hosts"


@dataclasses.dataclass(frozen=True)
class Row:
    """One line of the result. `server` and `client` are the CPUs of each (None: any)."""
    key: str
    driver: str = LOAD
    connections: int = 1
    depth: int = 1
    server: Optional[int] = None
    client: Optional[int] = None
    count: int = 1  # IDs a request
    sequences: int = 1
    identity: bool = False
    block: int = 0  # IDs of a block, or of a segment of CosId; 0: what the library chooses
    sides: Tuple[str, ...] = ("redis", "seqd")
    wide: bool = False  # on the daemon whose memory is not judged

    @property
    def ours(self) -> str:
        """The side that the peers are compared with."""
        return "seqd" if "seqd" in self.sides else "seqd-blocks"

    def placement(self) -> str:
        return "unpinned" if self.server is None else f"server on CPU {self.server}, client on CPU {self.client}"

    def title(self) -> str:
        def plural(number: int, noun: str) -> str:
            return f"{number:,} {noun}" + ("" if number == 1 else "s")
        if self.driver == HOSTS:
            text = f"{plural(self.connections, 'host')} on one counter"
        else:
            text = f"{plural(self.connections, 'connection')}, depth {self.depth}"
        text += f", {self.sequences:,} sequences" if self.sequences > 1 else ""
        text += f", {self.count:,} IDs a request" if self.count > 1 else ""
        text += f", blocks of {self.block:,} IDs" if self.block else ""
        return text + (", with an identity" if self.identity else "")


SEQD = ("seqd", "seqd-blocks", "seqd-polling")
EVERY_SIDE = tuple(side for side in SIDES if side not in ("floor", "seqd-polling", "cosid"))
PIPELINED = ("redis", "seqd", "postgresql-cache1", "postgresql-cache100")

DAEMON_ROWS = [
    Row("1x1-same", server=0, client=0, sides=("floor", "redis", "seqd")),
    Row("1x1-split", server=0, client=1, sides=("floor", "redis", "seqd")),
    Row("1x1-unpinned", sides=("floor", "redis", "seqd")),
    Row("1x16-unpinned", depth=16),
    Row("8x1", connections=8, server=0, client=1),
    Row("8x4", connections=8, depth=4, server=0, client=1),
    Row("8x16", connections=8, depth=16, server=0, client=1),
    Row("8x64", connections=8, depth=64, server=0, client=1),
    Row("8x128", connections=8, depth=128, server=0, client=1),
    Row("8x128-identity", connections=8, depth=128, server=0, client=1, identity=True),
    Row("8x16-range100", connections=8, depth=16, server=0, client=1, count=100),
    Row("64x1", connections=64, server=0, client=1, wide=True),
    Row("512x1", connections=512, server=0, client=1, wide=True),
]
# What programs link: one connection with the defaults of each library, then a connection in each of many threads.
LIBRARY_ROWS = [
    Row("library-1", LIBRARY, server=0, client=0, sides=(*EVERY_SIDE, "cosid")),
    Row("library-16", LIBRARY, depth=16, server=0, client=0, sides=PIPELINED),
    Row("library-128", LIBRARY, depth=128, server=0, client=0, sides=PIPELINED),
]
# Program and server on a CPU each, where both wake-ups of a call cost most.
SPLIT_ROWS = [Row("library-split", LIBRARY, server=0, client=1, sides=("redis", "seqd", "seqd-polling"))]
THREAD_ROWS = [Row(f"threads-{count}", LIBRARY, connections=count, sides=("seqd", "seqd-blocks", "cosid") if count == 2 else EVERY_SIDE)
               for count in (1, 2, 8, 32)]
# What a request costs mongod, LMDB and a file does not depend on its IDs: two rows show it.
RANGE_ROWS = [Row(f"range-{count}", LIBRARY, server=0, client=0, count=count,
                  sides=("redis", "seqd", *(("mongod", "flock-fsync", "lmdb") if count in (10, 10_000) else ())))
              for count in (10, 100, 1000, 10_000)]
# IDs of the program's own process, by how many of them it gets at once.
BLOCK_ROWS = [Row(f"block-{count}", LIBRARY, block=count, sides=("seqd-blocks", "cosid")) for count in (10, 100, 1000, 10_000)]
SEQUENCE_ROWS = [Row(f"sequences-{count}", connections=8, depth=16, server=0, client=1, sequences=count, wide=True)
                 for count in (1, 100, 10_000)]
HOST_ROWS = [Row(f"hosts-{count}", HOSTS, connections=count, depth=16, sides=("redis", "seqd", "mongod"), wide=True)
             for count in (1, 2, 4, 8)]
MOST_HOSTS = 8

ROWS: List[Row] = DAEMON_ROWS + LIBRARY_ROWS + SPLIT_ROWS + THREAD_ROWS + RANGE_ROWS + BLOCK_ROWS + SEQUENCE_ROWS + HOST_ROWS
BY_KEY: Dict[str, Row] = {row.key: row for row in ROWS}
