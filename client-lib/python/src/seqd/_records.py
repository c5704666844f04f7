"""The numbers of a register: their keys, and the records that the daemon has of them.

Pure functions, any thread.
"""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Protocol, Tuple, Union
from uuid import UUID

from ._replies import MAX_ID, is_plain, strange
from .errors import ArgumentError

MOST_KEY_BYTES = 256  # of a reason, too
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_MOST_MS = 250_000_000_000_000  # the year 9892: within what a datetime holds
STATES = ("assigned", "confirmed", "void", "free")


class ObjectIdLike(Protocol):
    """An ObjectId of bson."""

    @property
    def binary(self) -> bytes: ...


Key = Union[str, UUID, bytes, ObjectIdLike]


class Former(NamedTuple):
    """A key that a number was cancelled for. key: None for a number that was lost when the store was restored."""

    key: Optional[str]
    assigned_at: datetime
    assigned_by: Optional[str]
    cancelled_at: datetime
    cancelled_by: Optional[str]
    reason: Optional[str]


class Record(NamedTuple):
    """A number of a register. str() of it is its text, int() its number.

    text: as the `format` of the register wrote it when it was first assigned. period: "2026"; None: the register has none.
    state: "assigned", "confirmed", "void" (cancelled for good) or "free" (cancelled; the next key can get it).
    key: None if it is void or free. assigned_at, confirmed_at: in UTC. assigned_by, confirmed_by: HOST:USER:PROCESS.
    """

    number: int
    text: str
    period: Optional[str]
    state: str
    key: Optional[str]
    assigned_at: datetime
    assigned_by: Optional[str]
    confirmed_at: Optional[datetime]
    confirmed_by: Optional[str]
    former: List[Former]

    def __str__(self) -> str:
        return self.text

    def __int__(self) -> int:
        return self.number


# --- arguments
def plain_text(value: Any, what: str) -> str:
    """A text that the daemon keeps: 1 to 256 bytes without control characters."""
    if not isinstance(value, str):
        raise ArgumentError(f"{what} is a str, not {type(value).__name__}")
    try:
        size = len(value.encode())
    except UnicodeEncodeError as error:
        raise ArgumentError(f"{what} is not text that can be encoded") from error
    if not 1 <= size <= MOST_KEY_BYTES or any(letter < " " or letter == "\x7f" for letter in value):
        raise ArgumentError(f"{what} has 1 to {MOST_KEY_BYTES} bytes and no control characters")
    return value


def key_of(key: Any) -> Tuple[Union[str, bytes], str]:
    """What is sent for the key, and the text that the daemon has for it."""
    if isinstance(key, UUID):
        return str(key), str(key)
    binary = key if isinstance(key, bytes) else getattr(key, "binary", None)
    if isinstance(binary, bytes):
        binary = bytes(binary)  # a Binary of bson is a bytes, too
        if len(binary) == 16:
            return binary, str(UUID(bytes=binary))
        if len(binary) == 12:
            return binary, binary.hex()
        raise ArgumentError(f"a key of bytes is a UUID of 16 or an ObjectId of 12, not {len(binary)}")
    if not isinstance(key, str):
        raise ArgumentError(f"a key is a str, a UUID, an ObjectId, or the bytes of one of these, not {type(key).__name__}")
    text = plain_text(key, "a key")
    return text, text


def options_of(number: Optional[int]) -> Dict[str, int]:
    if number is None:
        return {}
    if not isinstance(number, int) or isinstance(number, bool) or not 1 <= number <= MAX_ID:
        raise ArgumentError(f"the number of a key is an integer above 0, not {number!r}")
    return {"number": number}


def state_of(state: Optional[str]) -> Dict[str, str]:
    if state is None:
        return {}
    if state not in STATES:
        raise ArgumentError(f"a state is one of {', '.join(STATES)}, not {state!r}")
    return {"state": state}


# --- replies
def reader(method: str, key: Optional[str] = None) -> Callable[[Any], Record]:
    """Reads the record that `method` gives; with a key, one that belongs to it."""
    def read(result: Any) -> Record:
        record = _record(method, result)
        if key is not None and record.key != key:
            raise strange(method, "has the number of another key")
        return record

    return read


def page_reader(after: int) -> Callable[[Any], Tuple[List[Record], Optional[int]]]:
    """Reads the page behind `after`: the records, and the `after` of the next page."""
    def read(result: Any) -> Tuple[List[Record], Optional[int]]:
        if type(result) is not dict or type(result.get("records")) is not list:
            raise strange("records", "is not a page")
        following = result.get("after")
        if following is not None and (type(following) is not int or following <= after):
            raise strange("records", "does not go on")
        return [_record("records", one) for one in result["records"]], following

    return read


def _record(method: str, result: Any) -> Record:
    if type(result) is not dict:
        raise strange(method, "is not a map")
    number, text, state, former = (result.get(name) for name in ("number", "text", "state", "former"))
    if type(number) is not int or not 1 <= number <= MAX_ID or not is_plain(text) or not text or not is_plain(state):
        raise strange(method, "has unexpected types")
    if former is None:
        former = []
    if type(former) is not list:
        raise strange(method, "has unexpected types")
    period, key = (_said(method, result.get(name)) for name in ("period", "key"))
    assigned_at, assigned_by = _stamp(method, result.get("assigned"))
    confirmed_at, confirmed_by = (None, None) if result.get("confirmed") is None else _stamp(method, result["confirmed"])
    return Record(number, str(text), period, str(state), key, assigned_at, assigned_by, confirmed_at, confirmed_by,
                  [_former(method, one) for one in former])


def _former(method: str, result: Any) -> Former:
    if type(result) is not dict:
        raise strange(method, "has unexpected types")
    key, reason = (_said(method, result.get(name)) for name in ("key", "reason"))
    return Former(key, *_stamp(method, result.get("assigned")), *_stamp(method, result.get("cancelled")), reason)


def _stamp(method: str, result: Any) -> Tuple[datetime, Optional[str]]:
    at_ms = result.get("at_ms") if type(result) is dict else None
    if type(at_ms) is not int or not 0 <= at_ms <= _MOST_MS:
        raise strange(method, "has no time")
    return _EPOCH + timedelta(milliseconds=at_ms), _said(method, result.get("by"))


def _said(method: str, value: Any) -> Optional[str]:
    if value is not None and type(value) is not str:
        raise strange(method, "has unexpected types")
    return value
