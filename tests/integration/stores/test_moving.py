"""A store is exchanged for another one: the pages "Moving a store" (OPERATING) and "From the quick start to MongoDB" (STORES),
run by the commands that they print. The sequence keeps its number, whatever is killed on the way."""

import contextlib
import random
import re
import shlex
import threading
from pathlib import Path

import pytest

from databases import KEY, NUMBER, TABLE
from harness import PROJECT, table
from rpc import RpcError
from servers.dynamodb_local import dynamodb
from servers.mongod import expect_soon

DEFAULTS = {"lease_min": 50, "lease_max": 50, "max_available": 100, "wait_timeout": "30s"}
DOCUMENTS = PROJECT / "daemon" / "doc"


@pytest.fixture(scope="module", name="dynamo")
def fixture_dynamo():
    with dynamodb() as server:
        yield server


def section(document: Path, title: str) -> str:
    """What stands under a heading, up to the next one of any level."""
    text = document.read_text()
    begin = re.search(rf"^#+ {re.escape(title)}\n", text, re.M)
    assert begin, f"{document} has no section {title}"
    rest = text[begin.end():]
    end = re.search(r"^#+ ", re.sub(r"```.*?```", lambda block: "x" * len(block[0]), rest, flags=re.S), re.M)
    return rest[:end.start()] if end else rest


def commands(text: str) -> list:
    """The commands of the indented blocks, in their order."""
    lines = [shlex.split(line, comments=True) for line in re.findall(r"^ {4,}(\S.*)$", text, re.M)]
    return [line for line in lines if line and line[0] in ("seqctl", "systemctl")]


def run(daemon, command: list, change) -> None:
    """One command of a page. A restart finds the changed configuration."""
    if command[0] == "seqctl":
        daemon.seqctl(*command[1:], seconds=60)
        return
    assert command == ["systemctl", "restart", "seqd.service"], command
    daemon.terminate()
    change()
    daemon.start()


class Places:
    """The former configuration and the new one, as options of make_daemon. The store of the new one is `name`."""

    def __init__(self, former, latter, name, environment=None):
        self.former, self.latter, self.name, self.environment = former, latter, name, environment or {}


def of(stores, sequence=None, **daemon):
    return {"stores": stores, "defaults": DEFAULTS, "sequences": {"orders": sequence or {}}, "daemon": daemon}


KINDS = ["sqlite-path", "sqlite-to-mongodb", "mongodb-database", "mongodb-name", "mongodb-collection", "sqlite-to-dynamodb",
         "dynamodb-table"]


@pytest.fixture(name="places", params=KINDS)
def fixture_places(request, scratch):
    kind, number = request.param, random.randrange(1 << 40)
    files = [{"type": "sqlite", "path": scratch / f"{name}.db"} for name in "ab"]
    if "mongodb" in kind:
        uri = request.getfixturevalue("mongo").uri()
        bases = [{"type": "mongodb", "uri": uri, "database": f"moving{number}{name}"} for name in "ab"]
    if kind == "sqlite-path":
        yield Places(of({"central": files[0]}), of({"central": files[1]}), "central")
    elif kind == "sqlite-to-mongodb":
        yield Places(of({"default": files[0]}), of({"central": bases[0]}, {"meaning": "last"}), "central")
    elif kind == "mongodb-database":
        yield Places(of({"central": bases[0]}), of({"central": bases[1]}), "central")
    elif kind == "mongodb-name":
        yield Places(of({"default": bases[0]}), of({"central": bases[1]}), "central")
    elif kind == "mongodb-collection":
        yield Places(of({"central": bases[0]}), of({"central": bases[0]}, {"collection": "numbers"}), "central")
    else:
        key = f"moving{number}"
        with contextlib.closing(request.getfixturevalue("dynamo").caller(key)) as caller:
            for name in (TABLE, "Other"):
                caller.create_table(name, KEY)
            store = {"type": "dynamodb", "region": "us-east-1", "endpoint": request.getfixturevalue("dynamo").endpoint(),
                     "instances_table": TABLE, "instances_key": KEY}
            counter = {"collection": TABLE, "key_field": KEY, "counter_field": NUMBER}
            environment = {"AWS_ACCESS_KEY_ID": key, "AWS_SECRET_ACCESS_KEY": "any"}
            former = of({"default": files[0]}) if kind == "sqlite-to-dynamodb" else of({"default": store}, counter)
            yield Places(former, of({"central": store}, {**counter, "collection": "Other"}), "central", environment)


def make(make_daemon, places, name="seqd"):
    return make_daemon(name, environment=places.environment, **places.former)


def take(daemon, count=10):
    with daemon.connect(60) as client:
        return [client.call("next", "orders", {"timeout_ms": 30_000}) for _ in range(count)]


def refusal(daemon) -> RpcError:
    with daemon.connect(60) as client, pytest.raises(RpcError) as refused:
        client.call("next", "orders", {"timeout_ms": 30_000})
    return refused.value


def command_of(error) -> list:
    """The command that an error names, in `back quotes` or (in brackets)."""
    found = re.search(r"`(seqctl [^`]*)`", str(error))
    assert found, error
    return shlex.split(found[1])


def page(places) -> list:
    printed = commands(section(DOCUMENTS / "OPERATING.md", "Moving a store"))
    assert [line[1] for line in printed] == ["drain", "restart", "advance", "health"], printed
    return [[places.name if word == "central" else word for word in line] for line in printed]


@pytest.mark.limit(120)
def test_StoreIsMovedByTheCommandsOfThePage(make_daemon, places):
    daemon = make(make_daemon, places).start()
    assert take(daemon) == list(range(1, 11))
    for command in page(places):
        run(daemon, command, lambda: daemon.configure(**places.latter))
    # 11 to 50 were drained.
    assert take(daemon) == list(range(51, 61))
    daemon.kill()
    daemon.start()
    assert take(daemon) == list(range(61, 71))
    daemon.seqctl("audit", "orders")


@pytest.mark.limit(120)
@pytest.mark.parametrize("end", ["kill", "terminate"])
def test_WhoRestartsFirstIsToldEachCommand(make_daemon, places, end):
    daemon = make(make_daemon, places).start()
    assert take(daemon) == list(range(1, 11))
    getattr(daemon, end)()
    daemon.configure(**places.latter)
    daemon.start()
    assert refusal(daemon).code == "SEQ_CHANGED"
    daemon.seqctl("drain", "orders", "--yes")
    daemon.restart()
    refused = refusal(daemon)
    assert refused.code == "SEQ_REGRESSED"
    assert daemon.seqctl(*command_of(refused)[1:]).stdout == "51\n"
    assert take(daemon) == list(range(51, 61))


@pytest.mark.limit(120)
def test_MoveThatIsKilledOrUndoneIssuesNothingTwice(make_daemon, places):
    """Killed behind each of its commands; the former configuration again; and at last all of it."""
    daemon = make(make_daemon, places).start()
    issued = take(daemon)
    for killed_behind in range(3):
        configured = places.former
        for command in page(places)[:killed_behind + 1]:
            run(daemon, command, lambda: daemon.configure(**places.latter))
            if command[0] == "systemctl":
                configured = places.latter
        daemon.kill()
        if configured is places.latter:
            daemon.start()
            daemon.kill()
        daemon.configure(**places.former)
        daemon.start()
        with contextlib.suppress(RpcError):
            issued += take(daemon)
    for command in page(places):
        run(daemon, command, lambda: daemon.configure(**places.latter))
    issued += take(daemon)
    assert len(set(issued)) == len(issued), sorted(issued)


@pytest.mark.limit(120)
def test_TwoHostsThatMoveAtOneTimeIssueNothingTwice(make_daemon, scratch, mongo):
    former = of({"default": {"type": "sqlite", "path": scratch / "shared.db"}})
    latter = of({"central": {"type": "mongodb", "uri": mongo.uri(), "database": f"moving{random.randrange(1 << 40)}"}})
    hosts = [make_daemon(f"host{number}", **former).start() for number in range(2)]
    issued = [number for host in hosts for number in take(host)]
    for host in hosts:
        host.seqctl("drain", "--all", "--yes")
    told = hosts[0].seqctl("audit", "orders", "-o", "json").stdout
    behind = int(re.search(r'"next"\s*:\s*(\d+)', told)[1])
    assert behind == 101, told
    for host in hosts:
        host.terminate()
        host.configure(**latter)
        host.start()
    takers = []

    def move(host):
        host.seqctl("advance", "orders", "--to", str(behind), "--yes", seconds=60)
        takers.append(take(host, 60))

    threads = [threading.Thread(target=move, args=(host,)) for host in hosts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(takers) == 2
    issued += [number for taken in takers for number in taken]
    assert len(set(issued)) == len(issued) and min(takers[0] + takers[1]) == behind


@pytest.mark.limit(90)
@pytest.mark.parametrize("restarted_first", [False, True])
def test_QuickStartBecomesMongoByThePage(make_daemon, scratch, mongo, restarted_first):
    """The tables and the commands as they are printed; only the server of the URI is that of the test."""
    document = DOCUMENTS / "STORES.md"
    tables = re.search(r"```toml\n(.*?)```", section(document, "MongoDB"), re.S)[1]
    printed = commands(section(document, "From the quick start to MongoDB"))
    assert [line[1] for line in printed] == ["drain", "restart", "advance"], printed
    (scratch / "mongodb-uri").write_text(mongo.uri() + "\n")
    (scratch / "mongodb-uri").chmod(0o600)
    mongo.client().drop_database("seqd")
    daemon = make_daemon(environment={"CREDENTIALS_DIRECTORY": str(scratch)}).start()
    own = table("daemon", {"socket": daemon.socket, "state_dir": daemon.state, "witness_dir": daemon.witness})
    issued = take(daemon, 1)
    assert issued == [1]

    def change():
        daemon.config_file.write_text(own + tables)

    if restarted_first:
        run(daemon, printed[1], change)
        refused = refusal(daemon)
        assert refused.code == "SEQ_CHANGED" and "seqctl drain" in str(refused)
        with daemon.connect() as client:
            behind = 2 + client.call("peek", "orders")["available"]
    else:
        with daemon.connect() as client:
            behind = 2 + client.call("peek", "orders")["available"]
    for command in printed:
        run(daemon, command, change)
    assert take(daemon, 1) == [behind]
    assert mongo.client()["seqd"]["counters"].find_one({"_id": "orders"})["seqd"]["meaning"] == "last"
    daemon.seqctl("health", "--ready")


@pytest.mark.limit(60)
def test_DrainRightAfterARestartWaitsForTheClaim(make_daemon, mongo):
    store = {"type": "mongodb", "uri": mongo.uri(), "database": f"moving{random.randrange(1 << 40)}"}
    daemon = make_daemon(**of({"central": store})).start()
    take(daemon, 1)
    for _ in range(5):
        daemon.restart()
        daemon.seqctl("drain", "orders", "--yes")
        take(daemon, 1)
    expect_soon("the last lease", lambda: len(take(daemon, 1)) == 1)
