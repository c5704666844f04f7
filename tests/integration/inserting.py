"""Clients that have documents inserted, while daemons and old programs are killed. Every document says whose it is: `by`, and the
number `n` among those of the client. A document whose connection was lost, or whose answer was OUTCOME_UNKNOWN, is not sent again."""

from typing import Dict, List, NamedTuple

from old_code import OldCode
from rpc import Closed, Connection, RpcError
from servers.mongod import wait_for

BURST = 2000  # requests under way
TRANSIENT = ("BUSY", "UNAVAILABLE", "STOPPING")


class Inserted(NamedTuple):
    answered: Dict[int, int]  # the _id by n
    unknown: List[int]  # n


def connect(path: str) -> Connection:
    """The daemon may just be starting."""
    found: List[Connection] = []

    def there() -> bool:
        try:
            found.append(Connection(path, 60))
        except (FileNotFoundError, ConnectionRefusedError, ConnectionResetError):
            return False
        return True

    wait_for("the daemon's socket", there)
    return found[0]


def insert(path: str, name: str, by: str, documents: int) -> Inserted:
    """Has so many documents inserted, or has to leave open whether they were."""
    told = Inserted({}, [])
    wanted = list(range(documents))
    client = connect(path)
    while wanted:
        burst, wanted = wanted[:BURST], wanted[BURST:]
        open_ones = set(burst)
        try:
            requests = [(n, client.request("insert", name, {"by": by, "n": n}, {"timeout_ms": 30_000})) for n in burst]
            for n, request in requests:
                try:
                    told.answered[n] = client.result(request)
                except RpcError as error:
                    if error.code in TRANSIENT:
                        wanted.append(n)
                    else:
                        assert error.code == "OUTCOME_UNKNOWN", error
                        told.unknown.append(n)
                open_ones.remove(n)
        except (Closed, OSError):
            told.unknown.extend(open_ones)
            client = connect(path)
    return told


def check_documents(documents, clients: Dict[str, Inserted], programs: List[OldCode]) -> None:
    """The collection holds what was answered, what was left open, and nothing else; each document once, and no _id is left out."""
    there = {(document["by"], document["n"]): document["_id"] for document in documents}
    assert sorted(there.values()) == list(range(1, len(documents) + 1))
    assert len(there) == len(documents), "a document is there twice"
    unknown = 0
    for by, told in clients.items():
        mine = {n: number for (whose, n), number in there.items() if whose == by}
        assert all(mine.get(n) == number for n, number in told.answered.items())
        left_open = set(mine) - set(told.answered)
        assert left_open <= set(told.unknown)
        unknown += len(left_open)
    old = unread = 0
    for program in programs:
        for path, life in zip(program.lives, program.read()):
            mine = {number for (whose, _), number in there.items() if whose == str(path)}
            assert mine.issuperset(life.ids) and len(mine) <= len(life.ids) + life.open_asks
            old, unread = old + len(life.ids), unread + len(mine) - len(life.ids)
    answered = sum(len(told.answered) for told in clients.values())
    assert answered + unknown + old + unread == len(documents)
    print(f"{answered} by daemons, {unknown} of them left open; {old} by old code, {unread} of it unread")


def insert_by_key(path: str, name: str, by: str, documents: int) -> Dict[int, int]:
    """Has so many documents inserted whose field `key` is unique; each is sent again until it has its answer. The _id by n."""
    told: Dict[int, int] = {}
    client = connect(path)
    while len(told) < documents:
        burst = [n for n in range(documents) if n not in told][:BURST]
        try:
            requests = [(n, client.request("insert", name, {"by": by, "n": n, "key": f"{by}/{n}"},
                                           {"timeout_ms": 30_000, "unique": "key"})) for n in burst]
            for n, request in requests:
                try:
                    told[n] = client.result(request)
                except RpcError as error:
                    assert error.code in TRANSIENT + ("OUTCOME_UNKNOWN",), error
        except (Closed, OSError):
            client = connect(path)
    return told
