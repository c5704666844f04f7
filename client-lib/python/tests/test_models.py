"""The defaults of SQLAlchemy columns and Django models, on a real daemon and SQLite databases."""

import asyncio
import os
import pickle
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

import pytest
import sqlalchemy
from sqlalchemy.dialects import postgresql
from sqlalchemy.orm import Session, declarative_base
from sqlalchemy.util import greenlet_spawn

import seqd
from conftest import HERE
from hostile import Server
from seqd import aio
from seqd.sqlalchemy import next_id, next_text
from servers.patience import PROGRAM_SECONDS

SEQUENCES = {"invoices": {"format": "INV-{number:4}{check:luhn}"}}


@pytest.fixture
def shop(make_daemon):
    return make_daemon(sequences=SEQUENCES).start()


def order_model(client):
    base = declarative_base()

    class Order(base):
        __tablename__ = "orders"
        id = sqlalchemy.Column(sqlalchemy.BigInteger, primary_key=True, autoincrement=False, default=next_id("orders", client))
        number = sqlalchemy.Column(sqlalchemy.String(40), default=next_text("invoices", client))

    return base, Order


def test_ColumnsOfSQLAlchemy(shop):
    with seqd.Client(shop.socket) as client:
        base, order = order_model(client)
        engine = sqlalchemy.create_engine("sqlite://")
        base.metadata.create_all(engine)
        with Session(engine) as session:
            session.add_all([order() for _ in range(5)])
            session.add(order(id=100, number="own"))
            session.commit()
            session.execute(sqlalchemy.insert(order), [{}, {}])
            session.commit()
            rows = session.query(order.id, order.number).order_by(order.id).all()
        assert [row.id for row in rows] == [1, 2, 3, 4, 5, 6, 7, 100]
        assert [client.parse("invoices", row.number).number for row in rows[:-1]] == [1, 2, 3, 4, 5, 6, 7]
        assert rows[-1].number == "own"


def test_ColumnsOfSQLAlchemyOfTheProcess(shop, monkeypatch):
    monkeypatch.setenv("SEQD_SOCKET", str(shop.socket))
    monkeypatch.setattr("seqd.client._default", None)
    base, order = order_model(None)
    engine = sqlalchemy.create_engine("sqlite://")
    base.metadata.create_all(engine)
    with Session(engine) as session:
        session.add(order())
        session.commit()
        assert session.query(order.id).scalar() == 1
    seqd.default_client().close()


def test_ColumnsOfSQLAlchemyInAnEventLoop(shop):
    """As an AsyncSession runs them: the loop goes on while the default waits."""
    async def run():
        async with aio.Client(shop.socket) as client:
            base, order = order_model(client)
            engine = sqlalchemy.create_engine("sqlite://")

            def work():
                base.metadata.create_all(engine)
                with Session(engine) as session:
                    session.add_all([order() for _ in range(3)])
                    session.commit()
                    return [row.id for row in session.query(order.id).order_by(order.id)]

            return await greenlet_spawn(work)

    assert asyncio.run(run()) == [1, 2, 3]


def test_TheErrorOfAStatementIsThatOfTheDaemon(make_daemon):
    """Not in a StatementError. It can be pickled, as errors of workers are."""
    shop = make_daemon(sequences={"invoices": {"max_value": 1}}).start()
    with seqd.Client(shop.socket) as client:
        base, order = order_model(client)
        engine = sqlalchemy.create_engine("sqlite://")
        base.metadata.create_all(engine)
        assert client.next("invoices") == 1
        with Session(engine) as session:
            session.add(order())
            with pytest.raises(seqd.Exhausted) as caught:
                session.commit()
        assert not caught.value.temporary and caught.value.fault == 0
        assert type(pickle.loads(pickle.dumps(caught.value))) is seqd.Exhausted


def test_StatementsInACteThatNeedNoNumberAreLeftAlone():
    base, order = order_model(None)
    orders = order.__table__
    other = sqlalchemy.Table("other", base.metadata, sqlalchemy.Column("note", sqlalchemy.String(40)))
    given = sqlalchemy.insert(orders).values(id=5, number="own").returning(orders.c.id).cte("given")
    plain = sqlalchemy.insert(other).values(note="x").returning(other.c.note).cte("plain")
    for statement in (sqlalchemy.select(given.c.id), sqlalchemy.delete(orders).add_cte(plain),
                      sqlalchemy.insert(orders).values(id=5, number="own").add_cte(plain),
                      sqlalchemy.insert(orders).add_cte(sqlalchemy.select(other.c.note).cte("read"))):
        assert "WITH" in str(statement.compile(dialect=postgresql.dialect()))


BULK = """
    import django
    from django.conf import settings
    settings.configure(DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}}, SEQD_SOCKET=%r, INSTALLED_APPS=[])
    django.setup()
    from django.db import connection, models
    from seqd.django import IdField, TextIdField

    class Order(models.Model):
        id = IdField("orders", primary_key=True)
        number = TextIdField("invoices", max_length=40, unique=True)
        class Meta: app_label = "shop"

    with connection.schema_editor() as editor:
        editor.create_model(Order)
    Order.objects.bulk_create([Order(number="own"), *(Order() for _ in range(500))])
    assert sorted(Order.objects.values_list("id", flat=True)) == list(range(1, 502))
    assert len(set(Order.objects.values_list("number", flat=True))) == 501
    assert Order.objects.get(number="own").id == 1
    print("good")
"""


def test_BulkCreateOfDjangoAsksForAllInOneGo():
    """IDs by requests of as many as the daemon allows, here 300; all texts are asked for before the first answer."""
    asked = []

    def act(line):
        line.greet()
        first = 1
        while first <= 501:
            request = line.request()
            asked.append(request[3][:2])
            if request[3][1] > 300:
                line.say(request[1], error=[1, "TOO_LARGE: 300 at most"])
                continue
            line.say(request[1], [[first, request[3][1], 1]])
            first += request[3][1]
        for request in [line.request() for _ in range(500)]:
            line.say(request[1], f"INV-{request[1]}")
        line.until_closed()

    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        server = Server(Path(folder) / "s", act)
        done = subprocess.run([sys.executable, "-B", "-c", textwrap.dedent(BULK) % str(server.path)], capture_output=True, text=True,
                              env={**os.environ, "PYTHONPATH": str(HERE.parent / "src")}, timeout=PROGRAM_SECONDS, check=False)
        server.close()
    assert done.stdout == "good\n", done.stderr
    assert not server.failures
    assert asked == [["orders", 501], ["orders", 251], ["orders", 250]]


DJANGO = """
    import django
    from django.conf import settings
    settings.configure(DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}},
                       SEQD_SOCKET=%r, USE_TZ=True, INSTALLED_APPS=["shop"])
    import sys, types
    shop = types.ModuleType("shop"); shop.__path__ = [%r]; sys.modules["shop"] = shop
    django.setup()
    from django.db import IntegrityError, connection, models
    from django.db.migrations.writer import MigrationWriter
    from seqd.django import IdField, NextId, NextText, TextIdField, client

    class Order(models.Model):
        id = IdField("orders", primary_key=True)
        number = TextIdField("invoices", max_length=40, unique=True)
        class Meta: app_label = "shop"

    class Ticket(models.Model):
        id = models.BigIntegerField(primary_key=True, default=NextId("tickets"))
        other = IdField("others", null=True)
        text = models.CharField(max_length=40, default=NextText("invoices"))
        class Meta: app_label = "shop"

    with connection.schema_editor() as editor:
        editor.create_model(Order), editor.create_model(Ticket)

    assert Order().id is None, "an instance that is not saved takes no ID"
    first = Order(); first.save()
    assert (first.id, client().parse("invoices", first.number).number) == (1, 1)
    first.save()
    assert Order.objects.count() == 1 and Order.objects.get().id == 1
    assert Order.objects.create().id == 2
    assert [order.id for order in Order.objects.bulk_create([Order() for _ in range(3)])] == [3, 4, 5]
    assert sorted(Order.objects.values_list("id", flat=True)) == [1, 2, 3, 4, 5]
    assert len({client().parse("invoices", one).number for one in Order.objects.values_list("number", flat=True)}) == 5
    # A table that had rows before its sequence: a new row never replaces an old one.
    Order.objects.create(id=6, number="old")
    try:
        Order().save()
        raise AssertionError("a row was replaced")
    except IntegrityError:
        assert Order.objects.get(id=6).number == "old"
    own = Order.objects.create(id=70, number="own")
    assert (own.id, own.number) == (70, "own")
    ticket = Ticket.objects.create()
    assert (ticket.id, ticket.other, Ticket.objects.create(other=9).other) == (1, 1, 9)

    for field in (Order._meta.get_field("id"), Order._meta.get_field("number"), Ticket._meta.get_field("id")):
        name, path, args, kwargs = field.deconstruct()
        again = type(field)(*args, **kwargs)
        assert again.deconstruct()[1:] == (path, args, kwargs)
        text, imports = MigrationWriter.serialize(field)
        assert "orders" in text or "invoices" in text or "tickets" in text
        names = {}
        exec("\\n".join(imports) + "\\nfrom django.db import models", names)
        assert type(eval(text, names)) is type(field)
    print("good")
"""


def test_FieldsOfDjango(shop, scratch):
    program = textwrap.dedent(DJANGO) % (str(shop.socket), str(scratch))
    environment = {**os.environ, "PYTHONPATH": str(HERE.parent / "src")}
    done = subprocess.run([sys.executable, "-B", "-c", program], env=environment, capture_output=True, text=True,
                          timeout=PROGRAM_SECONDS, check=False)
    assert done.stdout == "good\n", done.stderr


def test_NeitherIsImportedBeforeItIsAskedFor():
    for imported, expect in (("import sys, seqd", ""), ("import sys, seqd, seqd.aio", "asyncio")):
        program = f"{imported}; print(*sorted({{'sqlalchemy', 'django', 'asyncio'}} & set(sys.modules)))"
        done = subprocess.run([sys.executable, "-B", "-c", program], env={**os.environ, "PYTHONPATH": str(HERE.parent / "src")},
                              capture_output=True, text=True, timeout=PROGRAM_SECONDS, check=True)
        assert done.stdout.strip() == expect
