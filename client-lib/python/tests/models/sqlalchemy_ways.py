"""Every way of SQLAlchemy to write rows, with real numbers and an SQLite database."""

import asyncio
import os

import sqlalchemy
from outcomes import NONE, collector, observe
from sqlalchemy import BigInteger, Column, Integer, String, Table, create_engine, delete, insert, select, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session, declarative_base, make_transient

import seqd
from seqd import aio
from seqd.sqlalchemy import next_id, next_text

Base = declarative_base()


class Order(Base):
    __tablename__ = "orders"
    id = Column(BigInteger, primary_key=True, autoincrement=False, default=next_id("orders"))
    number = Column(String(40), default=next_text("invoices"))
    note = Column(String(40), unique=True)


class Invoice(Base):
    """Its column is no key."""

    __tablename__ = "invoices"
    id = Column(Integer, primary_key=True)
    number = Column(BigInteger, default=next_id("numbers"))
    note = Column(String(40))


class Visit(Base):
    """With onupdate=, which is refused."""

    __tablename__ = "visits"
    id = Column(Integer, primary_key=True)
    number = Column(BigInteger, onupdate=next_id("visits"))


class Wrapped(Base):
    """Its default is inside a function of the program."""

    __tablename__ = "wrapped"
    id = Column(Integer, primary_key=True)
    number = Column(BigInteger, default=lambda context: next_id("wrapped")(context))  # pylint: disable=unnecessary-lambda
    note = Column(String(40))


Plain = Table("plain", Base.metadata, Column("id", Integer, primary_key=True), Column("note", String(40)))
WAYS, way = collector()
newer_way = way if sqlalchemy.__version__ >= "2" else lambda _: lambda function: function


def engine():
    made = create_engine("sqlite://")
    Base.metadata.create_all(made)
    return made


def columns(connection, *of):
    return [list(connection.execute(select(column)).scalars()) for column in of]


def in_session(work):
    """What a session wrote."""
    with Session(engine()) as session:
        work(session)
        session.commit()
        return columns(session, Order.id, Order.number)


def in_connection(work, *of):
    """What statements wrote."""
    with engine().begin() as connection:
        work(connection)
        return columns(connection, *(of or (Order.id, Order.number)))


def notes(count=5):
    return [{"note": f"note {number}"} for number in range(count)]


@way("session.add()")
def add():
    return in_session(lambda session: session.add(Order()))


@way("session.add_all()")
def add_all():
    return in_session(lambda session: session.add_all([Order() for _ in range(5)]))


@way("session.merge()")
def merge():
    return in_session(lambda session: [session.merge(Order(note=note["note"])) for note in notes()])


@way("session.bulk_save_objects()")
def bulk_save_objects():
    return in_session(lambda session: session.bulk_save_objects([Order() for _ in range(5)]))


@way("session.bulk_insert_mappings()")
def bulk_insert_mappings():
    return in_session(lambda session: session.bulk_insert_mappings(Order, notes()))


@way("session.execute(insert(Model), [rows])")
def orm_bulk():
    return in_session(lambda session: session.execute(insert(Order), notes()))


@newer_way("session.scalars(insert(Model).returning(Model), [rows])")
def orm_returning():
    return in_session(lambda session: session.scalars(insert(Order).returning(Order), notes()).all())


@way("insert()")
def core_single():
    return in_connection(lambda connection: connection.execute(insert(Order.__table__)))


@way("insert(), [rows] (executemany)")
def core_many():
    return in_connection(lambda connection: connection.execute(insert(Order.__table__), notes()))


@newer_way("insert().returning(), [rows] (insertmanyvalues)")
def many_values():
    statement = insert(Order.__table__).returning(Order.__table__.c.id)
    return in_connection(lambda connection: connection.execute(statement, notes(2500)))


@way("insert().values([rows])")
def multi_values():
    return in_connection(lambda connection: connection.execute(insert(Order.__table__).values(notes())))


@way("a column that is no key, by executemany")
def no_key():
    return in_connection(lambda connection: connection.execute(insert(Invoice.__table__), notes()), Invoice.number)


def three(connection):
    connection.execute(insert(Order.__table__), notes(3))


@way("insert().from_select()")
def from_select():
    def work(connection):
        three(connection)
        connection.execute(insert(Invoice.__table__).from_select(["note"], select(Order.__table__.c.note)))
    return in_connection(work, Invoice.number)


@way("insert(Model).from_select() of a session")
def orm_from_select():
    def work(session):
        session.add_all([Order(), Order()])
        session.flush()
        session.execute(insert(Invoice).from_select(["note"], select(Order.note)))
    with Session(engine()) as session:
        work(session)
        return columns(session, Invoice.number)


@way("insert().from_select() that selects the column")
def from_select_named():
    def work(connection):
        three(connection)
        connection.execute(insert(Invoice.__table__).from_select(["number"], select(Order.__table__.c.id)))
    return in_connection(work, Invoice.number)


@way("insert().from_select(include_defaults=False)")
def from_select_without():
    def work(connection):
        three(connection)
        statement = insert(Invoice.__table__).from_select(["note"], select(Order.__table__.c.note), include_defaults=False)
        connection.execute(statement)
    return in_connection(work, Invoice.number)


def with_cte(statement):
    """Refused before SQLite, which has no such statements, sees them."""
    return in_connection(lambda connection: connection.execute(statement), Invoice.number)


def for_postgresql(statement):
    """With RETURNING, which SQLAlchemy 1.4 does not write for SQLite."""
    return str(statement.compile(dialect=postgresql.dialect()))


def copy_of_orders():
    return insert(Invoice.__table__).from_select(["note"], select(Order.__table__.c.note)).cte("moved")


@way("insert().from_select() in a CTE of another statement")
def cte_from_select():
    return with_cte(delete(Order.__table__).add_cte(copy_of_orders()))


@way("select() of insert() in a CTE")
def cte_selected():
    return for_postgresql(select(insert(Invoice.__table__).values(note="x").returning(Invoice.__table__.c.id).cte("made").c.id))


@way("insert() with another insert() in a CTE")
def cte_insert():
    return with_cte(insert(Invoice.__table__).values(note="x").add_cte(insert(Plain).values(note="y").cte("made")))


@way("insert() with an update() in a CTE")
def cte_update():
    return with_cte(insert(Invoice.__table__).values(note="x").add_cte(update(Plain).values(note="y").cte("changed")))


@way("onupdate=next_id() in a CTE")
def cte_on_update():
    visits = Visit.__table__
    return for_postgresql(select(update(visits).values(id=visits.c.id + 10).returning(visits.c.id).cte("changed").c.id))


@way("a function that calls next_id(), insert(), [rows]")
def wrapped():
    return in_connection(lambda connection: connection.execute(insert(Wrapped.__table__), notes()), Wrapped.number)


@way("a function that calls next_id(), in a CTE")
def cte_wrapped():
    errors = []
    for statement in (delete(Order.__table__).add_cte(insert(Wrapped.__table__).from_select(["note"], select(Order.note)).cte("moved")),
                      insert(Plain).values(note="x").add_cte(insert(Wrapped.__table__).values(note="x").cte("made"))):
        try:
            in_connection(lambda connection: connection.execute(statement), Wrapped.number)  # pylint: disable=cell-var-from-loop
        except seqd.ArgumentError as error:
            errors.append(error)
    assert len(errors) == 2, errors
    raise errors[0]


@way("a function that calls next_id(), insert() around a CTE")
def cte_around_wrapped():
    statement = insert(Wrapped.__table__).values(note="x").add_cte(insert(Plain).values(note="y").cte("made"))
    with engine().connect() as connection:
        compiled = statement.compile(connection)
        assert connection.dialect.name == "sqlite" and not compiled.insert_prefetch, "SQLAlchemy does not forget it"
    return NONE


@way("insert().on_conflict_do_nothing(), [rows]")
def conflict_nothing():
    def work(connection):
        three(connection)
        connection.execute(sqlite.insert(Order.__table__).on_conflict_do_nothing(), notes(5))
    return in_connection(work)


@way("insert().on_conflict_do_update(), [rows]")
def conflict_update():
    def work(connection):
        three(connection)
        statement = sqlite.insert(Order.__table__)
        connection.execute(statement.on_conflict_do_update(["note"], set_={"note": statement.excluded.note}), notes(5))
    return in_connection(work)


@way("a value of one's own in each row")
def own_values():
    def work(connection):
        connection.execute(insert(Order.__table__), [{"id": 71, "number": "own 71"}, {"id": 72, "number": "own 72"}])
        assert columns(connection, Order.id) == [[71, 72]]
    return in_connection(work)


@way("rows of which only the second has a value, insert(), [rows]")
def uneven():
    found = in_connection(lambda connection: connection.execute(insert(Invoice.__table__), [{}, {"number": 71}]), Invoice.number)
    assert 71 in found[0], "what was given is not there"
    return found


@way("rows of which only the first has a value, insert(), [rows]")
def uneven_first():
    return in_connection(lambda connection: connection.execute(insert(Invoice.__table__), [{"number": 71}, {}]), Invoice.number)


@way("rows of which only one has a value, insert().values([rows])")
def uneven_values():
    statement = insert(Invoice.__table__).values([{"note": "first"}, {"note": "second", "number": 71}])
    return in_connection(lambda connection: connection.execute(statement), Invoice.number)


@way("rows of which only one has a value, session.bulk_insert_mappings()")
def uneven_mappings():
    with Session(engine()) as session:
        session.bulk_insert_mappings(Invoice, [{}, {"number": 71}])
        return columns(session, Invoice.number)


@way("None in a column that may be NULL")
def explicit_none():
    return in_connection(lambda connection: connection.execute(insert(Invoice.__table__), [{"number": None}] * 2), Invoice.number)


@way("a copy by make_transient()")
def copy():
    with Session(engine()) as session:
        one = Invoice(note="a")
        session.add(one)
        session.commit()
        session.refresh(one)
        make_transient(one)
        one.id = None
        session.add(one)
        session.commit()
        first, second = columns(session, Invoice.number)[0]
    assert first == second
    return "the original's number"


@way("onupdate=next_id()")
def on_update():
    def work(connection):
        connection.execute(insert(Visit.__table__), [{"number": 1}, {"number": 2}])
        connection.execute(update(Visit.__table__).values(id=Visit.__table__.c.id + 10))
    return in_connection(work, Visit.number)


@way("AsyncSession.add_all(), with seqd.aio.Client")
def in_a_loop():
    from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine

    async def run():
        async with aio.Client() as client:
            base = declarative_base()

            class Ticket(base):
                __tablename__ = "tickets"
                id = Column(BigInteger, primary_key=True, autoincrement=False, default=next_id("tickets", client))
                number = Column(String(40), default=next_text("invoices", client))

            made = create_async_engine("sqlite+aiosqlite://")
            async with made.begin() as connection:
                await connection.run_sync(base.metadata.create_all)
            async with AsyncSession(made) as session:
                session.add_all([Ticket() for _ in range(5)])
                await session.commit()
                found = [list((await session.execute(select(column))).scalars()) for column in (Ticket.id, Ticket.number)]
            await made.dispose()
            return found

    return asyncio.run(run())


if __name__ == "__main__":
    assert os.environ["SEQD_SOCKET"]
    observe(WAYS, [(sqlalchemy.exc.IntegrityError, "the database"), (sqlalchemy.exc.StatementError, "SQLAlchemy")],
            sqlalchemy.__version__)
