"""Replies of the daemon, accepted only with the types, bounds and sums that the request requires.

Pure functions, any thread. Each raises ProtocolError for a result that no daemon gives.
"""

from __future__ import annotations

from typing import Any, Dict, List, NamedTuple, Optional, TypedDict, cast

from .errors import ProtocolError

Run = range
MIN_ID, MAX_ID = -(2**63), 2**63 - 1
_LONGEST_TEXT = 1024


class Parsed(NamedTuple):
    """What a text of a sequence means.

    number: the ID. period: "2026-11-21", as precise as the text is, or None. date: those parts of the date that the text has
    (`year`, `month`, `day`, ...). check: the kind of the check digits, which are valid, or None.
    """

    number: int
    period: Optional[str]
    date: Dict[str, int]
    check: Optional[str]


class Peeked(NamedTuple):
    """What would come next: another client may take it first.

    next: the ID that would be issued next, or None. available: how many IDs the daemon can issue without a lease. last: the
    last ID that this daemon issued, or None.
    """

    next: Optional[int]
    available: int
    last: Optional[int]


class StatusEnding(TypedDict):
    """A sequence that comes to its end: IDs that are left to lease, and for how many days they will do."""

    name: str
    left: Optional[int]
    days_left: Optional[int]


class StatusStore(TypedDict):
    """A store of the daemon; error: of the newest call, or None."""

    name: str
    type: str
    state: str
    error: Optional[str]
    lease_mode: Optional[str]


class StatusLog(TypedDict):
    """The daemon's log."""

    position: int
    syncs: int
    rotations: int


class Status(TypedDict):
    """What the daemon says of itself, as a dict. A newer daemon has further keys; an older one may lack some.

    runway_ms, runway_sequence: how long the available IDs of the sequence that has them shortest last at its rate, or None.
    out: IDs in blocks of clients, which may be taken already.
    leases, gaps, errors: since the daemon started, ranges leased, IDs that became a gap, replies that were an error.
    """

    version: str
    pid: int
    instance: str
    uptime_ms: int
    state_how: str
    connections: int
    requests: int
    issued: int
    sequences: int
    out: int
    waiting: int
    ending: List[StatusEnding]
    stores: List[StatusStore]
    log: StatusLog
    runway_ms: Optional[int]
    runway_sequence: Optional[str]
    leases: int
    gaps: int
    errors: int


def strange(method: str, what: str) -> ProtocolError:
    return ProtocolError(f"the reply to {method} {what}; is the process at this socket seqd?")


def read_id(result: Any) -> int:
    if type(result) is not int or not MIN_ID <= result <= MAX_ID:
        raise strange("next", "is not an integer of 64 bits")
    return result


def read_text(result: Any) -> str:
    if not is_plain(result) or not result:
        raise strange("next_text", "is not a text of plain characters")
    return str(result)


def read_runs(asked: int, result: Any) -> List[Run]:
    """`asked` IDs as runs, each a range(first, first + count * step, step)."""
    if type(result) is not list:
        raise strange("range", "is not an array")
    runs: List[Run] = []
    left = asked
    for run in result:
        if type(run) is not list or len(run) != 3:
            raise strange("range", "is not made of runs")
        first, count, step = run
        if type(first) is not int or type(count) is not int or type(step) is not int or count < 1 or step == 0:
            raise strange("range", "is not made of runs")
        if count > left:
            raise strange("range", "has runs that were not requested")
        if not (MIN_ID <= first <= MAX_ID and MIN_ID <= first + (count - 1) * step <= MAX_ID):
            raise strange("range", "holds IDs beyond 64 bits")
        left -= count
        runs.append(Run(first, first + count * step, step))
    if left != 0:
        raise strange("range", "has fewer IDs than requested")
    return runs


def read_many(asked: int, result: Any) -> List[int]:
    ids: List[int] = []
    for run in read_runs(asked, result):
        ids.extend(run)
    return ids


def read_parsed(result: Any) -> Parsed:
    if type(result) is not dict:
        raise strange("parse", "is not a map")
    number, period, date, check = (result.get(key) for key in ("number", "period", "date", "check"))
    if date is None:
        date = {}
    if type(number) is not int or not MIN_ID <= number <= MAX_ID or type(date) is not dict:
        raise strange("parse", "has unexpected types")
    if not (_is_plain_or_none(period) and _is_plain_or_none(check)):
        raise strange("parse", "has unexpected types")
    if not all(type(key) is str and type(value) is int for key, value in date.items()):
        raise strange("parse", "has unexpected types")
    return Parsed(number, period, date, check)


def read_peeked(result: Any) -> Peeked:
    if type(result) is not dict:
        raise strange("peek", "is not a map")
    following, available, last = (result.get(key) for key in ("next", "available", "last"))
    available = 0 if available is None else available
    if type(available) is not int or not (_is_id_or_none(following) and _is_id_or_none(last)):
        raise strange("peek", "has unexpected types")
    return Peeked(following, available, last)


def read_status(result: Any) -> Status:
    if type(result) is not dict or not all(type(key) is str for key in result):
        raise strange("status", "is not a map of texts")
    return cast(Status, result)


def read_pong(result: Any) -> None:
    if result != "pong":
        raise strange("ping", "is not a pong")


def read_any(result: Any) -> Any:
    return result


class Hello(NamedTuple):
    """What the daemon says of itself. limits: as far as it names them."""

    known: bool
    connection: str
    version: str
    limits: Dict[str, int]


def read_hello(result: Any) -> Hello:
    if type(result) is not dict:
        raise strange("hello", "is not a map")
    protocol, known, limits = result.get("protocol"), result.get("known"), result.get("limits", {})
    if type(protocol) is not int or type(known) is not bool or type(limits) is not dict:
        raise strange("hello", "has unexpected types")
    if protocol != 1:
        raise strange("hello", f"names version {protocol} of the protocol, and this package speaks version 1 only")
    if not all(type(key) is str and type(value) is int and value >= 0 for key, value in limits.items()):
        raise strange("hello", "has limits of unexpected types")
    connection, version = result.get("connection"), result.get("version")
    if not _is_plain_or_none(connection) or not _is_plain_or_none(version):
        raise strange("hello", "has unexpected types")
    return Hello(known, connection or "", version or "", limits)


def is_plain(value: Any) -> bool:
    return type(value) is str and len(value) <= _LONGEST_TEXT and value.isascii() and (value.isprintable() or not value)


def _is_plain_or_none(value: Any) -> bool:
    return value is None or is_plain(value)


def _is_id_or_none(value: Any) -> bool:
    return value is None or (type(value) is int and MIN_ID <= value <= MAX_ID)
