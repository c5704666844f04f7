"""What former versions left goes on: their state directories, and the bytes of their clients. tests/golden has a directory of each
released version and of the coming one, which its daemon made (tests/golden/make.py). States of other versions are refused."""

import json
import sqlite3
import struct
import tarfile
from pathlib import Path

import msgpack
import pytest

import harness
from accounting import Ledger
from books import explained, ids_of_gaps

GOLDEN = harness.PROJECT / "tests" / "golden"
VERSIONS = sorted(path.name for path in GOLDEN.iterdir() if (path / "golden.json").exists())
EXIT_CORRUPT = 65
EXIT_STORE = 69
HEADER = 80  # bytes in front of the header's check sum


def unpack(version: str, name: str, place: Path) -> None:
    with tarfile.open(GOLDEN / version / f"{name}.tar.xz") as archive:
        archive.extractall(place)


def golden(version: str) -> dict:
    return json.loads((GOLDEN / version / "golden.json").read_text())


def daemon_of(make_daemon, version: str, end: str) -> harness.Daemon:
    """On the state that a daemon of the version left, with the configuration that it had. Its witness is gone."""
    told = golden(version)
    daemon = make_daemon(daemon=told["daemon"], sequences=told["sequences"])
    unpack(version, end, daemon.state)
    return daemon


def ledgers(issued: dict) -> dict:
    """What clients have received, by sequence. A period's numbers begin again, so it is in the books of its own name only."""
    books = {}
    for name, ids in issued.items():
        books[name] = Ledger(name)
        books[name].add(ids)
    return books


def go_on(client, issued: dict) -> None:
    """Every sequence issues, nothing twice, and its audit adds up."""
    books = ledgers(issued)
    for name, book in books.items():
        ids = [client.next(name, timeout_ms=20_000) for _ in range(5)] + client.many(name, 20)
        if name != "daily":
            book.add(ids)
            book.assert_no_duplicate()
        audit = client.call("audit", name)
        assert audit["good"] and audit["unaccounted"] == 0, (name, audit)


def test_TheVersionIsThere():
    assert "0.2.0" in VERSIONS


@pytest.mark.limit(90)
@pytest.mark.parametrize("version", VERSIONS)
def test_AStateThatWasStoppedInOrderGoesOnAtTheNextId(make_daemon, version):
    told = golden(version)["clean"]
    daemon = daemon_of(make_daemon, version, "clean")
    with daemon.start().connect() as client:
        assert client.call("status")["state_how"] == "clean"
        for row in told["list"]:
            if "@" not in row["name"]:  # a period that may be over
                number = client.next(row["name"], timeout_ms=20_000)
                # The stop ended the block of one ID that was out.
                assert number == row["next"] - (row["name"] == "blocks")
                told["issued"][row["name"]].append(number)
        go_on(client, told["issued"])
        for name, gaps in told.get("gaps", {}).items():
            if name != "daily":
                found = client.call("gaps", name)["gaps"]
                assert [[gap["first"], gap["count"], gap["cause"]] for gap in found[:len(gaps)]] == gaps
        for name, ids in told["issued"].items():
            if name != "daily":
                assert set(explained(client, name, [ids[0], ids[-1]]).values()) == {"issued"}
    daemon.terminate()


@pytest.mark.limit(90)
@pytest.mark.parametrize("version", VERSIONS)
def test_AStateThatWasKilledIsForfeitedOnAnotherMachine(make_daemon, version):
    told = golden(version)["killed"]
    daemon = daemon_of(make_daemon, version, "killed")
    with daemon.start().connect() as client:
        assert client.call("status")["state_how"].startswith("forfeited: ")
        for row in told["list"]:
            if "@" in row["name"]:
                continue
            ids = told["issued"][row["name"]]
            gaps = ids_of_gaps(client, row["name"])
            # Of what it issued after its last flush only the lost witness knew, so that counts as lost, too.
            assert len(gaps) >= row["available"] and row["next"] in gaps
            assert set(explained(client, row["name"], [row["next"]]).values()) == {"gap"}
            assert set(explained(client, row["name"], [ids[0]]).values()) <= {"issued", "gap"}
        go_on(client, told["issued"])
    daemon.terminate()


@pytest.mark.parametrize("version", VERSIONS)
def test_RequestsOfAnEarlierClientAreAnsweredAsBefore(make_daemon, version):
    """IDs byte by byte; of an error its fault and code, which are no text for people; of a map each key that there was."""
    with make_daemon().start().connect() as client:
        for request, reply in golden(version)["wire"]:
            client.send(bytes.fromhex(request))
            kind, number, error, result = msgpack.unpackb(bytes.fromhex(reply))
            found = client.read_reply()
            name = msgpack.unpackb(bytes.fromhex(request))
            assert kind == 1 and found[0] == number, name
            if error is not None:
                assert found[1] and (found[1][0], found[1][1].split(":")[0]) == (error[0], error[1].split(":")[0]), name
                continue
            assert found[1] is None, (name, found)
            maps = [(result, found[2])] if isinstance(result, dict) else list(zip(result, found[2])) if name[2] == "list" else []
            assert maps or msgpack.packb([1, *found]).hex() == reply, name
            for before, now in maps:
                assert set(before) <= set(now), name
                assert all(now[key] is None or before[key] is None or type(now[key]) is type(before[key]) for key in before), name


def crc32c(data: bytes) -> int:
    """Bit by bit: the check sum of the header, as LOG-FORMAT.md has it."""
    value = 0xFFFFFFFF
    for byte in data:
        value ^= byte
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
    return value ^ 0xFFFFFFFF


@pytest.mark.parametrize("version,extra", [(0, 0), (1, 0), (3, 0), (5, 0), (0xFFFFFFFF, 0), (4, 1)])
def test_AStateOfAnUnknownVersionIsRefusedWithWhatToDoAndKept(make_daemon, version, extra):
    """Never reset to empty: somebody has started another seqd on the state."""
    daemon = daemon_of(make_daemon, VERSIONS[-1], "clean")
    files = sorted(daemon.state.glob("log.?"))
    assert len(files) == 2
    for path in files:
        data = bytearray(path.read_bytes())
        if any(data[:HEADER]):
            assert struct.unpack_from("<I", data, HEADER)[0] == crc32c(data[:HEADER])
            struct.pack_into("<II", data, 8, version, extra)
            struct.pack_into("<I", data, HEADER, crc32c(data[:HEADER]))
            path.write_bytes(data)
    before = [path.read_bytes() for path in files]
    for _ in range(2):
        with pytest.raises(harness.Died) as died:
            daemon.start()
        assert died.value.code == EXIT_CORRUPT
        assert f"is of version {version}, and this seqd reads version 4. Install the seqd that wrote it. " in died.value.stderr
        assert "Nothing was changed; do not delete the state directory" in died.value.stderr
    assert [path.read_bytes() for path in files] == before


@pytest.mark.parametrize("step,whose", [(1, "a newer"), (-1, "an older")])
def test_AnEmbeddedStoreOfAnotherVersionIsRefusedWithWhatToDoAndKept(make_daemon, step, whose):
    daemon = daemon_of(make_daemon, VERSIONS[-1], "clean")
    path = daemon.state / "sequences.db"
    database = sqlite3.connect(path)
    schema, = database.execute("PRAGMA user_version").fetchone()
    database.execute(f"PRAGMA user_version = {schema + step}")
    database.commit()
    database.close()
    with pytest.raises(harness.Died) as died:
        daemon.start()
    assert died.value.code == EXIT_STORE
    assert f"was written by {whose} seqd (schema {schema + step}, this version knows {schema}); start that version" in died.value.stderr
    database = sqlite3.connect(path)
    assert database.execute("PRAGMA user_version").fetchone() == (schema + step,)
    database.close()
