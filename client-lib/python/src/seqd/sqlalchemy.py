"""Defaults for SQLAlchemy columns (1.4 and 2).

    from seqd.sqlalchemy import next_id, next_text

    class Order(Base):
        __tablename__ = "orders"
        id = Column(BigInteger, primary_key=True, autoincrement=False, default=next_id("orders"))
        number = Column(String(40), default=next_text("invoices"))

A default is called for each row that is inserted without a value for the column. An insert that fails afterwards leaves an
ID that no row has.
"""

from __future__ import annotations

from typing import Any, Callable, Optional, Union

from . import aio
from .client import Client, default_client

AnyClient = Union[Client, aio.Client]


def next_id(name: str, client: Optional[AnyClient] = None) -> Callable[[], int]:
    """One ID of the sequence `name`, an int.

    client: default: that of the process, with the default socket. With a seqd.aio.Client, which an AsyncSession should have,
    the event loop does not wait meanwhile. Raises SeqdError, which the statement raises.
    """
    def seqd_next_id() -> int:
        taken: int = _take(client, "next", name)
        return taken

    return seqd_next_id


def next_text(name: str, client: Optional[AnyClient] = None) -> Callable[[], str]:
    """The same as the text that the `format` of the sequence describes."""
    def seqd_next_text() -> str:
        taken: str = _take(client, "next_text", name)
        return taken

    return seqd_next_text


def _take(client: Optional[AnyClient], method: str, name: str) -> Any:
    result = getattr(client or default_client(), method)(name)
    if isinstance(client, aio.Client):
        from sqlalchemy.util import await_only
        return await_only(result)
    return result
