"""Where seqd loses: every row in which its median is behind that of a peer."""

import dataclasses
import statistics
from typing import List

from figures import column, has, median
from rows import ROWS, SEQD, Row

FIELDS = {"ids_per_s": "IDs/s", "p50_us": "p50, µs", "p99_us": "p99, µs"}


@dataclasses.dataclass(frozen=True)
class Loss:
    row: str
    peer: str
    field: str
    ours: float  # medians
    theirs: float
    factor: float  # how many times better the peer's median is
    rounds: int  # in how many of them the peer was ahead


def compare(result: dict, row: Row, peer: str, field: str) -> Loss:
    ours, theirs = median(result[row.ours], field), median(result[peer], field)
    rising = field == "ids_per_s"
    ahead = sum((b > a) == rising and a != b for a, b in zip(column(result[row.ours], field), column(result[peer], field)))
    return Loss(row.key, peer, field, ours, theirs, theirs / ours if rising else ours / theirs, ahead)


def comparisons(results: dict) -> List[Loss]:
    """All of them, in the order of the rows."""
    return [compare(results[row.key], row, peer, field) for row in ROWS for peer in row.sides if peer not in (*SEQD, "floor")
            for field in FIELDS if has(results[row.key][peer], field)]


def losses(results: dict) -> List[Loss]:
    return [one for one in comparisons(results) if one.factor > 1]


def worst(found: List[Loss]) -> List[Loss]:
    """The largest factor of IDs/s against each peer, largest first."""
    peers = {}
    for one in found:
        if one.field == "ids_per_s" and one.factor > (peers[one.peer].factor if one.peer in peers else 1):
            peers[one.peer] = one
    return sorted(peers.values(), key=lambda one: -one.factor)


def middle_unused(results: dict, key: str) -> float:
    """IDs that CosId had leased and not issued when its program ended."""
    return statistics.median(column(results[key]["cosid"], "unused"))
