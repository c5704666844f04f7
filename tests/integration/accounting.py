"""The conservation sum over what clients received: nothing twice, and nothing unaccounted for."""

import re
from array import array
from pathlib import Path
from typing import Iterable, List


class Ledger:
    """The IDs of one sequence that somebody holds, one byte each."""

    def __init__(self, name: str):
        self.name = name
        self.seen = bytearray()
        self.count = 0
        self.twice: List[int] = []

    def add(self, ids: Iterable[int]) -> None:
        for number in ids:
            assert number > 0, f"{self.name}: {number} is no ID"
            if number >= len(self.seen):
                self.seen.extend(bytes(max(number + 1 - len(self.seen), 1 << 20)))
            if self.seen[number]:
                self.twice.append(number)
            self.seen[number] = 1
            self.count += 1

    def add_range(self, begin: int, end: int) -> None:
        self.add(range(begin, end))

    def missing(self, begin: int, end: int) -> List[int]:
        """The IDs of [begin, end) that nobody holds."""
        part = self.seen[begin:end].ljust(end - begin, b"\0")
        found, at = [], part.find(0)
        while at >= 0:
            found.append(begin + at)
            at = part.find(0, at + 1)
        return found

    def highest(self) -> int:
        return self.seen.rfind(1)

    def assert_no_duplicate(self) -> None:
        assert not self.twice, f"{self.name}: {len(self.twice)} IDs were issued twice, the first are {self.twice[:10]}"

    def assert_complete(self, begin: int, end: int, gaps: int = 0) -> None:
        """Every ID of [begin, end) is held by exactly one, but for the gaps that a journal accounts for."""
        self.assert_no_duplicate()
        missing = self.missing(begin, end)
        assert len(missing) <= gaps, (f"{self.name}: {len(missing)} of the {end - begin} IDs from {begin} are unaccounted for ({gaps} are gaps that "
                             f"were journalled): {', '.join(f'{run.start}..{run.stop - 1}' for run in runs_of(missing)[:20])}")


def runs_of(ids: Iterable[int]) -> List[range]:
    """IDs in ascending order as runs without a gap."""
    runs: List[range] = []
    for number in ids:
        if runs and runs[-1].stop == number:
            runs[-1] = range(runs[-1].start, number + 1)
        else:
            runs.append(range(number, number + 1))
    return runs


def read_ids(path: Path) -> array:
    """A file of 64-bit integers. A record that was cut at the end is dropped."""
    ids = array("q")
    data = path.read_bytes()
    ids.frombytes(data[:len(data) // 8 * 8])
    return ids


def journalled_gaps(stderr: Path, name: str) -> List[range]:
    """The ranges that the daemon's journal calls gaps."""
    found = re.findall(r"gap_\w+: \[(\d+), (\d+)\) of \"" + re.escape(name) + '"', stderr.read_text(errors="replace"))
    return [range(int(begin), int(end)) for begin, end in found]


def untraceable(stderr: Path, name: str) -> int:
    """How many IDs the daemon's journal gives up at most as leases whose outcome it cannot find out."""
    found = re.findall(r'gap_untraceable: a lease of at most (\d+) IDs of "' + re.escape(name) + '" cannot be traced',
                       stderr.read_text(errors="replace"))
    return sum(int(count) for count in found)
