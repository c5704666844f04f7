"""Every way of SQLAlchemy to write rows whose numbers are those of a register, with real numbers and an SQLite database."""

import asyncio
import os
import uuid

import sqlalchemy
from outcomes import collector, observe
from sqlalchemy import Column, Integer, String, Table, create_engine, delete, func, insert, literal, select, update
from sqlalchemy.dialects import sqlite
from sqlalchemy.orm import Session, declarative_base, make_transient

import seqd
from seqd import aio
from seqd.sqlalchemy import assigned_number, assigned_text

Base = declarative_base()


def new_key():
    return str(uuid.uuid4())


class Bill(Base):
    __tablename__ = "bills"
    number = Column(Integer, default=assigned_number("bills", "uid"))
    text = Column(String(40), default=assigned_text("bills", "uid"))
    uid = Column(String(36), primary_key=True)
    note = Column(String(40), unique=True)


class ByDefault(Base):
    __tablename__ = "by_default"
    uid = Column(String(36), primary_key=True, default=new_key)
    number = Column(Integer, default=assigned_number("bills", "uid"))


class ByServer(Base):
    __tablename__ = "by_server"
    id = Column(Integer, primary_key=True)
    uid = Column(String(36), unique=True, server_default="made")
    number = Column(Integer, default=assigned_number("bills", "uid"))


class NotUnique(Base):
    __tablename__ = "not_unique"
    id = Column(Integer, primary_key=True)
    uid = Column(String(36))
    number = Column(Integer, default=assigned_number("bills", "uid"))


class ByNumber(Base):
    __tablename__ = "by_number"
    id = Column(Integer, primary_key=True)
    number = Column(Integer, default=assigned_number("bills", "id"))


class Visit(Base):
    """With onupdate=, which is refused."""

    __tablename__ = "visits"
    uid = Column(String(36), primary_key=True)
    other = Column(Integer)
    number = Column(Integer, onupdate=assigned_number("bills", "uid"))


BILLS = Bill.__table__
Plain = Table("plain", Base.metadata, Column("id", Integer, primary_key=True), Column("note", String(40)))
WAYS, way = collector()
newer_way = way if sqlalchemy.__version__ >= "2" else lambda _: lambda function: function


def engine():
    made = create_engine("sqlite://")
    Base.metadata.create_all(made)
    return made


def columns(connection, *of):
    return [list(connection.execute(select(column)).scalars()) for column in of or (Bill.number, Bill.text)]


def in_session(work):
    """What a session wrote."""
    with Session(engine()) as session:
        work(session)
        session.commit()
        return columns(session)


def in_connection(work, *of):
    """What statements wrote."""
    with engine().begin() as connection:
        work(connection)
        return columns(connection, *of)


def rows(count=5):
    return [{"uid": new_key(), "note": f"note {number}"} for number in range(count)]


def bills(count=5):
    return [Bill(**row) for row in rows(count)]


@way("session.add()")
def add():
    return in_session(lambda session: session.add(bills(1)[0]))


@way("session.add_all()")
def add_all():
    return in_session(lambda session: session.add_all(bills()))


@way("session.merge()")
def merge():
    return in_session(lambda session: [session.merge(one) for one in bills()])


@way("session.bulk_save_objects()")
def bulk_save_objects():
    return in_session(lambda session: session.bulk_save_objects(bills()))


@way("session.bulk_insert_mappings()")
def bulk_insert_mappings():
    return in_session(lambda session: session.bulk_insert_mappings(Bill, rows()))


@way("session.execute(insert(Model), [rows])")
def orm_bulk():
    return in_session(lambda session: session.execute(insert(Bill), rows()))


@newer_way("session.scalars(insert(Model).returning(Model), [rows])")
def orm_returning():
    return in_session(lambda session: session.scalars(insert(Bill).returning(Bill), rows()).all())


@way("insert()")
def core_single():
    return in_connection(lambda connection: connection.execute(insert(BILLS).values(**rows(1)[0])))


@way("insert(), [rows] (executemany)")
def core_many():
    return in_connection(lambda connection: connection.execute(insert(BILLS), rows()))


@newer_way("insert().returning(), [rows] (insertmanyvalues)")
def many_values():
    return in_connection(lambda connection: connection.execute(insert(BILLS).returning(BILLS.c.uid), rows(1200)))


@way("insert().values([rows])")
def multi_values():
    return in_connection(lambda connection: connection.execute(insert(BILLS).values(rows())))


@way("a save that was rolled back, again with its key")
def again():
    uid, found = new_key(), []
    for end in ("rollback", "commit"):
        with Session(engine()) as session:
            session.add(Bill(uid=uid))
            session.flush()
            found.append(columns(session))
            getattr(session, end)()
    assert found[0] == found[1]
    return "the same number"


@way("a row without its key")
def no_key():
    return in_connection(lambda connection: connection.execute(insert(BILLS).values(note="x")))


@way("a list of which one row has no key")
def one_without_key():
    return in_connection(lambda connection: connection.execute(insert(BILLS), [*rows(1), {"uid": None, "note": "x"}]))


@way("a key that a default makes")
def key_by_default():
    try:
        in_connection(lambda connection: connection.execute(insert(ByDefault), [{}, {}]), ByDefault.number)
    except seqd.ArgumentError:
        pass
    else:
        return "a statement that gives no key"
    with Session(engine()) as session:
        session.add(ByDefault())
        session.commit()
        return columns(session, ByDefault.number)


@way("a key that the database makes")
def key_by_server():
    return in_connection(lambda connection: connection.execute(insert(ByServer.__table__)), ByServer.number)


@way("a key that is an expression")
def key_by_expression():
    return in_connection(lambda connection: connection.execute(insert(BILLS).values(uid=func.lower("A"))))


@way("a key that is not unique")
def key_not_unique():
    return in_connection(lambda connection: connection.execute(insert(NotUnique.__table__), [{"uid": new_key()}]), NotUnique.number)


@way("a key that is an integer")
def key_by_number():
    return in_connection(lambda connection: connection.execute(insert(ByNumber.__table__), [{"id": 7}]), ByNumber.number)


@way("two rows with one key")
def one_key():
    uid = new_key()
    return in_connection(lambda connection: connection.execute(insert(BILLS), [{"uid": uid}, {"uid": uid}]))


def moved(*names, **options):
    """Copies rows of another table."""
    def work(connection):
        visits = Visit.__table__
        connection.execute(insert(visits), [{"uid": new_key(), "number": number} for number in (71, 72)])
        texts = [literal("text") + visits.c.uid] if "text" in names else []
        chosen = [visits.c[name] for name in names if name != "text"] + texts
        connection.execute(insert(BILLS).from_select([*(name for name in names if name != "text"), *(["text"] if texts else [])],
                                                     select(*chosen), **options))
    return in_connection(work)


@way("insert().from_select()")
def from_select():
    return moved("uid")


@way("insert().from_select() that selects the column")
def from_select_named():
    return moved("uid", "number", "text")


@way("insert().from_select(include_defaults=False)")
def from_select_without():
    return moved("uid", include_defaults=False)


@way("insert() in a CTE")
def in_cte():
    made = insert(BILLS).values(**rows(1)[0]).cte("made")
    return in_connection(lambda connection: connection.execute(delete(Plain).add_cte(made)))


@way("insert() around a CTE that writes")
def around_cte():
    changed = update(Plain).values(note="y").cte("changed")
    return in_connection(lambda connection: connection.execute(insert(BILLS).values(**rows(1)[0]).add_cte(changed)))


@way("insert().on_conflict_do_nothing(), [rows]")
def conflict_nothing():
    def work(connection):
        connection.execute(insert(BILLS), rows(3))
        connection.execute(sqlite.insert(BILLS).on_conflict_do_nothing(), rows(5))
    return in_connection(work)


@way("insert().on_conflict_do_update(), [rows]")
def conflict_update():
    def work(connection):
        connection.execute(insert(BILLS), rows(3))
        statement = sqlite.insert(BILLS)
        connection.execute(statement.on_conflict_do_update(["note"], set_={"note": statement.excluded.note}), rows(5))
    return in_connection(work)


@way("a value of one's own in each row")
def own_values():
    def work(connection):
        connection.execute(insert(BILLS), [{"uid": new_key(), "number": own, "text": f"own {own}"} for own in (71, 72)])
        assert columns(connection, Bill.number) == [[71, 72]]
    return in_connection(work)


@way("None in a column that may be NULL")
def explicit_none():
    return in_connection(lambda connection: connection.execute(insert(BILLS), [{"uid": new_key(), "number": None, "text": None}]))


@way("a copy by make_transient()")
def copy():
    with Session(engine()) as session:
        one = Bill(uid=new_key())
        session.add(one)
        session.commit()
        session.refresh(one)
        make_transient(one)
        one.uid = new_key()
        session.add(one)
        session.commit()
        first, second = columns(session, Bill.number)[0]
    assert first == second
    return "the original's number"


@way("onupdate=assigned_number()")
def on_update():
    def work(connection):
        connection.execute(insert(Visit.__table__), [{"uid": "a", "number": 1}, {"uid": "b", "number": 2}])
        connection.execute(update(Visit.__table__).values(other=5))
    return in_connection(work, Visit.number)


@way("AsyncSession.add_all(), with seqd.aio.Client")
def in_a_loop():
    from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine

    async def run():
        async with aio.Client() as client:
            base = declarative_base()

            class Ticket(base):
                __tablename__ = "tickets"
                uid = Column(String(36), primary_key=True)
                number = Column(Integer, default=assigned_number("bills", "uid", client))

            made = create_async_engine("sqlite+aiosqlite://")
            async with made.begin() as connection:
                await connection.run_sync(base.metadata.create_all)
            async with AsyncSession(made) as session:
                session.add_all([Ticket(uid=new_key()) for _ in range(5)])
                await session.commit()
                found = [list((await session.execute(select(Ticket.number))).scalars())]
            await made.dispose()
            return found

    return asyncio.run(run())


if __name__ == "__main__":
    assert os.environ["SEQD_SOCKET"]
    observe(WAYS, [(sqlalchemy.exc.IntegrityError, "the database"), (sqlalchemy.exc.StatementError, "SQLAlchemy")],
            sqlalchemy.__version__)
