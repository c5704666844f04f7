"""Row A: a counter a day, `{prefix: YYMMDD, count: n}`. Programs that count so go on beside two daemons while days end under load
(libfaketime: the clock of all of them jumps): nothing twice within a day, and every number of each day accounted for."""

import contextlib
import itertools
import os
import threading
import time
from collections import defaultdict
from datetime import datetime, timedelta, timezone
from pathlib import Path
from zoneinfo import ZoneInfo

import msgpack
import pytest

from accounting import journalled_gaps, untraceable
from clients import drain
from harness import Daemon, write_at_once
from old_code import OldCode
from rpc import Closed
from servers.mongod import wait_for
from test_seeds import guide, stores

LIBRARY = next((path for path in Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1")), None)
ZONE = "Europe/Berlin"
DAY = 86_400  # seconds
DAYS = 5
IDS = 200_000  # in all
COUNTS = 10_000_000  # an ID of the old code is prefix * COUNTS + count
LEASES = {"lease_min": 100, "lease_max": 2000, "max_available": 8000}
GONE = (Closed, ConnectionRefusedError, ConnectionResetError, BrokenPipeError, FileNotFoundError)


class TextTaker:
    """A thread that takes readable IDs of a daemon, and repeats what was not answered, also to one that was killed."""

    def __init__(self, daemon, name: str, depth: int = 64):
        self.daemon, self.name, self.depth = daemon, name, depth
        self.identity = os.urandom(16)
        self.texts, self.errors, self.open = [], [], {}
        self.numbers = itertools.count(1)
        self.stopping = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self) -> None:
        while not self.stopping.is_set() or self.open:
            with contextlib.suppress(*GONE):
                self.converse()
            time.sleep(0.01)

    def converse(self) -> None:
        with self.daemon.connect() as connection:
            connection.call("hello", {"client": self.identity})
            while self.open or not self.stopping.is_set():
                while len(self.open) < self.depth and not self.stopping.is_set():
                    self.open[next(self.numbers)] = None
                connection.send(b"".join(msgpack.packb([0, number, "next_text", [self.name]]) for number in sorted(self.open)))
                for _ in range(len(self.open)):
                    number, error, text = connection.read_reply()
                    if error is None:
                        self.texts.append(text)
                    else:
                        self.errors.append(error)
                    del self.open[number]
                connection.notify("ack", min(self.open, default=max(1, self.next_number())))

    def next_number(self) -> int:
        number = next(self.numbers)
        self.numbers = itertools.chain([number], self.numbers)
        return number

    def stop(self) -> None:
        self.stopping.set()
        self.thread.join(60)
        assert not self.thread.is_alive()


class Site:
    """Two daemons and two old programs on one clock, which the test sets. It begins at noon: no day ends but by the test."""

    def __init__(self, server, make_daemon, scratch, mode: str, all_clocks: bool = True):
        assert LIBRARY is not None, "libfaketime is missing: apt-get install faketime"
        self.server, self.name = server, "dailyids"
        self.offset = scratch / "offset"
        now = datetime.now(ZoneInfo(ZONE))
        self.until_noon = int((now.replace(hour=12, minute=0, second=0) - now).total_seconds()) % DAY  # a clock of all is not set back
        self.set_days(0)
        fake = {"LD_PRELOAD": str(LIBRARY), "FAKETIME_TIMESTAMP_FILE": str(self.offset), "FAKETIME_NO_CACHE": "1"}
        wall = {**fake, "FAKETIME_DONT_FAKE_MONOTONIC": "1", "TZ": ZONE}
        self.daemons = [make_daemon(f"seqd-{i}", environment=fake if all_clocks else wall, stores=stores(server, mode), defaults=LEASES,
                                    limits={"idle_timeout": "0s"},
                                    sequences={self.name: guide()[self.name]}).start() for i in range(2)]
        self.programs = [OldCode(server.uri(), scratch, f"daily-{i}", ["daily-ids"], self.name, wall) for i in range(2)]
        self.counts = {}  # of the documents, as they were when a day was long over

    def set_days(self, days: int) -> None:
        self.ahead = days * DAY + self.until_noon
        write_at_once(self.offset, f"+{self.ahead}")

    def prefix(self) -> int:
        then = datetime.now(timezone.utc) + timedelta(seconds=self.ahead)
        return int(then.astimezone(ZoneInfo(ZONE)).strftime("%y%m%d"))

    def documents(self) -> dict:
        return {document["prefix"]: document for document in self.server.client().seqd.ids.find()}

    def count(self) -> int:
        return int(self.documents().get(self.prefix(), {"count": 0})["count"])

    def kill_in_the_middle(self) -> None:
        self.programs[0].kill()
        self.programs[0].start()
        self.daemons[1].kill()
        self.daemons[1].start()


def split(number: int) -> tuple:
    return divmod(number, COUNTS)


def journal_name(site: Site, prefix: int) -> str:
    return f"{site.name}@20{prefix // 10000:02}-{prefix // 100 % 100:02}-{prefix % 100:02}"


@pytest.mark.limit(120)
@pytest.mark.parametrize("kind,mode", [("alone", "slot"), ("set", "session")])
def test_DaysEndUnderLoadBesideOldCode(mongo, mongo_set, make_daemon, scratch, figures, kind, mode):
    server = mongo if kind == "alone" else mongo_set
    server.client().drop_database("seqd")
    site = Site(server, make_daemon, scratch, mode)
    site.programs[0].start("--ids", "5").finish()
    takers = [TextTaker(daemon, site.name) for daemon in site.daemons]
    for program in site.programs:
        program.start()
    try:
        for day in range(DAYS):
            site.set_days(day)
            wait_for("the first IDs of the day", lambda: site.count() > IDS // DAYS // 10)
            if day == 1:
                site.kill_in_the_middle()
            wait_for("the IDs of a day", lambda: site.count() >= IDS // DAYS)
    finally:
        for program in site.programs:
            program.stop()
        for taker in takers:
            taker.stop()
    # A leap of all clocks ends the time of those who wait; they issued nothing.
    assert all(text.startswith("UNAVAILABLE: ") for _, text in takers[0].errors + takers[1].errors)
    settle(site, takers, figures)


def left_of_former_days(daemon: Daemon) -> int:
    """The IDs that it holds of all days but the last."""
    with daemon.connect(30) as client:
        rows = sorted((row["name"], row["available"]) for row in client.call("list") if "@" in row["name"])
    return sum(available for _, available in rows[:-1])


def settle(site: Site, takers: list, figures) -> None:
    documents = site.documents()
    held = defaultdict(list)  # by day, who has which number
    of_daemons = of_programs = asks = 0
    for taker in takers:
        of_daemons += len(taker.texts)
        for text in taker.texts:
            held[int(text[:6])].append(int(text[6:]))
    for program in site.programs:
        for life in program.read():
            of_programs, asks = of_programs + len(life.ids), asks + life.open_asks
            for begin, _ in life.blocks:
                prefix, count = split(begin)
                held[prefix].append(count)
    assert len(documents) == len(held) == DAYS
    # The last day goes on over an orderly stop; those before it were written off.
    for daemon in site.daemons:
        daemon.restart()
        # A lease that was under way when its day ended is written off when the ended days are looked at again.
        wait_for("nothing is left of the days before", lambda those=daemon: not left_of_former_days(those))
    today = max(documents)
    end = int(documents[today]["count"])
    available = [number for daemon in site.daemons for number in drain(daemon, site.name)]
    held[today] += [number for number in available if number <= end]
    missing = gaps = untraced = 0
    for prefix, document in documents.items():
        numbers = held[prefix]
        assert len(set(numbers)) == len(numbers), f"{prefix}: {len(numbers) - len(set(numbers))} numbers twice"
        name = journal_name(site, prefix)
        lost = {number for daemon in site.daemons for part in journalled_gaps(daemon.stderr_file, name) for number in part}
        assert not lost & set(numbers)
        count = int(document["count"])
        assert max(numbers) <= count
        gaps += len(lost)
        missing += count - len(numbers) - len(lost)
        untraced += sum(untraceable(daemon.stderr_file, name) for daemon in site.daemons)
        assert set(document) - {"seqd"} == {"_id", "prefix", "count"} and isinstance(document["prefix"], int)
    assert 0 <= missing <= asks + untraced
    journals = "".join(daemon.stderr_file.read_text(errors="replace") for daemon in site.daemons)
    assert journals.count("gap_period_end: [") >= DAYS - 1
    audit = site.daemons[0].seqctl("audit", site.name).stdout
    assert f"{journal_name(site, today)}" in audit and "agree" in audit, audit
    told = site.daemons[0].seqctl("gaps", journal_name(site, min(documents))).stdout
    assert "period_end" in told, told
    figures("days under load:", DAYS, of_daemons=of_daemons, of_programs=of_programs, gaps=gaps, unread=missing)


@pytest.mark.limit(60)
def test_HousekeepingOfOldDaysDisturbsNothing(mongo, make_daemon, scratch):
    """The old program removes the documents of old days, with and without a remainder of them in a daemon."""
    mongo.client().drop_database("seqd")
    site = Site(mongo, make_daemon, scratch, "slot")
    with site.daemons[0].connect() as client:
        site.programs[0].start("--ids", "5").finish()
        number = site.count() + 1
        first = client.call("next_text", site.name)
        assert first == f"{site.prefix()}{number:04}"
    site.set_days(40)
    site.programs[0].start("--ids", "5").finish()
    assert set(site.documents()) == {site.prefix()}
    after = site.count() + 1
    with site.daemons[0].connect(20) as client:
        assert client.call("next_text", site.name) == f"{site.prefix()}{after:04}"
        assert client.call("parse", site.name, first)["number"] == number


@pytest.mark.limit(60)
def test_AClockThatIsSetBackNeverRepeatsANumber(mongo, make_daemon, scratch):
    mongo.client().drop_database("seqd")
    site = Site(mongo, make_daemon, scratch, "slot", all_clocks=False)
    site.programs[0].start("--ids", "1").finish()  # makes the index
    seen = set()
    for days in (0, 1, 0, 2, 1, 0, 2):
        site.set_days(days)
        for daemon in site.daemons:
            with daemon.connect(20) as client:
                for _ in range(3):
                    text = client.call("next_text", site.name, {"timeout_ms": 10_000})
                    assert text.startswith(str(site.prefix()))
                    assert text not in seen
                    seen.add(text)
            if days == 1:
                daemon.kill()
                daemon.start()
