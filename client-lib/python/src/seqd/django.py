"""Fields and defaults for Django models (3.2 and up).

    from seqd.django import IdField, TextIdField

    class Order(models.Model):
        id = IdField("orders", primary_key=True)
        number = TextIdField("invoices", max_length=40, unique=True)

The fields take an ID when a row without a value is saved for the first time, by save() or bulk_create(). A save that fails
afterwards leaves an ID that no row has; the value stays in the instance, so saving it again takes none. The setting
SEQD_SOCKET, if there is one, names the socket; otherwise it is that of seqd.Client.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, Optional, Tuple

from django.conf import settings
from django.db import models
from django.utils.deconstruct import deconstructible

from .client import Client, default_client

_by_socket: Dict[str, Client] = {}


def client() -> Client:
    """The client of this process. Safe in threads and after fork()."""
    path = getattr(settings, "SEQD_SOCKET", None)
    if path is None:
        return default_client()
    # Two threads may make one each: the one that is not kept has no connection yet.
    return _by_socket.get(str(path)) or _by_socket.setdefault(str(path), Client(path, name="django"))


@deconstructible
class NextId:
    """A default for any field: default=NextId("orders"). Django calls it when an instance is made, even if it is never
    saved; IdField takes an ID only at the first save."""

    def __init__(self, sequence: str) -> None:
        self.sequence = sequence

    def __call__(self) -> int:
        return client().next(self.sequence)


@deconstructible
class NextText:
    """The same for a text."""

    def __init__(self, sequence: str) -> None:
        self.sequence = sequence

    def __call__(self) -> str:
        return client().next_text(self.sequence)


def _at_save() -> None:
    """As the default of a primary key: a new instance has none, and Django inserts its row without trying an UPDATE, which
    would replace an older row that has the number already."""


class _Taking:
    """What both fields share. `sequence`: the name of the sequence."""

    attname: str
    take: Callable[[], Any]

    def __init__(self, sequence: str, *args: Any, **kwargs: Any) -> None:
        self.sequence = sequence
        kwargs.setdefault("editable", False)
        kwargs.setdefault("blank", True)
        if kwargs.get("primary_key"):
            kwargs.setdefault("default", _at_save)
        super().__init__(*args, **kwargs)

    def deconstruct(self) -> Tuple[Optional[str], str, Any, Dict[str, Any]]:
        name, path, args, kwargs = super().deconstruct()  # type: ignore[misc]
        kwargs.setdefault("editable", True)
        kwargs.setdefault("blank", False)
        if kwargs.get("default") is _at_save:
            del kwargs["default"]
        return name, path, [self.sequence, *args], kwargs

    def get_pk_value_on_save(self, instance: Any) -> Any:
        return self.take()

    def pre_save(self, instance: Any, add: bool) -> Any:
        value = getattr(instance, self.attname)
        if add and value in (None, ""):
            value = self.take()
            setattr(instance, self.attname, value)
        return value


class IdField(_Taking, models.BigIntegerField):  # type: ignore[misc]
    """A BigIntegerField with the next ID of a sequence."""

    def take(self) -> int:
        return client().next(self.sequence)


class TextIdField(_Taking, models.CharField):  # type: ignore[misc]
    """A CharField with the next ID of a sequence as its text."""

    def take(self) -> str:
        return client().next_text(self.sequence)
