"""Defaults for SQLAlchemy columns (1.4 and 2).

    from seqd.sqlalchemy import next_id, next_text

    class Order(Base):
        __tablename__ = "orders"
        id = Column(BigInteger, primary_key=True, autoincrement=False, default=next_id("orders"))
        number = Column(String(40), default=next_text("invoices"))

For numbers without gaps, of a register, the key is another column of the row, and the program sets it before the insert:

        uid = Column(Uuid, primary_key=True)
        number = Column(String(40), unique=True, default=assigned_text("invoices", key="uid"))

A default is called for each row that is inserted without a value for the column. An insert that fails afterwards leaves an
ID that no row has. Where SQLAlchemy calls a default once for any number of rows, ArgumentError says what to do instead.
MODELS.md has every way of writing.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Optional, Type, Union

from sqlalchemy import UniqueConstraint
from sqlalchemy.exc import DontWrapMixin
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.expression import CTE, Insert, Update

from . import aio
from ._records import Record
from .client import Client, default_client
from .errors import ArgumentError, SeqdError

AnyClient = Union[Client, aio.Client]
Default = Callable[[Any], Any]


def next_id(name: str, client: Optional[AnyClient] = None) -> Default:
    """One ID of the sequence `name`, an int: for `default=` of a Column.

    client: default: that of the process, with the default socket. With a seqd.aio.Client, which an AsyncSession should have,
    the event loop does not wait meanwhile. The statement raises SeqdError, as it is and not in a StatementError.
    """
    def seqd_next_id(context: Any) -> Any:
        return _take(context, client, name, lambda asked: asked.next(name))

    return _named(seqd_next_id, name)


def next_text(name: str, client: Optional[AnyClient] = None) -> Default:
    """The same as the text that the `format` of the sequence describes."""
    def seqd_next_text(context: Any) -> Any:
        return _take(context, client, name, lambda asked: asked.next_text(name))

    return _named(seqd_next_text, name)


def assigned_number(name: str, key: str, client: Optional[AnyClient] = None) -> Default:
    """The number in the register `name` of the row's column `key`, an int: for `default=` of a Column.

    A save that is rolled back and tried again with the same key gets the same number. The key is a text, a UUID or the bytes of
    one, unique in its table, and set before the insert: what a default made would be another key for each attempt.
    """
    def seqd_assigned_number(context: Any) -> Any:
        found = _take(context, client, name, lambda asked: asked.assign(name, _key(context, name, key)))
        return found.number if isinstance(found, Record) else found

    return _named(seqd_assigned_number, name)


def assigned_text(name: str, key: str, client: Optional[AnyClient] = None) -> Default:
    """The same as the text that the `format` of the register describes."""
    def seqd_assigned_text(context: Any) -> Any:
        found = _take(context, client, name, lambda asked: asked.assign(name, _key(context, name, key)))
        return found.text if isinstance(found, Record) else found

    return _named(seqd_assigned_text, name)


def _named(default: Default, name: str) -> Default:
    default.seqd_sequence = name  # type: ignore[attr-defined]
    return default


def _take(context: Any, client: Optional[AnyClient], name: str, ask: Callable[[Any], Any]) -> Any:
    try:
        _check_one_row(context, name)
        given = _given(context)
        if given is not None:
            return given
        result = ask(client or default_client())
        if isinstance(client, aio.Client):
            from sqlalchemy.util import await_only
            return await_only(result)
        return result
    except SeqdError as error:
        raise _as_it_is(error) from None


def _key(context: Any, name: str, key: str) -> Any:
    """What this row has in the column `key`. Raises ArgumentError where a second attempt may have something else."""
    current = context.current_column
    column = getattr(current, "original", current).table.c.get(key)  # insert().values([rows]) has columns of its own
    if column is None:
        raise ArgumentError(f'the table has no column "{key}", which the numbers of "{name}" belong to')
    if not _is_unique(column):
        raise ArgumentError(f'the column "{key}" is not unique, and each key has one number of "{name}": make it the primary key, or '
                            "unique=True")
    made = any(one.key == key for one in context.compiled.insert_prefetch)
    given = None if made else context.get_current_parameters().get(key)
    if given is None:
        raise ArgumentError(f'the number of "{name}" belongs to the column "{key}", which is not set: give each row its value before the '
                            "insert, as in uid=uuid.uuid4(). With a default of the column, each attempt to save would be another key")
    return given


def _is_unique(column: Any) -> bool:
    table = column.table
    unique = [table.primary_key, *(one for one in table.constraints if isinstance(one, UniqueConstraint)),
              *(one for one in table.indexes if one.unique)]
    return bool(column.unique) or any([other.key for other in one.columns] == [column.key] for one in unique)


def _check_one_row(context: Any, name: str) -> None:
    """Raises ArgumentError where the result would be that of many rows."""
    if getattr(context, "isupdate", False):
        raise ArgumentError(f'"{name}" is a number for new rows (default=), not for onupdate=: one UPDATE can change many rows, and all '
                            "would get the same number")
    compiled = getattr(context, "compiled", None)
    if any(_writes(cte) for cte in getattr(compiled, "ctes", None) or ()):  # the default is inside another function
        raise _in_cte(name)
    statement = getattr(compiled, "statement", None)
    if isinstance(statement, Insert) and statement.select is not None:
        raise ArgumentError(f'insert().from_select() calls a default once, so all rows would get the same number of "{name}": select the '
                            "rows and insert them as a list, or name the column in from_select() with a value for each row")


@compiles(CTE)  # type: ignore[misc]
def _check_cte(cte: Any, compiler: Any, **options: Any) -> Any:
    """Raises ArgumentError for an INSERT or UPDATE in a CTE if it, or the statement around it, needs a number: SQLAlchemy calls a
    default once for all rows there, and forgets those of the statement around it."""
    around = _needed(compiler)
    text = compiler.visit_cte(cte, **options)
    names = around + _needed(compiler) if _writes(cte) else []
    if names:
        raise _in_cte(names[0])
    return text


def _writes(cte: Any) -> bool:
    return isinstance(cte.element, (Insert, Update))


def _in_cte(name: str) -> ArgumentError:
    return ArgumentError(f'an INSERT or UPDATE in a CTE cannot have a number of "{name}" for each row, nor can the statement around it: '
                         "execute the two one after the other, or give the column a value")


def _needed(compiler: Any) -> List[str]:
    """The sequences that the statement takes numbers of, as far as it is compiled."""
    defaults = [column.default for column in compiler.insert_prefetch] + [column.onupdate for column in compiler.update_prefetch]
    return [default.arg.seqd_sequence for default in defaults if hasattr(getattr(default, "arg", None), "seqd_sequence")]


def _given(context: Any) -> Any:
    """What this row of a list has for the column, which SQLAlchemy would replace if the first row of the list has nothing for it."""
    parameters = getattr(context, "current_parameters", None)
    column = getattr(context, "current_column", None)
    return parameters.get(column.key) if parameters and column is not None else None


_unwrapped: Dict[Type[SeqdError], Type[SeqdError]] = {}


def _as_it_is(error: SeqdError) -> SeqdError:
    """The same error as one that SQLAlchemy does not put into a StatementError."""
    kind = type(error)
    found = _unwrapped.get(kind)
    if found is None:
        reduced = {"__module__": kind.__module__, "__qualname__": kind.__qualname__, "__doc__": kind.__doc__,
                   "__reduce__": lambda self: (kind, *kind.__reduce__(self)[1:])}
        found = _unwrapped.setdefault(kind, type(kind.__name__, (kind, DontWrapMixin), reduced))
    other = found(error.text)
    other.__dict__.update(error.__dict__)
    return other.with_traceback(error.__traceback__)
