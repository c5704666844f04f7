"""Registers on the real daemon, for both clients: one key has one number, whatever happens in between."""

import asyncio
import datetime
import uuid
from concurrent.futures import ThreadPoolExecutor

import msgpack
import pytest
import sqlalchemy
from sqlalchemy import Column, LargeBinary, String
from sqlalchemy.orm import Session, declarative_base

import seqd
from seqd import _requests, aio, errors
from seqd.sqlalchemy import assigned_number, assigned_text
from servers.mongod import wait_for
from servers.patience import PATIENCE
from test_session import World

SEQUENCES = {"invoices": {"mode": "register", "period": "year", "format": "INV-{date:%Y}-{number:5}"},
             "slips": {"mode": "register", "refill": "always"}}
YEAR = datetime.datetime.now(datetime.timezone.utc).year
UID = uuid.UUID("01234567-89ab-cdef-0123-456789abcdef")
RECORD = {"number": 1, "text": "INV-2026-00001", "period": "2026", "state": "assigned", "key": "a",
          "assigned": {"at_ms": 1796044675364, "by": "host:0:7"}, "confirmed": None, "former": []}


class ObjectId:
    """As bson has it."""

    binary = bytes(range(12))


@pytest.fixture
def office(make_daemon):
    return make_daemon(sequences=SEQUENCES).start()


def test_AKeyHasOneNumber(office, make_client):
    client = make_client(office.socket)
    record = client.assign("invoices", UID)
    assert int(record) == 1 and str(record) == f"{record}" == f"INV-{YEAR}-00001" and record.period == str(YEAR)
    assert (record.state, record.key, record.confirmed_at, record.former) == ("assigned", str(UID), None, [])
    assert abs(datetime.datetime.now(datetime.timezone.utc) - record.assigned_at) < datetime.timedelta(minutes=5)
    assert record.assigned_by.count(":") == 2
    assert client.assign("invoices", UID) == client.assign("invoices", str(UID)) == client.assign("invoices", UID.bytes) == record
    assert client.assign("invoices", ObjectId()).key == ObjectId.binary.hex()
    assert [one.number for one in client.pipelined("assign", "invoices", "third", times=3)] == [3, 3, 3]
    with seqd.Client(office.socket) as other:
        assert other.assign("invoices", UID) == record and other.assign("invoices", "fourth").number == 4


def test_AKillKeepsTheNumbers(office, make_client):
    client = make_client(office.socket)
    before = [client.assign("invoices", f"key {at}") for at in range(20)]
    office.kill()
    office.start()
    assert [client.assign("invoices", f"key {at}") for at in range(20)] == before
    assert client.assign("invoices", "next").number == 21


def test_KillsUnderLoadLeaveNoGap(office):
    numbers, threads = {}, 4

    def ask(client, thread):
        for at in range(60):
            numbers[thread, at] = client.assign("invoices", f"key {thread} {at}").number

    with seqd.Client(office.socket, timeout=30 * PATIENCE) as client, ThreadPoolExecutor(threads) as pool:
        asking = [pool.submit(ask, client, thread) for thread in range(threads)]
        for kill in range(1, 6):
            wait_for("numbers", lambda kill=kill: len(numbers) >= 30 * kill)
            office.kill()
            office.start()
        for one in asking:
            one.result()
        assert sorted(numbers.values()) == [*range(1, 60 * threads + 1)]
        assert [record.number for record in client.records("invoices")] == sorted(numbers.values())


def test_ConfirmAndCancel(office, make_client):
    client = make_client(office.socket)
    first, second = client.assign("invoices", "a"), client.assign("invoices", "b")
    confirmed = client.confirm("invoices", "a")
    assert confirmed.state == "confirmed" and confirmed.confirmed_at >= first.assigned_at and confirmed.confirmed_by
    assert client.confirm("invoices", "a", number=1) == confirmed
    with pytest.raises(seqd.KeyConfirmed):
        client.cancel("invoices", "a", "a mistake", number=1)
    void = client.cancel("invoices", "b", "the customer left", number=second.number)
    assert (void.state, void.key, void.number) == ("void", None, 2)
    (former,) = void.former
    assert (former.key, former.reason, former.assigned_at) == ("b", "the customer left", second.assigned_at)
    assert client.cancel("invoices", "b", "again", number=2) == void
    assert client.assign("invoices", "b").number == 3
    assert client.cancel("invoices", "b", "without its number").number == 3
    with pytest.raises(seqd.NoKey):
        client.cancel("invoices", "b", "without its number")
    with pytest.raises(seqd.NoKey):
        client.confirm("invoices", "c")
    client.assign("slips", "a")
    assert client.cancel("slips", "a", "a test", number=1).state == "free"
    slip = client.assign("slips", "b")
    assert (slip.number, slip.text, slip.period, slip.former[0].key) == (1, "1", None, "a")


def test_Periods(office, make_client):
    client = make_client(office.socket)
    assert client.assign(f"invoices@{YEAR - 1}", "old").text == f"INV-{YEAR - 1}-00001"
    assert client.assign("invoices", "old").period == str(YEAR - 1)
    assert client.assign("invoices", "new").period == str(YEAR)
    assert client.call("close", f"invoices@{YEAR - 1}") == 1
    with pytest.raises(seqd.PeriodClosed) as caught:
        client.assign(f"invoices@{YEAR - 1}", "late")
    assert not caught.value.temporary and caught.value.fault == 1
    with pytest.raises(seqd.BadRequest):
        client.assign(f"invoices@{YEAR + 2}", "early")
    with pytest.raises(seqd.WrongMode):
        client.next("invoices")


def test_RecordsComeInPages(office, make_client):
    client = make_client(office.socket)
    for at in range(230):
        client.assign("invoices", f"key {at}")
    client.cancel("invoices", "key 7", "a test", number=8)
    assert [record.number for record in client.records(f"invoices@{YEAR}")] == [*range(1, 231)]
    assert [record.number for record in client.records("invoices", state="void")] == [8]
    assert len(list(client.records("invoices", state="assigned"))) == 229
    assert not list(client.records("slips"))


def test_WhatNoDaemonAcceptsIsNotSent():
    """There is no daemon."""
    client = seqd.Client("/nowhere", timeout=0.1)
    for key in ("", "a\nb", "x" * 257, "\ud800", 7, None, b"short", bytearray(16), object()):
        with pytest.raises(seqd.ArgumentError):
            client.assign("invoices", key)
    for reason in ("", None, "a\tb", "x" * 257):
        with pytest.raises(seqd.ArgumentError):
            client.cancel("invoices", "a", reason)
    for number in (0, -1, True, "1", 2**63):
        with pytest.raises(seqd.ArgumentError):
            client.confirm("invoices", "a", number=number)
    with pytest.raises(seqd.ArgumentError):
        list(client.records("invoices", state="lost"))
    with pytest.raises(seqd.ArgumentError):
        client.call("cancel", "invoices", "a", "a reason")
    with pytest.raises(seqd.ConnectError):
        client.assign("invoices", "a")


# --- what is sent when a connection is lost
def test_AssignConfirmAndANumberedCancelAreRepeated():
    for make in (lambda: _requests.assign("invoices", "a"), lambda: _requests.confirm("invoices", "a", None),
                 lambda: _requests.cancel("invoices", "a", "why", 1)):
        world = World()
        world.connect()
        request = world.submit(make())
        before = world.sent()
        world.session.disconnected(0.0)
        world.connect()
        assert world.sent() == before
        world.say(1, error=[0, "UNAVAILABLE: the store"])
        assert isinstance(request.error, errors.Unavailable)


def test_TheOptionsAreInOneMap():
    world = World()
    world.connect()
    world.submit(_requests.assign("invoices", UID))
    world.submit(_requests.confirm("invoices", UID.bytes, 5))
    world.submit(_requests.cancel("invoices", ObjectId(), "why", None))
    assert [message[2:] for message in world.sent()] == [
        ["assign", ["invoices", str(UID), {"timeout_ms": 9000}]],
        ["confirm", ["invoices", UID.bytes, {"number": 5, "timeout_ms": 9000}]],
        ["cancel", ["invoices", ObjectId.binary, "why", {"timeout_ms": 9000}]]]


@pytest.mark.parametrize("how", ["lost", "stopping", "late"])
def test_ACancelWithoutItsNumberIsSentOnce(how):
    world = World()
    world.connect()
    request = world.submit(_requests.cancel("invoices", "a", "why", None))
    assert world.numbers() == [1]
    if how == "lost":
        world.session.disconnected(0.0)
    elif how == "stopping":
        assert not world.say(1, error=[0, "STOPPING: the daemon stops"])
    else:
        world.session.expire(11.0, errors.ConnectError)
    assert isinstance(request.error, errors.OutcomeUnknown) and "may have been cancelled" in request.error.text
    world.session.disconnected(0.0)
    world.connect()
    assert not world.numbers()


def test_ACancelThatWasNotSentWaitsForTheNextDaemon():
    world = World()
    request = world.submit(_requests.cancel("invoices", "a", "why", None))
    world.session.disconnected(0.0)
    world.connect()
    assert world.numbers() == [1]
    world.say(1, {**RECORD, "state": "void", "key": None})
    assert request.result.state == "void"


@pytest.mark.parametrize("change", [
    {"number": 0}, {"number": "1"}, {"number": 2**64}, {"text": ""}, {"text": None}, {"state": 1}, {"key": "b"}, {"key": None}, {"period": 2026},
    {"assigned": None}, {"assigned": {"at_ms": -1, "by": "x"}}, {"assigned": {"at_ms": 2**62, "by": "x"}}, {"assigned": {"at_ms": 1, "by": 7}},
    {"confirmed": 1}, {"former": {}}, {"former": [1]}])
def test_ARecordThatNoDaemonGivesIsRefused(change):
    request = _requests.assign("invoices", "a")
    assert request.read(msgpack.unpackb(msgpack.packb(RECORD))).number == 1
    with pytest.raises(errors.ProtocolError):
        request.read({**RECORD, **change})
    with pytest.raises(errors.ProtocolError):
        request.read([RECORD])


@pytest.mark.parametrize("page", [None, {"after": None}, {"records": {}, "after": None}, {"records": [1], "after": None},
                                  {"records": [], "after": 7}, {"records": [], "after": "8"}])
def test_APageThatDoesNotGoOnIsRefused(page):
    with pytest.raises(errors.ProtocolError):
        _requests.records("invoices", None, 7).read(page)


# --- SQLAlchemy
def invoice_model(client):
    base = declarative_base()

    class Invoice(base):
        __tablename__ = "invoices"
        uid = Column(String(36), primary_key=True)
        number = Column(sqlalchemy.Integer, default=assigned_number("invoices", "uid", client))
        text = Column(String(40), default=assigned_text("invoices", "uid", client))
        note = Column(String(40), unique=True)

    return base, Invoice


def test_ATransactionThatIsTriedAgainKeepsItsNumber(office):
    with seqd.Client(office.socket) as client:
        base, invoice = invoice_model(client)
        engine = sqlalchemy.create_engine("sqlite://")
        base.metadata.create_all(engine)
        uid = str(uuid.uuid4())
        for end in ("rollback", "rollback", "commit"):
            with Session(engine) as session:
                session.add(invoice(uid=uid))
                session.flush()
                getattr(session, end)()
        with Session(engine) as session:
            session.add(invoice(uid="other", note="taken"))
            session.commit()
            session.add(invoice(uid="third", note="taken"))
            with pytest.raises(sqlalchemy.exc.IntegrityError):
                session.commit()
            session.rollback()
            session.add(invoice(uid="third", note="free"))
            session.commit()
            assert [tuple(row) for row in session.query(invoice.number, invoice.text).order_by(invoice.number)] == [
                (number, f"INV-{YEAR}-{number:05}") for number in (1, 2, 3)]
        assert [record.key for record in client.records("invoices")] == [uid, "other", "third"]


def test_AColumnOfBytesIsAKey(office):
    with seqd.Client(office.socket) as client:
        table = sqlalchemy.Table("t", sqlalchemy.MetaData(), Column("uid", LargeBinary(16), unique=True),
                                 Column("number", sqlalchemy.Integer, default=assigned_number("invoices", "uid", client)))
        with sqlalchemy.create_engine("sqlite://").begin() as connection:
            table.create(connection)
            connection.execute(sqlalchemy.insert(table), [{"uid": UID.bytes}])
        assert client.assign("invoices", UID).number == 1 and client.assign("invoices", "next").number == 2


def test_ThePipelineAndManyTasks(office):
    async def run():
        async with aio.Client(office.socket) as client:
            pipeline = client.pipeline()
            await client.assign("invoices", "a")
            await client.confirm("invoices", "a")
            pipeline.assign("invoices", "a")
            pipeline.confirm("invoices", "a", number=1)
            pipeline.cancel("invoices", "a", "no", number=1)
            first = await pipeline.execute(return_exceptions=True)
            return first, await asyncio.gather(*(client.assign("invoices", f"key {at}") for at in range(50)))

    (assigned, confirmed, refused), many = asyncio.run(run())
    assert (assigned.number, confirmed.state) == (1, "confirmed") and isinstance(refused, seqd.KeyConfirmed)
    assert sorted(record.number for record in many) == [*range(2, 52)]
