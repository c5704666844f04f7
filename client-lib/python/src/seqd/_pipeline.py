"""Requests that are collected and then sent together."""

from __future__ import annotations

from typing import Any, List, Mapping, Optional

from . import _requests
from ._records import Key
from ._requests import Request


class Collection:
    """What the pipelines of both clients have. The methods are those of the client; each result is given by execute()."""

    def __init__(self) -> None:
        self._requests: List[Request[Any]] = []

    def next(self, name: str) -> None:
        self._requests.append(_requests.next_id(name))

    def range(self, name: str, count: int) -> None:
        self._requests.append(_requests.id_range(name, count))

    def next_many(self, name: str, count: int) -> None:
        self._requests.append(_requests.next_many(name, count))

    def next_text(self, name: str) -> None:
        self._requests.append(_requests.next_text(name))

    def insert(self, name: str, document: Mapping[str, Any], *, unique: Optional[str] = None) -> None:
        self._requests.append(_requests.insert(name, document, unique))

    def assign(self, name: str, key: Key) -> None:
        self._requests.append(_requests.assign(name, key))

    def confirm(self, name: str, key: Key, *, number: Optional[int] = None) -> None:
        self._requests.append(_requests.confirm(name, key, number))

    def cancel(self, name: str, key: Key, reason: str, *, number: Optional[int] = None) -> None:
        self._requests.append(_requests.cancel(name, key, reason, number))

    def parse(self, name: str, text: str) -> None:
        self._requests.append(_requests.parse(name, text))

    def peek(self, name: str) -> None:
        self._requests.append(_requests.peek(name))

    def call(self, method: str, *params: Any) -> None:
        self._requests.append(_requests.any_method(method, params))

    def __len__(self) -> int:
        return len(self._requests)

    def _take(self) -> List[Request[Any]]:
        requests, self._requests = self._requests, []
        return requests


def outcomes(requests: List[Request[Any]], return_exceptions: bool) -> List[Any]:
    if return_exceptions:
        return [request.result if request.error is None else request.error for request in requests]
    return [request.outcome() for request in requests]
