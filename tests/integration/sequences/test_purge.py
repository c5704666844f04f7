"""Housekeeping of periods: `seqctl purge` removes the counters of days that are over for longer than `period_retention`, exactly these, beside old
code that counts in the same collection; nothing of them is started again, and the present day goes on."""

import json
import os
import re
import shutil
import subprocess
import time
from datetime import date, datetime, timedelta, timezone
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from bson.int64 import Int64

import harness
from disks import NotShown
from servers.mongod import expect_soon
from servers.patience import PROGRAM_SECONDS
from test_daily_ids import LIBRARY, ZONE
from test_seeds import guide, stores

NAME = "dailyids"
DAYS = 500
RETAIN = 400
LOOKED, TRY_AGAIN = 4, 75


def let_the_day_last() -> None:
    """Two minutes are left of it at least, of that of UTC as well."""
    for zone in (ZoneInfo(ZONE), timezone.utc):
        while (datetime.now(zone) + timedelta(minutes=2)).date() != datetime.now(zone).date():
            time.sleep(1)


class Clock:
    """What a daemon takes for the time; its timers go on as they are, unless all of its clocks jump."""

    def __init__(self, scratch: Path, all_clocks: bool = False):
        assert LIBRARY is not None, "libfaketime is missing: apt-get install faketime"
        let_the_day_last()
        self.file = scratch / "offset"
        self.set_days(0)
        self.environment = {"LD_PRELOAD": str(LIBRARY), "FAKETIME_TIMESTAMP_FILE": str(self.file), "FAKETIME_NO_CACHE": "1"}
        if not all_clocks:
            self.environment["FAKETIME_DONT_FAKE_MONOTONIC"] = "1"

    def set_days(self, days: int) -> None:
        harness.write_at_once(self.file, f"{days:+}d")


def today() -> date:
    return datetime.now(ZoneInfo(ZONE)).date()


def day_at(days: int) -> date:
    """Where a clock is so many times 24 hours off; that may be another day of the calendar where summer time lies between."""
    return (datetime.now(timezone.utc) + timedelta(days)).astimezone(ZoneInfo(ZONE)).date()


def prefix(day: date) -> int:
    return int(day.strftime("%y%m%d"))


def begin_of(day: date) -> datetime:
    return datetime(day.year, day.month, day.day, tzinfo=ZoneInfo(ZONE)).astimezone(timezone.utc)


def is_old(day: date, now: date) -> bool:
    return begin_of(day + timedelta(1)) + timedelta(RETAIN) <= begin_of(now)


class Old:
    """What old code has left: a document a day, and things that are not its own."""

    def __init__(self, server):
        let_the_day_last()
        server.client().drop_database("seqd")
        self.ids = server.client().seqd.ids
        self.ids.create_index("prefix", unique=True)
        self.today = today()
        self.days = [self.today - timedelta(back) for back in range(DAYS)]
        self.ids.insert_many([{"prefix": prefix(day), "count": 1000 + day.day} for day in self.days])
        foreign = [130199, 991231, 200230, -250101, 20250101, "250101", [240102], 240103.5, {"prefix": 240104}, None, Int64(2401050)]
        self.ids.insert_many([{"prefix": key, "count": 7} for key in foreign])
        self.foreign = len(foreign)
        self.old = {prefix(day) for day in self.days if is_old(day, self.today)}

    def prefixes(self) -> set:
        return {document["prefix"] for document in self.ids.find() if isinstance(document["prefix"], int)}

    def count(self) -> int:
        """One number as the old code takes it."""
        return self.ids.find_one_and_update({"prefix": prefix(self.today)}, {"$inc": {"count": 1}}, upsert=True,
                                            return_document=True)["count"]


def daily(make_daemon, server, mode: str, clock: Clock, name: str = "seqd", **options):
    sequence = {**guide()[NAME], "period_retention": f"{RETAIN}d", **options}
    return make_daemon(name, environment=clock.environment, stores=stores(server, mode), sequences={NAME: sequence})


def told(daemon, *arguments: str, expect: int) -> list:
    return json.loads(daemon.seqctl("-o", "json", "purge", *arguments, expect=expect).stdout)["counters"]


@pytest.mark.limit(60)
@pytest.mark.parametrize("kind,mode", [("alone", "slot"), ("set", "session")])
def test_OldDaysAreRemovedAndThePresentOneGoesOn(mongo, mongo_set, make_daemon, scratch, figures, kind, mode):
    server = mongo if kind == "alone" else mongo_set
    old = Old(server)
    before = old.prefixes()
    clock = Clock(scratch)
    daemon = daily(make_daemon, server, mode, clock).start()
    with daemon.connect() as client:
        numbers = [int(client.call("next_text", NAME)[6:]) for _ in range(20)]
    looked = told(daemon, NAME, expect=LOOKED)
    assert {int(counter["key"]) for counter in looked} == old.old and len(looked) == len(old.old) > 90
    assert all(not counter["removed"] and counter["why"] is None for counter in looked)
    assert {counter["last"] for counter in looked} <= {1000 + day for day in range(1, 32)}
    text = daemon.seqctl("purge", NAME, expect=LOOKED).stdout
    assert f"{len(old.old)} counters would be removed; nothing was done: this is what --yes would do" in text
    assert old.prefixes() == before
    # Somebody uses one of them after all.
    used = min(old.old)
    old.ids.update_one({"prefix": used}, {"$inc": {"count": 1}})
    removed = told(daemon, NAME, "--yes", expect=0)
    assert {int(counter["key"]) for counter in removed if counter["removed"]} == old.old
    assert old.prefixes() == before - old.old
    assert old.ids.count_documents({}) == DAYS + old.foreign - len(old.old)
    assert "no counter was removed" in daemon.seqctl("purge", NAME, "--yes").stdout
    journal = daemon.stderr_file.read_text(errors="replace")
    found = re.findall(r"counters_removed: (\d+) counters? of \"dailyids\" removed .*requested by user (\d+), process \d+", journal)
    assert sum(int(count) for count, _ in found) == len(old.old) and {user for _, user in found} == {str(os.getuid())}, journal
    numbers += [old.count() for _ in range(20)]
    with daemon.connect() as client:
        numbers += [int(client.call("next_text", NAME)[6:]) for _ in range(20)]
    assert len(set(numbers)) == len(numbers)
    figures("old days removed:", len(removed), found=DAYS, foreign=old.foreign)


@pytest.mark.limit(60)
def test_ADayThatWasRemovedIsNotBegunAgain(mongo, make_daemon, scratch):
    """By the host that removed it, though it never used the sequence itself; also after kill -9."""
    old = Old(mongo)
    clock = Clock(scratch)
    daemon = daily(make_daemon, mongo, "slot", clock).start()
    removed = told(daemon, NAME, "--yes", expect=0)
    assert len(removed) == len(old.old)
    for _ in range(2):
        for days in (-RETAIN - 2, -RETAIN - 50, -DAYS - 50):
            clock.set_days(days)
            answer = daemon.seqctl("next", NAME, "--text", expect=1)
            assert "SEQ_REGRESSED" in answer.stderr and "may have been removed" in answer.stderr
            assert "SEQ_REGRESSED" in daemon.seqctl("purge", NAME, "--yes", expect=1).stderr
        daemon.kill()
        daemon.start()
    clock.set_days(0)
    assert daemon.seqctl("next", NAME, "--text").stdout.startswith(str(prefix(old.today)))
    assert not old.prefixes() & old.old


@pytest.mark.limit(60)
def test_AHostWhoseClockIsAheadRemovesNothingTooEarly(mongo, make_daemon, scratch):
    old = Old(mongo)
    before = old.prefixes()
    clock = Clock(scratch)
    clock.set_days(60)
    daemon = daily(make_daemon, mongo, "slot", clock).start()
    counters = told(daemon, NAME, "--yes", expect=0)
    assert {int(counter["key"]) for counter in counters if counter["removed"]} == old.old
    kept = [counter for counter in counters if not counter["removed"]]
    assert 55 <= len(kept) <= 60 and all("the clocks differ" in counter["why"] for counter in kept)
    assert old.prefixes() == before - old.old
    # And one whose clock is behind removes less.
    old = Old(mongo)
    behind = Clock(scratch / "seqd")
    behind.set_days(-60)
    other = daily(make_daemon, mongo, "slot", behind, "behind").start()
    counters = told(other, NAME, "--yes", expect=0)
    gone = {int(counter["key"]) for counter in counters if counter["removed"]}
    assert gone == {prefix(day) for day in old.days if is_old(day, day_at(-60))}
    assert gone < old.old


@pytest.mark.limit(60)
def test_WhatIsInUseHereOrElsewhereStays(mongo, make_daemon, scratch):
    old = Old(mongo)
    clock = Clock(scratch)
    clock.set_days(-RETAIN - 30)
    other = {"store": "mongo", "collection": "ids", "key_field": "prefix", "counter_field": "count", "meaning": "last",
             "key": str(min(old.old) + 1), "key_type": "integer"}
    daemon = make_daemon(environment=clock.environment, stores=stores(mongo, "slot"),
                         sequences={NAME: {**guide()[NAME], "period_retention": f"{RETAIN}d"}, "other": other}).start()
    with daemon.connect() as client:
        in_use = int(client.call("next_text", NAME)[:6])
    clock.set_days(0)
    kept = {int(counter["key"]): counter["why"] for counter in told(daemon, NAME, "--yes", expect=0) if not counter["removed"]}
    assert set(kept) == {in_use, int(other["key"])}
    assert "in use here" in kept[in_use] and 'a counter of "other"' in kept[int(other["key"])]
    # A remainder that is no more lets it go.
    daemon.seqctl("drain", re.search(r"seqctl drain (\S+)\)", kept[in_use]).group(1), "--yes")
    removed = [counter for counter in told(daemon, NAME, "--yes", expect=0) if counter["removed"]]
    assert [int(counter["key"]) for counter in removed] == [in_use]


@pytest.mark.limit(60)
def test_CountersOfTheEmbeddedStoreAreRemovedToo(make_daemon, scratch):
    clock = Clock(scratch, all_clocks=True)
    daemon = make_daemon(environment=clock.environment, sequences={"tickets": {"period": "day", "period_retention": "2d", "lease_min": 10}}).start()
    numbers = {}
    for days in (0, 1, 2, 3, 10):
        clock.set_days(days)
        with daemon.connect(20) as client:
            day, number = client.call("next_text", "tickets").rsplit("-", 1)
        numbers[day] = int(number)
    days = sorted(numbers)
    expect_soon("the remainders of the days to be written off", lambda: daemon.stderr(1 << 20).count("gap_period_end: [") >= 4)
    assert [counter["key"] for counter in told(daemon, "tickets", expect=LOOKED)] == [f"tickets@{day}" for day in days[:4]]
    removed = told(daemon, "tickets", "--yes", expect=0)
    assert [(counter["period"], counter["last"], counter["removed"]) for counter in removed] == [(day, 10, True) for day in days[:4]]
    daemon.kill()
    daemon.start()
    clock.set_days(3)
    assert "SEQ_REGRESSED" in daemon.seqctl("next", "tickets", expect=1).stderr
    clock.set_days(10)
    assert daemon.seqctl("next", "tickets").stdout == "2\n"
    # What is gone from the store is no fault of the books.
    assert "agree" in daemon.seqctl("audit", f"tickets@{days[0]}").stdout


def test_OnlyAdministratorsMayLookAndRemove(make_daemon):
    if os.getuid() != 0:
        raise NotShown("another user can be tried by root only")
    daemon = make_daemon(daemon={"socket_mode": "0666"}, sequences={"tickets": {"period": "day", "period_retention": "2d"}}).start()
    daemon.short.chmod(0o755)
    program = daemon.short / "seqctl"
    shutil.copy2(harness.SEQCTL, program)
    stranger = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", str(program), "--socket", str(daemon.socket), "purge", "tickets"]
    for words in ([], ["--yes"]):
        refused = subprocess.run([*stranger, *words], capture_output=True, text=True, timeout=PROGRAM_SECONDS, check=False)
        assert refused.returncode == 1 and "DENIED" in refused.stderr
    assert "no counter was removed" in daemon.seqctl("purge", "tickets", "--yes").stdout


def test_WhatCannotBePurgedIsSaidWithTheWayOut(make_daemon):
    central = {"type": "mongodb", "uri": "mongodb://127.0.0.1:1/", "database": "seqd", "timeout": "500ms"}
    dynamo = {"type": "dynamodb", "region": "eu-central-1", "endpoint": "http://127.0.0.1:1"}
    keys = {"AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "x"}
    daemon = make_daemon(environment=keys, stores={"default": {"type": "sqlite"}, "central": central, "aws": dynamo},
                         sequences={"tickets": {"period": "day"}, "away": {"store": "central", "period": "day", "period_retention": "2d"},
                                    "scanned": {"store": "aws", "period": "day", "period_retention": "2d"}}).start()
    for arguments, code, words in ((["orders"], 1, "BAD_REQUEST: \"orders\" has no periods"), (["tickets"], 1, "sequence.period_retention"),
                                   (["tickets@2026-11-22"], 1, "takes the name of the whole sequence, \"tickets\""),
                                   (["scanned"], 1, "a job of your own"), (["away", "--yes"], TRY_AGAIN, "UNAVAILABLE"), ([], 2, "NAME")):
        answer = daemon.seqctl("purge", *arguments, expect=code)
        assert words in answer.stderr, answer.stderr
