"""Where did this number go: explain, gaps and audit of real daemons, over kill -9, SIGTERM, copies, power loss and faults of
the history's own file."""

import json
import os
import pwd
import random
import shutil
import time
import uuid

import pytest
from bson import Int64

import harness
from clients import RepeatingClients
from disks import BOOT_ID
from servers.mongod import expect_soon
from test_purge import Clock

KILLS = int(os.environ.get("HISTORY_KILLS", "200"))
SMALL = {"lease_min": 100, "lease_max": 100, "max_available": 1000}


def explain(daemon, number, name="orders"):
    return json.loads(daemon.seqctl("-o", "json", "explain", name, str(number)).stdout)


def gaps(daemon, name="orders"):
    return json.loads(daemon.seqctl("-o", "json", "gaps", name, "-n", "1000").stdout)


def audit(daemon, name="orders", expect=0):
    answer = json.loads(daemon.seqctl("-o", "json", "audit", name, expect=expect).stdout)
    assert answer["good"] == (expect == 0), answer
    return answer


def take(daemon, count, name="orders"):
    """`count` IDs, one request each."""
    with daemon.connect() as client:
        return client.many(name, count)


def new_boot(daemon) -> list:
    """The prefix that gives a daemon the boot id of a machine that was started again."""
    boot = daemon.directory / "boot_id"
    boot.write_text(f"{uuid.uuid4()}\n")
    # In a container something else may lie over the boot id already, of which the file is gone.
    script = f"umount {BOOT_ID} 2>/dev/null; mount --bind '{boot}' {BOOT_ID} && exec \"$@\""
    return ["unshare", "--mount", "sh", "-c", script, "sh"]


def test_AnIssueIsExplainedWithTimeUserProcessAndLease(make_daemon):
    daemon = make_daemon(defaults=SMALL).start()
    before = time.time() * 1000
    with daemon.connect() as client:
        client.call("hello", {"name": "shop"})
        assert client.many("orders", 10) == list(range(1, 11))
        answer = client.call("explain", "orders", 7)
    assert answer["answer"] == "issued"
    assert answer["issued"]["callers"] == [{"uid": os.getuid(), "pid": os.getpid(), "name": "shop"}]
    assert answer["issued"]["first"] <= 7 < answer["issued"]["first"] + answer["issued"]["count"]
    assert before - 1 <= answer["issued"]["from_ms"] <= answer["issued"]["to_ms"] <= time.time() * 1000 + 1
    assert answer["lease"]["first"] == 1 and answer["lease"]["count"] == 100
    assert answer["lease"]["host"] == os.uname().nodename
    text = daemon.seqctl("explain", "orders", "7").stdout
    assert f"user {pwd.getpwuid(os.getuid()).pw_name}, pid {os.getpid()} (shop)" in text and answer["lease"]["lease"] in text


def test_WhatIsAvailableAndWhatIsNotLeasedYet(make_daemon):
    daemon = make_daemon(defaults=SMALL).start()
    take(daemon, 5)
    assert explain(daemon, 6)["answer"] == "available"
    answer = explain(daemon, 10_000)
    assert answer["answer"] == "not_issued" and "next ID of the store" in answer["text"]
    assert "NO_SEQUENCE" in daemon.seqctl("explain", "nobody", "1", expect=1).stderr
    assert gaps(daemon)["gaps"] == []
    assert daemon.seqctl("gaps", "orders").stdout == "no gaps\n"
    assert audit(daemon)["issued"] == 5


def test_ConnectionsThatTakeTurnsAreToldApart(daemon):
    with daemon.connect() as first, daemon.connect() as second:
        first.call("hello", {"name": "first"})
        second.call("hello", {"name": "second"})
        ids = [(client, client.next()) for _ in range(50) for client in (first, second)]
        for client, number in ids[:10]:
            callers = first.call("explain", "orders", number)["issued"]["callers"]
            assert [caller["name"] for caller in callers] == ["first" if client is first else "second"]


def test_AfterSigtermEverythingIsStillKnown(daemon):
    ids = take(daemon, 500)
    assert explain(daemon, ids[-1])["answer"] == "issued"  # the batch is written
    daemon.restart()
    assert all(explain(daemon, number)["issued"]["callers"][0]["pid"] == os.getpid() for number in ids[::50])
    answer = audit(daemon)
    assert answer["issued"] == 500 and answer["history"]["adjusted"]["issued"] == 0


def test_AfterAKillTheLogTellsWhatTheHistoryHadNotHeard(daemon):
    ids = take(daemon, 500)
    daemon.kill()
    daemon.start()
    ids += take(daemon, 1)
    assert ids == list(range(1, 502))
    assert {explain(daemon, number)["answer"] for number in ids[::25]} == {"issued"}
    answer = audit(daemon)
    assert answer["history"]["recorded"]["issued"] == 501 and answer["history"]["adjusted"]["issued"] == 0
    # The last of them were in no batch: told as issued, without a caller.
    last = explain(daemon, 500)
    assert last["issued"]["callers"] == [] and last["issued"]["unnamed"] == "lost" and "killed" in last["text"]


@pytest.mark.limit(240)
def test_AfterManyKillsUnderLoadNothingIsUnaccountedFor(make_daemon, scratch):
    daemon = make_daemon(daemon={"state_log_size": "256KiB"}, defaults={"lease_min": 100, "lease_max": 5000, "max_available": 20_000,
                                                                      "wait_timeout": "30s"}).start()
    seed = int(os.environ.get("SEED", str(random.SystemRandom().randrange(2**32))))
    print(f"SEED={seed}")
    moments = random.Random(seed)
    load, rounds, received = None, 0, 0
    for kill in range(KILLS):
        if load is None or not load.running():
            received += len(load.finish()) if load else 0
            rounds += 1
            load = RepeatingClients(daemon, scratch / f"round-{rounds}" / "ids", clients=4, seconds=5)
        with os.fdopen(os.pidfd_open(daemon.process.pid)) as process:  # the load runs meanwhile
            assert not harness.readable(moments.uniform(0.002, 0.03), process), daemon.stderr()
        daemon.kill()
        daemon.start()
        if kill % 20 == 19:
            audit(daemon)
    received += len(load.finish())
    answer = audit(daemon)
    print(f"{KILLS} kills, {answer['issued']} issued, {received} received, unaccounted {answer['unaccounted']}, "
          f"in the log only {answer['history']['adjusted']}")
    assert answer["unaccounted"] == 0 and answer["gaps"] == 0
    assert answer["issued"] >= received
    assert answer["history"]["issued_twice"] == 0
    assert answer["history"]["recorded"]["issued"] + answer["history"]["adjusted"]["issued"] == answer["issued"]


def test_ACopyGivesUpItsRangesAndSaysSo(make_daemon, scratch):
    original = make_daemon("original", defaults=SMALL).start()
    take(original, 10)
    assert explain(original, 5)["answer"] == "issued"  # so the history has all ten
    original.kill()
    shutil.copytree(original.state, scratch / "copied")
    copy = make_daemon("copy", defaults=SMALL, state=scratch / "copied",
                       stores={"default": {"type": "sqlite", "path": str(original.state / "sequences.db")}}).start()
    found = gaps(copy)["gaps"]
    # The turns since the last flush are in no copy: to the log of the copy, some of the ten may not have been issued.
    assert len(found) == 1 and found[0]["cause"] == "no_witness"
    first = found[0]["first"]
    assert 1 <= first <= 11 and first + found[0]["count"] == 101
    assert found[0]["host"] == os.uname().nodename and len(found[0]["lease"]) == 32 and len(found[0]["instance"]) == 32
    answer = explain(copy, 50)
    assert answer["answer"] == "gap" and answer["gap"]["cause"] == "no_witness"
    assert explain(copy, 5)["answer"] == "issued"
    assert f"gap_no_witness: [{first}, 101)" in copy.stderr() and f"lease={found[0]['lease']}" in copy.stderr()
    text = copy.seqctl("gaps", "orders").stdout
    assert f"{first}..100 ({101 - first} IDs)" in text and "no_witness" in text
    answer = audit(copy)
    assert answer["gaps"] == 101 - first and answer["unaccounted"] == 0
    assert answer["history"]["issued_and_gap"] == 11 - first
    # The original goes on with them.
    original.start()
    assert take(original, 1) == [11]
    assert explain(original, 11)["answer"] == "issued"
    # And to the copy, what the original leases from now on is another host's.
    beyond = take(original, 150)[-1]
    assert explain(copy, beyond)["answer"] == "elsewhere"


def test_AfterAPowerLossWhatWasAvailableIsAGap(make_daemon):
    daemon = make_daemon(defaults=SMALL).start()
    take(daemon, 10)
    assert explain(daemon, 5)["answer"] == "issued"  # so the history has all ten
    daemon.kill()
    daemon.prefix = new_boot(daemon)
    daemon.start()
    answer = audit(daemon)
    assert answer["unaccounted"] == 0
    assert [gap["cause"] for gap in gaps(daemon)["gaps"]] == ["power_loss"]
    assert explain(daemon, 50)["gap"]["cause"] == "power_loss"
    # The log may have lost that the ten were issued; the history tells it all the same.
    assert explain(daemon, 5)["answer"] == "issued"
    assert "gap_power_loss: [" in daemon.stderr()
    assert take(daemon, 1) == [101]
    # Another start tells nothing twice.
    daemon.kill()
    daemon.prefix = []
    daemon.start()
    assert [gap["cause"] for gap in gaps(daemon)["gaps"]][:1] == ["power_loss"]
    audit(daemon)


def test_WhenTheLogIsGoneTheHistoryStillKnows(make_daemon):
    daemon = make_daemon(defaults=SMALL).start()
    take(daemon, 10)
    daemon.terminate()
    for name in ("log.0", "log.1"):
        (daemon.state / name).unlink()
    daemon.start()
    assert "gap_corrupt: [11, 101) of \"orders\"" in daemon.stderr()
    assert take(daemon, 1) == [101]
    assert explain(daemon, 5)["answer"] == "issued"
    assert explain(daemon, 50)["gap"]["cause"] == "corrupt"
    answer = audit(daemon)
    assert answer["leased"] == 100 and answer["gaps"] == 0  # of the new log
    assert answer["history"]["kept"]["gaps"] == 90


def test_QuestionsDoNotDelayTheServingOfIds(daemon):
    take(daemon, 100)
    with daemon.connect() as client:
        asked = [client.request(*question) for _ in range(15)
                 for question in (("audit", "orders"), ("explain", "orders", 5), ("gaps", "orders"))]
        assert client.next() == 101
        assert all(client.result(number) for number in asked)
        # Above the limit they are refused, and none is left without an answer.
        many = [client.request("audit", "orders") for _ in range(200)]
        outcomes = [client.read_reply() for _ in many]
        assert sorted(outcome[0] for outcome in outcomes) == many
        assert all(error is None or error[1].startswith("BUSY: ") for _, error, _ in outcomes)


def test_AForeignWritersNumberIsExplainedAsAnothers(mongo, make_daemon):
    daemon = make_daemon(stores={"mongo": {"type": "mongodb", "uri": mongo.uri(), "database": "history"}}, defaults=SMALL,
                         sequences={"orders": {"meaning": "last"}}).start()
    take(daemon, 10)
    with mongo.client() as client:
        client.history.counters.update_one({"_id": "orders"}, {"$inc": {"seq": 50}})
    take(daemon, 200)
    assert explain(daemon, 5)["answer"] == "issued"
    assert explain(daemon, 120)["answer"] == "elsewhere"
    assert explain(daemon, 160)["answer"] in ("issued", "available")
    assert explain(daemon, 1_000_000)["answer"] == "not_issued"
    answer = audit(daemon)
    assert answer["issued"] == 210 and answer["store"]["exists"]
    # The counter is set back behind our leases: the audit says so.
    with mongo.client() as client:
        client.history.counters.update_one({"_id": "orders"}, {"$set": {"seq": Int64(5)}})
    answer = audit(daemon, expect=3)
    assert "set back" in answer["problems"][0]


@pytest.mark.limit(240)
def test_ExplainNeverSaysWhatIsNotSo(make_daemon, scratch):
    """Under load, over kills: an ID is asked about before, while and after it is taken. What is said then has to fit what the
    clients got in the end, and what was said before."""
    daemon = make_daemon(defaults={"lease_min": 20, "lease_max": 200, "max_available": 1000}).start()
    said = {}  # by ID, in the order in which it was said
    allowed = {"not_issued": {"not_issued", "available", "leasing", "issued"}, "leasing": {"leasing", "available", "issued", "not_issued"},
               "available": {"available", "issued"}, "issued": {"issued"}}
    kills = max(KILLS // 20, 5)
    asked = 0
    clients = RepeatingClients(daemon, scratch / "clients" / "ids", clients=4)
    try:
        for _ in range(kills):
            clients.wait_for_more(1)
            with daemon.connect() as client:
                for _ in range(40):
                    top = client.call("peek", "orders")["last"] or 1
                    for number in {max(top + random.randrange(-300, 300), 1) for _ in range(20)} | {top, top + 1}:
                        before = client.call("peek", "orders")["last"] or 0
                        answer = client.call("explain", "orders", number)
                        assert answer["answer"] in allowed, (number, answer)
                        if number <= before:
                            assert answer["answer"] == "issued", (number, before, answer)
                        if answer["answer"] == "issued":
                            last = client.call("peek", "orders")["last"]
                            assert number <= last, (number, last, answer)
                            span = answer["issued"]
                            assert span["first"] <= number < span["first"] + span["count"] and span["first"] + span["count"] - 1 <= last
                            if not span["callers"]:
                                assert span["unnamed"] == "lost", answer
                        for earlier in said.get(number, [])[-1:]:
                            assert answer["answer"] in allowed[earlier], (number, said[number], answer)
                        said.setdefault(number, []).append(answer["answer"])
                        asked += 1
            daemon.kill()
            daemon.start()
    finally:
        ids = clients.stop()
    taken = set(ids)
    assert len(taken) == len(ids)
    with daemon.connect() as client:
        last = client.call("peek", "orders")["last"]
        assert max(taken) <= last
        for number in random.sample(sorted(said), min(len(said), 500)):
            answer = client.call("explain", "orders", number)["answer"]
            assert (answer == "issued") == (number <= last), (number, last, answer)
            assert answer in allowed[said[number][-1]], (number, said[number], answer)
    assert asked > 1000
    print(f"{asked} questions over {kills} kills, {len(said)} IDs asked about, {len(taken)} taken")
    assert gaps(daemon)["gaps"] == []
    audit(daemon)


@pytest.mark.limit(60)
def test_APeriodThatTheDaemonForgotIsToldOfByTheHistory(make_daemon, scratch):
    clock = Clock(scratch, all_clocks=True)
    daemon = make_daemon(daemon={"history_max_age": "400d"}, environment=clock.environment,
                         sequences={"tickets": {"period": "day", "lease_min": 10, "lease_max": 10}}).start()
    texts = [daemon.seqctl("next", "--text", "tickets").stdout.strip() for _ in range(3)]
    day = texts[0].rsplit("-", 1)[0]
    for days in (1, 34, 35, 36):
        clock.set_days(days)
        daemon.seqctl("next", "tickets")
    expect_soon("the first day to be forgotten", lambda: f"tickets@{day}" not in daemon.seqctl("list").stdout)
    for _ in range(2):
        answer = audit(daemon, f"tickets@{day}")
        assert answer["forgotten"] and (answer["leased"], answer["issued"], answer["gaps"]) == (10, 3, 7), answer
        assert [(gap["first"], gap["count"], gap["cause"]) for gap in gaps(daemon, f"tickets@{day}")["gaps"]] == [(4, 7, "period_end")]
        for number, text in enumerate(texts, 1):
            told = explain(daemon, text, "tickets")
            assert (told["name"], told["id"], told["answer"]) == (f"tickets@{day}", number, "issued")
        assert explain(daemon, 9, f"tickets@{day}")["answer"] == "gap"
        assert explain(daemon, 11, f"tickets@{day}")["answer"] == "older"
        assert "no record" in daemon.seqctl("audit", "tickets@2001-01-01", expect=1).stderr
        daemon.kill()
        daemon.start()
    daemon.terminate()
    daemon.configure(daemon={"history_max_age": "1d"}, sequences={"tickets": {"period": "day", "lease_min": 10, "lease_max": 10}})
    daemon.start()
    expect_soon("the issues to go", lambda: audit(daemon, f"tickets@{day}")["history"]["kept"]["issued"] == 0)
    answer = audit(daemon, f"tickets@{day}")
    assert answer["history"]["dropped"]["issued"] == 3 and answer["gaps"] == 7
    assert "older than the history" in explain(daemon, 2, f"tickets@{day}")["text"]
