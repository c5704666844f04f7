"""Programs that issue IDs from documents of their own go on doing so while daemons take over: nothing twice, and every ID
accounted for. The configurations are those of daemon/doc/MIGRATION.md, word for word."""

import contextlib
import os
import re
import subprocess
import tomllib
from pathlib import Path
from typing import Dict, List, NamedTuple, Set

import pytest
from bson import Int64

import harness
from accounting import Ledger, journalled_gaps, untraceable
from clients import Process, RepeatingClients, drain
from inserting import check_documents, insert
from old_code import Life, OldCode
from servers.mongod import wait_for
from servers.patience import PROGRAM_SECONDS

GUIDE = harness.PROJECT / "daemon" / "doc" / "MIGRATION.md"
IDS = 200_000  # of each row and lease mode
LEAST_WORK = 4000  # bytes in the log of a process of old code: a hundred IDs at least
LEASES = {"lease_min": 100, "lease_max": 2000, "max_available": 8000}


class Row(NamedTuple):
    program: List[str]  # how the old code is called
    sequence: str  # its name in the guide
    step: int  # what it adds at once
    fields: Set[str]  # of a document that it made
    numbers: tuple = (Int64,)  # what the number may be in the end


ROWS = {
    "B-mongoose": Row(["counters", "--upsert", "--mongoose"], "userid", 1, {"_id", "seq", "__v"}),
    "B-shell": Row(["counters", "--shell"], "userid", 1, {"_id", "seq"}, (Int64, float)),
    "D": Row(["cached-block"], "events", 25, {"_id", "sequence"}),
    "E": Row(["cached-range"], "tickets", 10, {"_id", "index"}),
}


def configurations() -> List[str]:
    return re.findall(r"^```toml\n(.*?)^```", GUIDE.read_text(), re.M | re.S)


def guide() -> Dict[str, dict]:
    """The sequences as the guide configures them."""
    return {name: options for block in configurations() for name, options in tomllib.loads(block).get("sequence", {}).items()}


def stores(server, mode: str) -> dict:
    return {"mongo": {"type": "mongodb", "uri": server.uri(), "database": "seqd", "lease_mode": mode}}


class Takeover:
    """One counter that old code and daemons move at once."""

    def __init__(self, server, daemons, row: Row, binding: dict, name: str, scratch: Path):
        self.server, self.daemons, self.row, self.binding, self.name = server, daemons, row, binding, name
        self.scratch = scratch
        self.first = binding.get("first_id", 1)
        arguments = row.program + (["--into", f"users-of-{name}"] if row.program[0] == "counters" else [])
        self.programs = [OldCode(server.uri(), scratch, f"{name}-{i}", arguments, name) for i in range(2)]
        self.ledger = Ledger(name)

    def document(self) -> dict:
        return self.server.client().seqd[self.binding.get("collection", "counters")].find_one({"_id": self.name})

    def next_id(self) -> int:
        """By the document."""
        return int(self.document()[self.binding.get("counter_field", "seq")]) + (self.binding["meaning"] == "last")

    def run(self, first: str, ids: int) -> None:
        """Until so many IDs were taken. In the middle of it an old program and a daemon are killed."""
        if first == "old code":
            self.programs[0].start("--ids", "5").finish()
        else:
            with self.daemons[0].connect() as client:
                assert client.next(self.name) == self.first
                self.ledger.add([self.first])
        assert self.document()
        clients = [RepeatingClients(daemon, self.scratch / f"clients-{self.name}" / daemon.name, name=self.name, clients=2)
                   for daemon in self.daemons]
        with contextlib.ExitStack() as at_the_end:
            for program in self.programs:
                at_the_end.callback(program.start().close)
            self.kill_in_the_middle()
            wait_for("work of the daemons", lambda: all(some.received() > ids // 10 for some in clients))
            wait_for("work of the old code", lambda: all(program.progress() > LEAST_WORK for program in self.programs))
            wait_for("enough IDs", lambda: self.next_id() - self.first >= ids)
            for program in self.programs:
                said = program.stop()
                last = Life(program.lives[-1])
                assert (said["issued"], said["lost"]) == (len(last.ids), last.lost)
        for some in clients:
            self.ledger.add(some.stop())

    def kill_in_the_middle(self) -> None:
        program, daemon = self.programs[0], self.daemons[1]
        wait_for("work of the old code", lambda: program.progress() > LEAST_WORK // 2)
        program.kill()
        program.start()
        daemon.kill()
        daemon.start()

    def settle(self) -> None:
        """After an orderly stop and a start of the daemons: each ID below the counter has one owner. And old code can go on alone."""
        end = self.next_id()
        from_daemons = self.ledger.count
        open_asks = old = lost = 0
        for program in self.programs:
            for life in program.read():
                for begin, after in life.blocks:
                    self.ledger.add_range(begin, after)
                old, lost, open_asks = old + len(life.ids), lost + life.lost, open_asks + life.open_asks
        available = [number for daemon in self.daemons for number in drain(daemon, self.name)]
        self.ledger.add(available)
        self.ledger.assert_no_duplicate()
        gaps = {number for daemon in self.daemons for part in journalled_gaps(daemon.stderr_file, self.name) for number in part}
        assert not any(self.ledger.seen[number] for number in gaps if number < len(self.ledger.seen))
        missing = set(self.ledger.missing(self.first, end)) - gaps
        # What nobody knows of: a block whose answer a killed program did not live to read, and a lease that nothing traces.
        untraced = sum(untraceable(daemon.stderr_file, self.name) for daemon in self.daemons)
        assert len(missing) <= open_asks * self.row.step + untraced, sorted(missing)[:10]
        assert untraced > 0 or len(missing) % self.row.step == 0
        held = sum(number < end for number in available)
        assert from_daemons + old + lost + held + len(gaps) + len(missing) == end - self.first
        print(f"{self.name}: {from_daemons} from daemons, {old} from old code, which lost {lost}; {held} available, {len(gaps)} gaps, "
              f"{len(missing)} unread")
        after = self.next_id()
        self.programs[0].start("--ids", "50").finish()
        back = Life(self.programs[0].lives[-1]).ids
        assert len(back) >= 50 and min(back) >= after


@pytest.mark.limit(60)
@pytest.mark.parametrize("kind,mode", [("alone", "slot"), ("alone", "plain"), ("set", "session")])
@pytest.mark.parametrize("row", ROWS)
def test_OldCodeGoesOnBesideTwoDaemons(mongo, mongo_set, make_daemon, scratch, row, kind, mode):
    server = mongo if kind == "alone" else mongo_set
    server.client().drop_database("seqd")
    row = ROWS[row]
    binding = guide()[row.sequence]
    names = {f"{row.sequence}-theirs": "old code", f"{row.sequence}-ours": "seqd"}  # who makes the document
    daemons = [make_daemon(f"seqd-{i}", stores=stores(server, mode), defaults=LEASES,
                           sequences={name: binding for name in names}).start() for i in range(2)]
    takeovers = {}
    for name, first in names.items():
        takeovers[name] = Takeover(server, daemons, row, binding, name, scratch)
        takeovers[name].run(first, IDS // 2)
    for daemon in daemons:
        daemon.terminate()
    for name, first in names.items():
        document = takeovers[name].document()
        ours = {"seqd"} if mode == "slot" or first == "seqd" else set()
        theirs = row.fields - ({"__v"} if first == "seqd" else set())
        assert set(document) == theirs | ours
        assert set(document.get("seqd", {})) == ({"slots"} if mode == "slot" else set()) | ({"meaning", "field"} if first == "seqd" else set())
        assert isinstance(document[binding.get("counter_field", "seq")], row.numbers), document
    for daemon in daemons:
        daemon.start()
    for takeover in takeovers.values():
        takeover.settle()


@pytest.mark.limit(240)
@pytest.mark.parametrize("kind,ids", [("alone", IDS), ("set", IDS // 4)])
def test_OldCodeGoesOnInsertingBesideTwoDaemonsWithoutAGap(mongo, mongo_set, make_daemon, scratch, kind, ids):
    server = mongo if kind == "alone" else mongo_set
    server.client().drop_database("seqd")
    options = guide()["people"]
    collection = server.client().seqd[options["collection"]]
    daemons = [make_daemon(f"seqd-{i}", stores=stores(server, "auto"), sequences={"people": options}).start() for i in range(2)]
    programs = [OldCode(server.uri(), scratch, f"people-{i}", ["optimistic-insert", "--pace", "4"], options["collection"]) for i in range(2)]
    share = ids // 2  # each daemon's; what the old code makes comes on top
    with contextlib.ExitStack() as at_the_end:
        for program in programs:
            at_the_end.callback(program.start().close)
        clients = {daemon.name: Process(insert, str(daemon.socket), "people", daemon.name, share) for daemon in daemons}
        for part in range(1, 4):
            wait_for("documents", lambda part=part: collection.estimated_document_count() > part * ids // 5, 600)
            wait_for("work of the old code", lambda part=part: programs[part % 2].progress() > LEAST_WORK // 4)
            victim = daemons[part % 2]
            victim.kill()
            victim.start()
            programs[part % 2].kill()
            programs[part % 2].start()
        told = {name: client.result() for name, client in clients.items()}
        for program in programs:  # each of the last lives, beside the other and after the daemons
            wait_for("work of the old code", lambda program=program: program.progress() > LEAST_WORK)
            program.stop()
    check_documents(list(collection.find({}, {"by": 1, "n": 1})), told, programs)


def test_SeqctlInsertsADocumentAndPrintsItsId(mongo, make_daemon):
    mongo.client().drop_database("seqd")
    daemon = make_daemon(stores=stores(mongo, "auto"), sequences={"people": guide()["people"]}).start()

    def seqctl(*words: str, given: bytes = b"") -> tuple:
        done = subprocess.run([str(harness.SEQCTL), "--socket", str(daemon.socket), *words], input=given, capture_output=True, timeout=PROGRAM_SECONDS,
                              check=False)
        return done.returncode, (done.stdout + done.stderr).decode()

    assert seqctl("insert", "people", '{"name": "Ada", "age": 36, "weight": 0.5}') == (0, "1\n")
    assert seqctl("insert", "people", given=b'{"z": [1, null], "a": {"b": true}}') == (0, "2\n")
    assert seqctl("-o", "json", "insert", "people", "--msgpack", given=b"\x81\xa1a\xc4\x01\xff") == (0, '{"id":3,"name":"people"}\n')
    documents = list(mongo.client().seqd.people.find().sort("_id"))
    assert documents == [{"_id": 1, "name": "Ada", "age": 36, "weight": 0.5}, {"_id": 2, "z": [1, None], "a": {"b": True}}, {"_id": 3, "a": b"\xff"}]
    assert list(documents[1]) == ["_id", "z", "a"]
    for words, code, said in ((["insert", "people", '{"_id": 5}'], 1, "DOCUMENT_REFUSED"), (["insert", "people", '{"a": 1, "a": 2}'], 2, "twice"),
                              (["insert", "people", "[1]"], 2, "not a JSON object"), (["next", "people"], 1, "WRONG_MODE"),
                              (["audit", "people"], 1, "WRONG_MODE"), (["insert", "nobody", "{}"], 1, "WRONG_MODE")):
        ended, text = seqctl(*words)
        assert ended == code and said in text, text
    assert seqctl("peek", "people")[0] == 0 and "people" in seqctl("list")[1]
    assert mongo.client().seqd.people.count_documents({}) == 3


def test_TheConfigurationsOfTheGuideAreGood(scratch):
    (scratch / "mongodb-uri").write_text("mongodb://127.0.0.1/")
    (scratch / "aws-credentials").write_text("[default]\naws_access_key_id = AKIDEXAMPLE\naws_secret_access_key = secret\n")
    assert len(configurations()) == 6
    for text in configurations():
        file = scratch / "seqd.toml"
        file.write_text(text)
        done = subprocess.run([str(harness.SEQD), "--config", str(file), "--check"], env={**os.environ, "CREDENTIALS_DIRECTORY": str(scratch)},
                              capture_output=True, text=True, timeout=PROGRAM_SECONDS, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


def test_TheReadmeConfiguresACounterAsTheGuideDoes():
    (text,) = re.findall(r"^```toml\n(.*?)^```", (harness.PROJECT / "README.md").read_text(), re.M | re.S)
    tables = tomllib.loads(text)
    assert list(tables["sequence"]) == ["userid"]
    assert tables in [tomllib.loads(configuration) for configuration in configurations()]


def duplicate_key(name: str) -> dict:
    return {"failCommands": ["findAndModify"], "errorCode": 11000, "appName": "old-code",
            "errorExtraInfo": {"keyPattern": {"_id": 1}, "keyValue": {"_id": name}}}


@pytest.mark.parametrize("row,error", [("B-mongoose", 11000), ("D", 11000), ("E", 202)])
def test_OldCodeWhoseFetchFailsComesAgainAndNothingIsLost(mongo, make_daemon, scratch, row, error):
    """The imitation does what the old code does: an upsert that lost the race is repeated, a failed fetch fails those who wait."""
    mongo.client().drop_database("seqd")
    row = ROWS[row]
    binding = guide()[row.sequence]
    daemon = make_daemon(stores=stores(mongo, "slot"), sequences={row.sequence: binding}).start()
    program = OldCode(mongo.uri(), scratch, row.sequence, row.program, row.sequence)
    with mongo.fail_point("failCommand", {**duplicate_key(row.sequence), "errorCode": error}, {"times": 3}):
        said = program.start("--ids", "40").finish()
    first = binding.get("first_id", 1)
    assert said["failed"] == 3 and said["issued"] >= 40
    life = Life(program.lives[0])
    assert sorted(life.ids) == list(range(first, first + len(life.ids)))
    with daemon.connect() as client:
        assert client.next(row.sequence) == life.blocks[-1][1]


@pytest.mark.parametrize("kind", ["alone", "set"])
def test_ACollectionThatAllowsNoOtherFieldsKeepsItsOwn(mongo, mongo_set, make_daemon, scratch, kind):
    server = mongo if kind == "alone" else mongo_set
    server.client().drop_database("seqd")
    fields = {"_id": {}, "seq": {"bsonType": ["int", "long"]}, "__v": {}}
    server.client().seqd.create_collection("counters", validator={"$jsonSchema": {"properties": fields, "additionalProperties": False}})
    program = OldCode(server.uri(), scratch, "strict", ROWS["B-mongoose"].program, "userid")
    program.start("--ids", "5").finish()
    own = {"type": "mongodb", "uri": server.uri(), "database": "seqd"}
    daemon = make_daemon(stores={"mongo": own}, sequences={name: guide()["userid"] for name in ("userid", "orderid")}).start()
    with daemon.connect(20) as client:
        first = client.next("userid", timeout_ms=10_000)
        assert first > max(Life(program.lives[0]).ids)
        refused = client.error("next", "orderid")
        assert refused.code == "STORE_REFUSED" and "insert the counter yourself, with seq: 0" in refused.text
    documents = list(server.client().seqd.counters.find())
    assert [set(document) for document in documents] == [{"_id", "seq", "__v"}]
    program.start("--ids", "5").finish()
    assert min(Life(program.lives[1]).ids) > first
