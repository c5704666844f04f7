"""What former versions left goes on: their state directories, and the bytes of their clients. tests/golden has a directory of each
released version, which the daemon of that version made (tests/golden/make.py); and a state of a version that is still to come."""

import json
import re
import shutil
import sqlite3
import struct
import subprocess
import tarfile
from pathlib import Path

import msgpack
import pytest

import harness
from accounting import Ledger
from books import explained, ids_of_gaps

GOLDEN = harness.PROJECT / "tests" / "golden"
OPERATING = harness.PROJECT / "daemon" / "doc" / "OPERATING.md"
STATEMENTS = r'sqlite3 /var/lib/seqd/sequences.db "\n(.*?)"'
VERSIONS = sorted(path.name for path in GOLDEN.iterdir() if (path / "golden.json").exists())
FIRST = "0.1.0"
# Keys of the first version that have another name now; in pieces, since the glossary gave the word up.
RENAMED = {"in_" "hand": "available"}
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


def test_EveryReleasedVersionIsThere():
    assert FIRST in VERSIONS and len(VERSIONS) >= 2


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
                before = {RENAMED.get(key, key): value for key, value in before.items()}
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


def log_version(state: Path) -> int:
    """The highest one in the headers of its log."""
    return max(struct.unpack_from("<I", path.read_bytes(), 8)[0] for path in state.glob("log.?"))


@pytest.mark.parametrize("version,extra", [(0, 0), (3, 0), (7, 0), (0xFFFFFFFF, 0), (1, 1), (2, 1)])
def test_AStateOfAnUnknownVersionIsRefusedWithWhatToDoAndKept(make_daemon, version, extra):
    """Never reset to empty: somebody has started an older seqd on the state of a newer one."""
    daemon = daemon_of(make_daemon, FIRST, "clean")
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
        assert f"is of version {version} and this seqd reads versions 1 to " in died.value.stderr
        assert "Install the seqd that wrote it, or a later one. Nothing was changed; do not delete the state directory" in died.value.stderr
    assert [path.read_bytes() for path in files] == before


def test_TheFirstStartGivesTheLogTheVersionOfItsWriter(make_daemon):
    """So an older seqd refuses it by its version, before it meets an entry that it does not know."""
    daemon = daemon_of(make_daemon, FIRST, "clean")
    assert log_version(daemon.state) == 1
    daemon.start().terminate()
    assert log_version(daemon.state) == 2


def contents(path: Path) -> list:
    """Schema and rows of a database, which must be whole."""
    database = sqlite3.connect(path)
    try:
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        return [database.execute("PRAGMA user_version").fetchone(), *database.iterdump()]
    finally:
        database.close()


@pytest.mark.parametrize("version", VERSIONS)
def test_AnEmbeddedStoreIsCopiedBeforeItsSchemaIsChanged(make_daemon, version, tmp_path):
    daemon = daemon_of(make_daemon, version, "clean")
    unpack(version, "clean", tmp_path)
    before = contents(tmp_path / "sequences.db")
    (schema,) = before[0]
    copy = daemon.state / f"sequences.db.schema-{schema}"
    with daemon.start().connect() as client:
        for name in golden(version)["clean"]["issued"]:
            client.next(name, timeout_ms=20_000)
    newest, = contents(daemon.state / "sequences.db")[0]
    told = f"was converted from schema {schema} to {newest}; as it was before, it is in {copy}"
    copies = list(daemon.state.glob("sequences.db.*"))
    if schema == newest:
        assert not copies and "was converted" not in daemon.stderr(-1)
        return
    assert copies == [copy] and contents(copy) == before
    assert copy.stat().st_mode & 0o777 == 0o600
    assert daemon.stderr(-1).count(told) == 1
    daemon.restart()
    assert daemon.stderr(-1).count("was converted") <= 1 and contents(copy) == before


def test_AfterGoingBackNoIdIsIssuedTwice(make_daemon):
    """With the statements of OPERATING.md on the copy. No released binary is at hand, so this version stands in for the older one."""
    statements = re.search(STATEMENTS, OPERATING.read_text(encoding="utf-8"), re.DOTALL)[1]
    told = golden(FIRST)["clean"]
    books = ledgers(told["issued"])
    daemon = daemon_of(make_daemon, FIRST, "clean")
    with daemon.start().connect() as client:
        for name, book in books.items():
            book.add([client.next(name, timeout_ms=20_000)])
            book.add(client.many(name, 3000))  # beyond what was leased at the copy
        books["later"] = Ledger("later")
        books["later"].add(client.many("later", 7))
    daemon.terminate()
    newer = daemon.state.rename(daemon.state.with_name("newer"))
    daemon.state.mkdir(mode=0o700)
    shutil.copy2(newer / "sequences.db.schema-2", daemon.state / "sequences.db")
    database = sqlite3.connect(daemon.state / "sequences.db")
    database.executescript(statements.replace("/var/lib/seqd.newer", str(newer)))
    database.close()
    with daemon.start().connect() as client:
        assert client.call("status")["state_how"] == "fresh"
        for name, book in books.items():
            book.add(client.many(name, 100))
            if name != "daily":
                book.assert_no_duplicate()


def added_statements(operating: str, schema: int) -> str:
    """Those that OPERATING.md asks for beside the others, of a copy of that schema."""
    found = re.findall(r"^- from schema (\d+) on `(.*?)`", operating, re.MULTILINE)
    assert [int(least) for least, _ in found] == [3, 8]
    return "".join(statement for least, statement in found if schema >= int(least))


def test_AfterGoingBackToACopyOfTheSameBootNothingIsStoppedOrIssuedTwice(make_daemon, scratch):
    """From schema 8 on the host knows how often the newer file was changed. A person has given a number another meaning since."""
    operating = OPERATING.read_text(encoding="utf-8")
    statements = re.search(STATEMENTS, operating, re.DOTALL)[1]
    daemon = make_daemon()
    books = {name: Ledger(name) for name in ("orders", "turned")}
    for _ in range(2):
        with daemon.start().connect() as client:
            for name, book in books.items():
                book.add(client.many(name, 3000))
        daemon.terminate()
        path = daemon.state / "sequences.db"
        copy = scratch / "copy"
        if copy.exists():
            continue
        database = sqlite3.connect(path)
        with database:
            database.execute("UPDATE sequence SET seq = seq + 1, meaning = 'next' WHERE name = 'turned'")
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        schema, = database.execute("PRAGMA user_version").fetchone()
        database.close()
        shutil.copy2(path, copy)
        database = sqlite3.connect(path)
        with database:
            database.execute("UPDATE sequence SET seq = seq - 1, meaning = 'last' WHERE name = 'turned'")
        database.close()
    newer = daemon.state.rename(daemon.state.with_name("newer"))
    daemon.state.mkdir(mode=0o700)
    shutil.copy2(copy, daemon.state / "sequences.db")
    database = sqlite3.connect(daemon.state / "sequences.db")
    database.executescript((statements + added_statements(operating, schema)).replace("/var/lib/seqd.newer", str(newer)))
    rows = [sorted(database.execute(f"SELECT name, seq, meaning FROM {which}.sequence")) for which in ("main", "newer")]
    assert rows[0] == rows[1] and ("turned", "last") in [(name, meaning) for name, _, meaning in rows[0]]
    database.close()
    with daemon.start().connect() as client:
        assert client.call("status")["state_how"] == "fresh"
        for name, book in books.items():
            book.add(client.many(name, 100))
            book.assert_no_duplicate()


def test_GoingBackEndsAtTheFirstCommandThatFails(tmp_path):
    """Without the copy: what would be left is an empty directory, in which the older daemon issues every ID again."""
    operating = OPERATING.read_text(encoding="utf-8")
    commands = re.search(r'(?:^    .*\n)*    sqlite3 /var/lib/seqd/sequences.db "\n(?:^    .*\n)*', operating, re.MULTILINE)[0]
    state = tmp_path / "seqd"
    state.mkdir()
    (state / "sequences.db").write_text("that of the newer version")
    here = "systemctl() { :; }; install() { mkdir " + str(state) + "; }\n" + commands.replace("/var/lib/seqd", str(state))
    done = subprocess.run(["/bin/bash", "-c", here], capture_output=True, text=True, check=False, timeout=60)
    assert "systemctl stop" in commands and done.returncode != 0, done
    assert [path.name for path in tmp_path.iterdir()] == ["seqd"] and [path.name for path in state.iterdir()] == ["sequences.db"]


def test_AnEmbeddedStoreThatCannotBeCopiedIsLeftAsItIs(make_daemon, tmp_path):
    daemon = daemon_of(make_daemon, FIRST, "clean")
    unpack(FIRST, "clean", tmp_path)
    copy = daemon.state / "sequences.db.schema-2"
    (copy / "in the way").mkdir(parents=True)
    with pytest.raises(harness.Died) as died:
        daemon.start()
    assert died.value.code == EXIT_STORE and f"the copy {copy} of it cannot be made first" in died.value.stderr
    assert contents(daemon.state / "sequences.db") == contents(tmp_path / "sequences.db")
    (copy / "in the way").rmdir()
    copy.rmdir()
    daemon.start()
    assert contents(copy) == contents(tmp_path / "sequences.db")


def test_AnEmbeddedStoreOfANewerVersionIsRefusedWithWhatToDoAndKept(make_daemon):
    daemon = daemon_of(make_daemon, VERSIONS[-1], "clean")
    path = daemon.state / "sequences.db"
    database = sqlite3.connect(path)
    schema, = database.execute("PRAGMA user_version").fetchone()
    database.execute(f"PRAGMA user_version = {schema + 1}")
    database.commit()
    database.close()
    with pytest.raises(harness.Died) as died:
        daemon.start()
    assert died.value.code == EXIT_STORE
    assert f"was written by a newer seqd (schema {schema + 1}, this version knows {schema}); start that version" in died.value.stderr
    database = sqlite3.connect(path)
    assert database.execute("PRAGMA user_version").fetchone() == (schema + 1,)
    database.close()
