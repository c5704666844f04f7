"""One call as an object, from the caller's arguments to its result, and the constructors of all calls."""

from __future__ import annotations

import functools
from typing import Any, Callable, Dict, Generic, List, Mapping, Optional, Tuple, TypeVar

from . import _records, _replies, _wire
from .errors import ArgumentError

T = TypeVar("T")

# How a request is written. Of TIMED and INSERT the time that is left is a part.
FIXED, TIMED, INSERT = 0, 1, 2
# Where it is. AGAIN: it has a number and is to be sent on the next connection.
QUEUED, SENT, AGAIN, DONE = 0, 1, 2, 3

_OWN = ("hello", "ack")
_MOST_FRONTS = 1024


class Request(Generic[T]):
    """One request. Belongs to a Session from submit() until it is DONE; then `result` or `error` is set.

    `owner`: the call that waits for it; of a type that only the client knows. depth: levels of arrays and maps, as the
    daemon counts them. doubt: what may have happened when there is no reply; empty: nothing that asking again does not show.
    once: it is not sent again after that.
    """

    __slots__ = ("kind", "front", "read", "unique", "depth", "doubt", "once", "state", "number", "perhaps", "deadline", "connect_deadline",
                 "owner", "result", "error")

    def __init__(self, kind: int, front: bytes, read: Callable[[Any], T], unique: str = "", depth: int = 0, doubt: str = "",
                 once: bool = False) -> None:
        self.kind = kind
        self.front = front
        self.read = read
        self.unique = unique
        self.depth = depth
        self.doubt = doubt
        self.once = once
        self.state = QUEUED
        self.number = 0
        self.perhaps = False  # it was sent on a connection that ended
        self.deadline = self.connect_deadline = 0.0
        self.owner: Any = None
        self.result: Optional[T] = None
        self.error: Optional[Exception] = None

    def outcome(self) -> T:
        """Of a request that is DONE."""
        if self.error is not None:
            raise self.error
        return self.result  # type: ignore[return-value]


_fronts: Dict[Tuple[str, str], bytes] = {}


def _front(method: str, name: str) -> bytes:
    """The bytes of a call that is made again and again. Two threads that make them at once make the same."""
    front = _fronts.get((method, name))
    if front is None:
        front = _wire.timed_front(method, _text(name, "the name of a sequence"))
        if len(_fronts) >= _MOST_FRONTS:
            _fronts.clear()
        _fronts[(method, name)] = front
    return front


def _text(value: Any, what: str) -> str:
    if not isinstance(value, str):
        raise ArgumentError(f"{what} is a str, not {type(value).__name__}")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise ArgumentError(f"{what} is not text that can be encoded") from error
    return value


def _count(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value < 2**63:
        raise ArgumentError(f"a count is an integer above 0, not {value!r}")
    return value


def _depth(value: Any) -> int:
    """Levels of arrays and maps, of what msgpack has written: so it has an end."""
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, (list, tuple)):
        return 0
    return 1 + max(map(_depth, value), default=0)


def next_id(name: str) -> Request[int]:
    return Request(TIMED, _front("next", name), _replies.read_id)


def next_text(name: str) -> Request[str]:
    return Request(TIMED, _front("next_text", name), _replies.read_text)


def id_range(name: str, count: int) -> Request[List[_replies.Run]]:
    front = _wire.timed_front("range", _text(name, "the name of a sequence"), _count(count))
    return Request(TIMED, front, functools.partial(_replies.read_runs, count))


def next_many(name: str, count: int) -> Request[List[int]]:
    front = _wire.timed_front("range", _text(name, "the name of a sequence"), _count(count))
    return Request(TIMED, front, functools.partial(_replies.read_many, count))


def parse(name: str, text: str) -> Request[_replies.Parsed]:
    front = _wire.plain_front("parse", _text(name, "the name of a sequence"), _text(text, "a text of a sequence"))
    return Request(FIXED, front, _replies.read_parsed)


def peek(name: str) -> Request[_replies.Peeked]:
    return Request(FIXED, _wire.plain_front("peek", _text(name, "the name of a sequence")), _replies.read_peeked)


def status() -> Request[_replies.Status]:
    return Request(FIXED, _wire.plain_front("status"), _replies.read_status)


def ping() -> Request[None]:
    return Request(FIXED, _wire.plain_front("ping"), _replies.read_pong)


def insert(name: str, document: Mapping[str, Any], unique: Optional[str]) -> Request[int]:
    if not isinstance(document, Mapping):
        raise ArgumentError(f"a document is a mapping, not {type(document).__name__}")
    field = "" if unique is None else _text(unique, "the name of a field")
    if unique is not None and not field:
        raise ArgumentError("the name of the unique field is empty")
    try:
        document = dict(document)
        front = _wire.insert_front(_text(name, "the name of a sequence"), document)
    except (TypeError, ValueError, OverflowError) as error:
        raise ArgumentError(f"the document cannot be written: {error}") from error
    return Request(INSERT, front, _replies.read_id, field, 2 + _depth(document), "the document may have been inserted", unique is None)


def assign(name: str, key: _records.Key) -> Request[_records.Record]:
    sent, text = _records.key_of(key)
    front = _wire.timed_front("assign", _text(name, "the name of a sequence"), sent)
    return Request(TIMED, front, _records.reader("assign", text))


def confirm(name: str, key: _records.Key, number: Optional[int]) -> Request[_records.Record]:
    sent, text = _records.key_of(key)
    front = _wire.timed_front("confirm", _text(name, "the name of a sequence"), sent, **_records.options_of(number))
    return Request(TIMED, front, _records.reader("confirm", text))


def cancel(name: str, key: _records.Key, reason: str, number: Optional[int]) -> Request[_records.Record]:
    sent, _ = _records.key_of(key)
    said = _records.plain_text(reason, "the reason of a cancel")
    front = _wire.timed_front("cancel", _text(name, "the name of a sequence"), sent, said, **_records.options_of(number))
    if number is not None:
        return Request(TIMED, front, _records.reader("cancel"))
    return Request(TIMED, front, _records.reader("cancel"), doubt="the number may have been cancelled", once=True)


def records(name: str, state: Optional[str], after: int) -> Request[Tuple[List[_records.Record], Optional[int]]]:
    options: Dict[str, Any] = {"after": after, **_records.state_of(state)}
    return Request(FIXED, _wire.plain_front("records", _text(name, "the name of a sequence"), options), _records.page_reader(after))


def same_period(name: str, page: List[_records.Record]) -> str:
    """The name for the next page: another period may begin between two pages."""
    return f"{name}@{page[0].period}" if page and page[0].period is not None and "@" not in name else name


def any_method(method: str, params: Tuple[Any, ...]) -> Request[Any]:
    if _text(method, "a method") in _OWN:
        raise ArgumentError(f"{method} is sent by the client itself")
    if method in ("insert", "cancel"):
        raise ArgumentError(f"call {method}(), which knows what may be repeated")
    try:
        front = _wire.plain_front(method, *params)
    except (TypeError, ValueError, OverflowError) as error:
        raise ArgumentError(f"the parameters of {method} cannot be written: {error}") from error
    return Request(FIXED, front, _replies.read_any, depth=1 + _depth(params))
