"""protocol/vectors.json, as far as it speaks of clients."""

import json
from collections import defaultdict

import pytest

from harness import PROJECT
from seqd import _replies, _requests, _wire, errors

VECTORS = json.loads((PROJECT / "protocol" / "vectors.json").read_text())


def value_of(json_value):
    if isinstance(json_value, dict) and set(json_value) == {"integer"}:
        return int(json_value["integer"])
    if isinstance(json_value, dict) and set(json_value) == {"bin"}:
        return bytes.fromhex(json_value["bin"])
    if isinstance(json_value, dict):
        return {key: value_of(value) for key, value in json_value.items()}
    if isinstance(json_value, list):
        return [value_of(value) for value in json_value]
    return json_value


def named(part):
    return [pytest.param(one, id=one["name"]) for one in VECTORS[part]]


def written(write):
    kind = write["kind"]
    number = write.get("msgid")
    if kind == "ack":
        return _wire.Writer().ack(write["below"])
    if kind == "hello":
        identity = bytes.fromhex(write["client"]) if "client" in write else None
        return _wire.Writer().hello(number, identity, write.get("client_name", ""))
    if kind == "peek":
        return _wire.Writer().request(number, _requests.peek(write["name"]).front)
    if kind == "call":
        return _wire.Writer().request(number, _requests.any_method(write["method"], ()).front)
    params = [write["name"]] + ([write["count"]] if kind == "range" else [])
    if "timeout_ms" not in write:  # the clients always tell the time that is left; call() need not
        return _wire.Writer().request(number, _requests.any_method(kind, tuple(params)).front)
    make = {"next": _requests.next_id, "next_text": _requests.next_text, "range": _requests.id_range}[kind]
    return _wire.Writer().request(number, make(*params).front, write["timeout_ms"])


@pytest.mark.parametrize("vector", named("encode"))
def test_ARequestIsWrittenInItsShortestForm(vector):
    assert written(vector["write"]).hex() == vector["hex"]


@pytest.mark.parametrize("vector", named("replies"))
def test_AReplyIsUnderstood(vector):
    expect = vector["expect"]
    for split in (None, 1, 3):  # whole, and in pieces
        data = bytes.fromhex(vector["hex"])
        reader = _wire.FrameReader()
        pieces = [data] if split is None else [data[at:at + split] for at in range(0, len(data), split)]
        (message,) = [one for piece in pieces for one in reader.feed(piece)]
        kind, number, error, result = message
        assert (kind, number) == (1, expect["msgid"])
        if "error" not in expect:
            assert error is None and result == value_of(expect["result"])
            continue
        found = errors.of_reply(error)
        assert (found.fault, found.code, found.text) == tuple(expect["error"][key] for key in ("fault", "code", "text"))
        assert result is None


@pytest.mark.parametrize("vector", [one for one in named("replies") if one.values[0]["expect"].get("runs")])
def test_RunsBecomeRanges(vector):
    runs = value_of(vector["expect"]["result"])
    count = sum(run[1] for run in runs)
    read = _replies.read_runs(count, runs)
    assert [[run.start, len(run), run.step] for run in read] == runs
    assert _replies.read_many(count, runs) == [first + step * i for first, many, step in runs for i in range(many)]


@pytest.mark.parametrize("vector", named("requests"))
def test_EveryEncodingOfAValueIsRead(vector):
    expect = vector["expect"]
    (message,) = _wire.FrameReader().feed(bytes.fromhex(vector["hex"]))

    def texts(value):  # a str and a bin of the same bytes are the same text for the daemon
        if isinstance(value, bytes):
            return value.decode()
        return [texts(one) for one in value] if isinstance(value, list) else value

    head = [0, expect["msgid"]] if expect["kind"] == "request" else [2]
    assert message[:-2] == head and texts(message[-2]) == expect["method"]
    assert texts(message[-1]) == texts(value_of(expect["params"]))


@pytest.mark.parametrize("vector", named("incomplete"))
def test_WhatIsIncompleteIsWaitedFor(vector):
    assert not _wire.FrameReader().feed(bytes.fromhex(vector["hex"]))


def read_in(pieces):
    """The messages, each with its type, or None where the stream cannot be read."""
    reader = _wire.FrameReader()
    try:
        return [repr(one) for piece in pieces for one in reader.feed(piece)]
    except errors.ProtocolError:
        return None


def test_AShortReplyIsReadAsInPieces():
    """One ID in one piece has a way of its own. Whatever is changed of it, what is read is what arrives byte by byte."""
    widths = (7, 200, 40_000, 3_000_000_000, 2**53 - 1)
    whole = [_wire.pack([1, number, None, number]) for number in widths] + [_wire.pack([1, 7, None, -1]), _wire.pack([1, 7, [], 8])]
    changed = [data[:at] + bytes((byte,)) + data[at + 1:] for data in whole for at in range(len(data)) for byte in range(256)]
    cut = [data[:at] for data in whole for at in range(len(data))]
    several = [one + other for one in whole for other in whole]
    for data in whole + changed + cut + several:
        assert read_in([data]) == read_in([data[at:at + 1] for at in range(len(data))]), data.hex()
    # A message that began before it is continued by nothing else.
    for data in whole:
        for at in range(1, len(data)):
            assert read_in([data[:at], data[at:] + data, data]) == read_in([data] * 3), data.hex()


def test_EveryCodeOfTheProtocolHasAClass():
    catalogue = (PROJECT / "protocol" / "errors.def").read_text()
    lines = [line[2:].split(", ") for line in catalogue.splitlines() if line.startswith("X(")]
    assert len(lines) >= 23
    for code, fault, retry, _ in (line[:3] + [line[3:]] for line in lines):
        kind = errors.BY_CODE[code]
        assert (kind.code, kind.fault, kind.temporary) == (code, 1 if fault == "caller" else 0, retry == "again")


def configurations(scratch):
    """The vectors of texts, grouped so that a daemon can have those of one group: names differ, and so do key files."""
    groups = defaultdict(dict)
    for number, vector in enumerate(VECTORS["texts"]):
        options = {"format": vector["format"], "time_zone": vector["time_zone"], "max_value": 2**63 - 2}
        if "key" in vector:
            options["scramble_key_file"] = scratch / f"key-{number}"
            options["scramble_key_file"].write_text(vector["key"] + "\n")
            options["scramble_key_file"].chmod(0o600)
        depth = sum(vector["sequence"] in group for group in groups.values())
        groups[depth][vector["sequence"]] = (vector, options)
    return list(groups.values())


@pytest.mark.limit(60)
def test_TextsAreParsedAsTheirNumbers(scratch, make_daemon, make_client):
    parsed = 0
    for number, group in enumerate(configurations(scratch)):
        daemon = make_daemon(f"seqd-{number}", sequences={name: options for name, (_, options) in group.items()}).start()
        client = make_client(daemon.socket)
        for name, (vector, _) in group.items():
            if value_of(vector["number"]) > 2**63 - 2:
                continue  # no option of a sequence allows that number: the vector is the formatter's alone
            found = client.parse(name, vector["text"])
            assert found.number == value_of(vector["number"]), vector
            parsed += 1
        daemon.terminate()
    assert parsed >= len(VECTORS["texts"]) - 1
