"""Makes the golden directory of a version: state directories as the daemon of that version leaves them, and what is in them.

usage: make.py SEQD [REVISION]    SEQD is the daemon of the version, REVISION the commit that it was built of (HEAD).

Writes tests/golden/VERSION, VERSION being what the daemon says of itself:
  clean.tar.xz    the state directory after an orderly stop
  killed.tar.xz   the state directory after a kill -9; its witness stayed behind
  golden.json     the configuration, what the daemon answered and issued before it ended, and the bytes of requests and replies
  vectors.json    protocol/vectors.json of REVISION
A release makes its own once, with the very daemon that is released. They are never made again: a later daemon reads these bytes.
"""

import json
import os
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path

import msgpack

GOLDEN = Path(__file__).resolve().parent
CLIENT = "5eqd".encode().hex() * 4
PATIENCE_S = 30
CONFIGURATION = {
    "daemon": {"state_log_size": "256KiB", "history_max_age": "3650d"},
    "sequences": {
        "orders": {},
        "invoices": {"format": "INV-{number:6}"},
        "countdown": {"start": 1000, "increment": -1, "min": 1, "max": 1000},
        "daily": {"period": "day"},
        "drained": {"reuse": "never"},
        "parked": {"reuse": "parked"},
        "advanced": {},
        "blocks": {"blocks": True},
    },
}

# Requests on a connection to a daemon with nothing in it.
WIRE = [
    [0, 1, "ping", []],
    [0, 2, "next", ["wire"]],
    [0, 3, "next", ["wire", {"timeout_ms": 20_000}]],
    [0, 4, "range", ["wire", 5]],
    [0, 5, "range", ["wire", 300, {"timeout_ms": 20_000}]],
    [0, 6, b"next", [b"wire"]],
    [0, 7, "peek", ["wire"]],
    [0, 8, "peek", ["never"]],
    [0, 9, "list", []],
    [0, 10, "status", []],
    [0, 11, "hello", [{"client": CLIENT, "name": "golden"}]],
    [0, 12, "next", ["wire"]],
    [0, 12, "next", ["wire"]],
    [0, 13, "range", ["wire", 0]],
    [0, 14, "next", ["not a name"]],
    [0, 15, "next", ["wire", {"unknown": 1}]],
    [0, 16, "nothing", []],
]


def take(client):
    """Takes IDs in every way that there is; returns them by sequence."""
    issued = {"orders": client.many("orders", 100)}
    client.notify("ack", 90)
    issued["orders"] += [client.next("orders", timeout_ms=20_000) for _ in range(30)]
    issued["invoices"] = ids_of(client.call("range", "invoices", 25))
    texts = [client.call("next_text", "invoices") for _ in range(5)]
    issued["invoices"] += [client.call("parse", "invoices", text)["number"] for text in texts]
    for name in ("countdown", "daily", "drained", "parked", "advanced"):
        issued[name] = client.many(name, 7)
    for name in ("drained", "parked"):
        client.call("drain", name)
        issued[name].append(client.next(name, timeout_ms=20_000))
    client.call("advance", "advanced", 500_000, {"everywhere": True})
    issued["advanced"].append(client.next("advanced", timeout_ms=20_000))
    issued["blocks"] = [client.next("blocks", timeout_ms=20_000)]
    client.call("page")
    client.call("block", "blocks", 0, 1)
    return issued


def settled(client):
    """What `list` answers when no lease is on its way any more."""
    end = time.monotonic() + PATIENCE_S
    rows = None
    while True:
        found = [{key: row[key] for key in ("name", "available", "next", "state")} for row in client.call("list")]
        if found == rows and all(row["state"] == "ready" for row in rows):
            return [{key: row[key] for key in ("name", "available", "next")} for row in rows]
        assert time.monotonic() < end, f"no rest: {found}"
        rows = found
        time.sleep(0.2)


def described(client, issued):
    told = {"list": settled(client), "issued": issued}
    told["gaps"] = {name: [[gap["first"], gap["count"], gap["cause"]] for gap in client.call("gaps", name)["gaps"]] for name in issued}
    told["audit"] = {name: {key: client.call("audit", name)[key] for key in ("leased", "issued", "available", "returned", "gaps")} for name in issued}
    return told


def exchanged(client):
    """The bytes of each request and of its reply, in hexadecimal digits."""
    pairs = []
    for request in WIRE:
        client.send(msgpack.packb(request))
        reply, reading = b"", msgpack.Unpacker(strict_map_key=False)
        while not list(reading):
            data = client.socket.recv(1 << 16)
            assert data, f"no reply to {request}"
            reply += data
            reading.feed(data)
        pairs.append([msgpack.packb(request).hex(), reply.hex()])
    return pairs


def pack(state, to):
    """Sorted, and without what tells when and by whom: the daemon locks files, and the memory of SQLite's log goes with the process."""
    def plain(entry):
        entry.uid = entry.gid = entry.mtime = 0
        entry.uname = entry.gname = ""
        return entry

    with tarfile.open(to, "w:xz", preset=9) as archive:
        for path in sorted(state.iterdir()):
            if not path.name.endswith("-shm"):
                archive.add(path, arcname=path.name, filter=plain)


def main(seqd, revision="HEAD"):
    version = subprocess.run([seqd, "--version"], capture_output=True, text=True, check=True).stdout.split()[1]
    place = GOLDEN / version
    place.mkdir(exist_ok=True)
    (place / "vectors.json").write_bytes(subprocess.run(
        ["git", "show", f"{revision}:protocol/vectors.json"], cwd=GOLDEN, capture_output=True, check=True).stdout)
    golden = dict(CONFIGURATION)
    with tempfile.TemporaryDirectory() as scratch:
        daemon = harness.Daemon(Path(scratch), "wire")
        try:
            with daemon.start().connect() as client:
                golden["wire"] = exchanged(client)
        finally:
            daemon.close()
        for end in ("clean", "killed"):
            daemon = harness.Daemon(Path(scratch), end, daemon=golden["daemon"], sequences=golden["sequences"])
            try:
                with daemon.start().connect() as client:
                    client.call("hello", {"client": CLIENT, "name": "golden"})
                    golden[end] = described(client, take(client))
                    daemon.terminate() if end == "clean" else daemon.kill()
                pack(daemon.state, place / f"{end}.tar.xz")
            finally:
                daemon.close()
    (place / "golden.json").write_text(json.dumps(golden, indent=1, sort_keys=True) + "\n")
    print(f"{place}: " + ", ".join(f"{path.name} {path.stat().st_size}" for path in sorted(place.iterdir())))


if __name__ == "__main__":
    os.environ["SEQD_BIN"] = sys.argv[1]
    sys.path.insert(0, str(GOLDEN.parent / "integration"))
    # pylint: disable=import-error,wrong-import-position
    import harness
    from rpc import ids_of

    main(*sys.argv[1:])
