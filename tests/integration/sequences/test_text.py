"""Readable IDs on the real daemon: texts that outlive kill -9 and midnight, keys, zones, and formats that are refused."""

import itertools
import json
import re
import subprocess
from pathlib import Path

import msgpack
import pytest

from harness import SEQD, Died, write_at_once
from rpc import Closed, RpcError

LIBRARY = next((path for path in Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1")), None)
IDENTITY = bytes(range(16))
KEY = "2b7e151628aed2a6abf7158809cf4f3c"
OTHER_KEY = "3b7e151628aed2a6abf7158809cf4f3c"
INVOICE = "INV-{date:%y%m%d}-{number:6}{check:luhn}"
HIDDEN = "{number:8,base32,scramble}{check:mod97}"


def key_file(scratch, key=KEY):
    path = scratch / "key"
    path.write_text(key + "\n")
    path.chmod(0o600)
    return path


def hello(daemon):
    connection = daemon.connect()
    assert connection.call("hello", {"client": IDENTITY})["known"] in (True, False)
    return connection


def text_of(connection, request, name="invoices"):
    """The answer to that request number, for the first time or again."""
    connection.ids = itertools.count(request)
    return connection.call("next_text", name)


def test_TextIsWhatTheFormatSaysAndIsParsedBack(make_daemon):
    daemon = make_daemon(sequences={"invoices": {"format": INVOICE}}).start()
    with daemon.connect() as client:
        text = client.call("next_text", "invoices")
        assert re.fullmatch(r"INV-\d{6}-000001\d", text)
        parsed = client.call("parse", "invoices", text)
        assert parsed["number"] == 1 and parsed["check"] == "luhn"
        assert parsed["period"] == "20" + "-".join(re.findall("..", text[4:10]))
        assert client.call("next", "invoices") == 2
        assert client.call("next_text", "plain") == "1"
        wrong = text[:-1] + str((int(text[-1]) + 1) % 10)
        error = client.error("parse", "invoices", wrong)
        assert (error.code, error.fault) == ("BAD_TEXT", 1) and error.text.startswith("position 18: the check digits (luhn)")


def test_SeqctlTakesAndParsesTexts(make_daemon):
    daemon = make_daemon(sequences={"invoices": {"format": INVOICE}}).start()
    texts = daemon.seqctl("next", "invoices", "--text", "-n", "2500").stdout.split()
    assert len(set(texts)) == 2500
    for text in texts[::500]:
        parsed = json.loads(daemon.seqctl("-o", "json", "parse", "invoices", text).stdout)
        assert parsed["number"] == texts.index(text) + 1
    assert daemon.seqctl("parse", "invoices", texts[41]).stdout.splitlines()[0] == "number  42"
    failed = daemon.seqctl("parse", "invoices", "INV-261121-0000429", expect=1)
    assert failed.stdout == "" and failed.stderr.startswith("seqctl: BAD_TEXT: position 18: ")


@pytest.mark.limit(60)
def test_RepeatGetsTheSameTextAfterAKillAndOnAnotherDay(make_daemon, scratch):
    assert LIBRARY is not None, "libfaketime is missing: apt-get install faketime"
    offset = scratch / "offset"
    write_at_once(offset, "+0d")
    fake = {"LD_PRELOAD": str(LIBRARY), "FAKETIME_TIMESTAMP_FILE": str(offset), "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1"}
    daemon = make_daemon(environment=fake, sequences={"invoices": {"format": "{date:%Y%m%d%H%M%S}-{number}"}}).start()
    texts = {}
    with hello(daemon) as client:
        for request in range(1, 4):
            texts[request] = text_of(client, request)
    for request, (days, end) in enumerate([("+1d", daemon.kill), ("+40d", daemon.terminate), ("-3d", daemon.kill)], 4):
        end()
        write_at_once(offset, days)
        daemon.start()
        with hello(daemon) as client:
            for before, text in texts.items():
                assert text_of(client, before) == text
            texts[request] = text_of(client, request)
            assert texts[request][:8] != texts[1][:8]
    assert [text.partition("-")[2] for text in texts.values()] == [str(number) for number in range(1, 7)]


@pytest.mark.limit(60)
@pytest.mark.parametrize("moment, hour", [("@2040-01-15 12:30:00", "13"), ("@2040-07-15 12:30:00", "14"), ("@2071-07-15 12:30:00", "14")])
def test_SummerTimeGoesOnAfter2037(make_daemon, scratch, moment, hour):
    """The list of changes in a zone's file ends with 2037; behind it stands the rule."""
    assert LIBRARY is not None, "libfaketime is missing: apt-get install faketime"
    write_at_once(scratch / "moment", moment)
    fake = {"LD_PRELOAD": str(LIBRARY), "FAKETIME_TIMESTAMP_FILE": str(scratch / "moment"), "FAKETIME_DONT_FAKE_MONOTONIC": "1", "TZ": "UTC"}
    daemon = make_daemon(environment=fake, sequences={"tickets": {"format": "{date:%Y-%m-%dT%H}/{number}", "time_zone": "Europe/Berlin"}}).start()
    with daemon.connect() as client:
        assert client.call("next_text", "tickets") == f"{moment[1:11]}T{hour}/1"


def test_RepeatOfATextInAFormerFormatIsRefusedAndTakesNoNumber(make_daemon):
    daemon = make_daemon(sequences={"invoices": {"format": "A-{number:6}"}}).start()
    with hello(daemon) as client:
        assert text_of(client, 1) == "A-000001"
    daemon.kill()
    daemon.configure(sequences={"invoices": {"format": "B-{number:6}"}})
    daemon.start()
    with hello(daemon) as client:
        for _ in range(2):
            with pytest.raises(RpcError) as refused:
                text_of(client, 1)
            assert refused.value.code == "SEQ_CHANGED" and '"A-{number:6}"' in str(refused.value)
        assert text_of(client, 2) == "B-000002"
        assert text_of(client, 2) == "B-000002"
    daemon.configure(sequences={"invoices": {"format": "A-{number:6}"}})
    with daemon.connect() as client:
        client.call("reload")
    with hello(daemon) as client:
        assert text_of(client, 1) == "A-000001"


@pytest.mark.limit(60)
def test_FirstTextsThatComeWithinOneFlushAreAllAnswered(make_daemon):
    """The disk takes 300 ms for a flush. While that with the form is under way, a second text is requested on another connection."""
    strace = ["strace", "-D", "-f", "-qq", "-o", "/dev/null", "-e", "trace=fdatasync", "-e", "inject=fdatasync:delay_enter=300000"]
    daemon = make_daemon(prefix=strace, daemon={"store_poll_interval": "1h"}, defaults={"format": "A-{number:6}", "wait_timeout": "40s"}).start()
    with daemon.connect(40) as first, daemon.connect(40) as second, daemon.connect(40) as third:
        assert first.next() == 1
        for client in (first, second):
            client.send(msgpack.packb([0, 77, "next_text", ["orders"]]))
            third.call("ping")  # in a turn after that
        assert [client.result(77) for client in (first, second)] == ["A-000002", "A-000003"]
        assert third.next() == 4


@pytest.mark.limit(90)
def test_TextsUnderKillsComeOnceEach(make_daemon, figures):
    """A pipeline that is cut by kill -9 again and again, and repeated: every number once, and every repeat the same text."""
    daemon = make_daemon(defaults={"format": "T{date:%H%M%S}-{number}"}).start()
    answered, repeated, total, kills = {}, 0, 3000, 0
    while len(answered) < total:
        with hello(daemon) as client:
            missing = [number for number in range(1, total + 1) if number not in answered]
            again = sorted(answered)[-50:]
            for number in again + missing:
                client.ids = itertools.count(number)
                try:
                    client.request("next_text", "orders")
                except Closed:
                    break
            try:
                for _ in range(len(again) + (len(missing) if kills >= 10 else min(200, len(missing)))):
                    number, error, text = client.read_reply()
                    assert error is None, error
                    repeated += number in answered
                    assert answered.setdefault(number, text) == text
            except Closed:
                pass
            if kills < 10:
                kills += 1
                daemon.kill()
                daemon.start()
    numbers = sorted(int(text.partition("-")[2]) for text in answered.values())
    assert numbers == list(range(1, total + 1))
    assert repeated >= 400
    figures("texts under kills:", kills, texts=total, repeated=repeated)


def test_ScrambledTextsNeedTheirKey(make_daemon, scratch):
    key = key_file(scratch)
    sequences = {"t-*": {"format": HIDDEN, "scramble_key_file": key}}
    daemon = make_daemon(sequences=sequences).start()
    with daemon.connect() as client:
        texts = [client.call("next_text", "t-1") for _ in range(200)]
        assert len(set(texts)) == 200 and all(len(text) == 10 for text in texts)
        assert sorted(texts) != texts, "the order of the texts tells that of the numbers"
        assert client.call("next_text", "t-2") != texts[0], "one key is another permutation for every name"
        assert [client.call("parse", "t-1", text)["number"] for text in texts] == list(range(1, 201))
        key_file(scratch, OTHER_KEY)
        assert client.call("reload") == {"applied": ['sequence."t-*".scramble_key_file'], "restart_needed": []}
        numbers = [client.call("parse", "t-1", text)["number"] for text in texts]
        assert not any(number == place for place, number in enumerate(numbers, 1))
        key_file(scratch, "no key")
        error = client.error("reload")
        assert error.code == "CONFIG" and "scramble_key_file: the file holds no key" in error.text
        key_file(scratch)
        assert client.call("reload")["applied"] == ['sequence."t-*".scramble_key_file']
        assert [client.call("parse", "t-1", text)["number"] for text in texts[:10]] == list(range(1, 11))
    daemon.restart()
    with daemon.connect() as client:
        assert client.call("parse", "t-1", texts[7])["number"] == 8
    assert KEY not in daemon.stderr(1 << 20)
    raw = bytes.fromhex(KEY)
    for path in daemon.state.rglob("*"):
        if path.is_file():
            content = path.read_bytes()
            assert KEY.encode() not in content and raw not in content, path


def test_KeyComesFromACredential(make_daemon, scratch):
    directory = scratch / "credentials"
    directory.mkdir()
    sequences = {"orders": {"format": HIDDEN}}
    daemon = make_daemon(sequences=sequences, environment={"CREDENTIALS_DIRECTORY": str(directory)})
    with pytest.raises(Died) as died:
        daemon.start()
    assert died.value.code == 78 and "scramble_key_file: the credential \"scramble-key\" cannot be opened" in died.value.stderr
    (directory / "scramble-key").write_text(KEY)
    daemon.start()
    with daemon.connect() as client:
        assert client.call("parse", "orders", client.call("next_text", "orders"))["number"] == 1


def test_ZoneOfTheSequenceCountsAndNotThatOfTheProcess(make_daemon):
    sequences = {f"z{zone}": {"format": "{date:%Y%m%d%H}/{number}", "time_zone": zone}
                 for zone in ("UTC", "Pacific/Kiritimati", "Pacific/Pago_Pago")}
    sequences = {name.replace("/", "-"): options for name, options in sequences.items()}
    daemon = make_daemon(sequences=sequences, environment={"TZ": "Asia/Tokyo"}).start()
    with daemon.connect() as client:
        hours = {}
        for name in sequences:
            before = subprocess.run(["date", "+%s"], capture_output=True, text=True, check=True).stdout
            hours[name] = (int(before) // 3600, client.call("next_text", name).partition("/")[0])
    for (hour, text), offset in zip(hours.values(), (0, 14, -11)):
        wanted = []
        for later in (0, 1):  # the hour may have ended meanwhile
            second = (hour + later + offset) * 3600
            wanted.append(subprocess.run(["date", "-u", "-d", f"@{second}", "+%Y%m%d%H"], capture_output=True, text=True,
                                         check=True).stdout.strip())
        assert text in wanted


BAD = [("{number}{number}", "position 9: found a second {number}; allowed: exactly one"),
       ("INV-{number}7", "position 5: found a number without a width before \"7\""),
       ("{date:%Y-W%V}{number}", "position 11: found \"%V\" besides \"%Y\""),
       ("{number:3,scramble}", "position 1: found scramble with the width 3; allowed: at least 6 digits in base 10"),
       ("{number:base62}{check:luhn}", "position 16: found the check \"luhn\" of a number in base 62")]


@pytest.mark.parametrize("form,why", BAD, ids=[str(number) for number in range(len(BAD))])
def test_BadFormatIsRefusedByCheckStartAndReload(make_daemon, form, why):
    daemon = make_daemon(sequences={"invoices": {"format": form}})
    checked = subprocess.run([str(SEQD), "--check", "--config", str(daemon.config_file)], capture_output=True, text=True,
                             check=False)
    assert checked.returncode == 78 and f'sequence."invoices".format: {why}' in checked.stderr
    with pytest.raises(Died) as died:
        daemon.start()
    assert died.value.code == 78 and why in died.value.stderr
    daemon.configure(sequences={"invoices": {"format": INVOICE}})
    daemon.start()
    with daemon.connect() as client:
        daemon.configure(sequences={"invoices": {"format": form}})
        error = client.error("reload")
        assert error.code == "CONFIG" and why in error.text
        assert client.call("next_text", "invoices").startswith("INV-")


def test_FormatOfAReloadIsUsedAtOnce(make_daemon):
    daemon = make_daemon().start()
    with daemon.connect() as client:
        assert client.call("next_text", "orders") == "1"
        daemon.configure(sequences={"orders": {"format": "ORD{number:4}"}})
        assert 'sequence."orders"' in client.call("reload")["applied"]
        assert client.call("next_text", "orders") == "ORD0002"
        assert client.call("parse", "orders", "ORD0001")["number"] == 1
        assert client.error("parse", "orders", "1").code == "BAD_TEXT"


def test_HostileTextsAreRefusedAndNothingElse(daemon):
    with daemon.connect() as client:
        for text in ("", "0", "01", "-1", "1 ", "9" * 19, "9" * 60_000, "\0", "ä", b"\xff\xfe", "1\n2"):
            with pytest.raises(RpcError) as refused:
                client.call("parse", "orders", text)
            assert refused.value.code == "BAD_TEXT", text
        for params in ([], ["orders"], ["orders", 1], ["orders", None], ["orders", "1", "2"], [1, "1"], ["no such", "1"]):
            assert client.error("parse", *params).code == "BAD_REQUEST"
        assert client.call("list") == [], "parse makes no sequence"
        client.notify("next_text", "orders")
        assert client.call("next_text", "orders") == "1"
