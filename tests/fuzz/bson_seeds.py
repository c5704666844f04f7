#!/usr/bin/python3
"""Writes seeds for bson_fuzz: bson_seeds.py TARGET FOLDER. A document with every kind of value, and one of each that is refused."""

import datetime
import sys
from pathlib import Path

import msgpack

GOOD = {"nil": None, "truth": True, "small": 7, "negative": -5, "wide": 2**62, "real": 0.5, "text": "Ada", "bytes": b"\x00\xff",
        "date": msgpack.Timestamp(1, 2_000_000), "list": [1, [2, {"a": 3}]], "map": {"b": {"c": "d"}}}
SEEDS = {
    "good": msgpack.packb(GOOD),
    "moment": msgpack.packb({"at": datetime.datetime(2026, 11, 21, tzinfo=datetime.timezone.utc)}, datetime=True),
    "unsigned": msgpack.packb({"a": 2**64 - 1}),
    "extension": msgpack.packb({"a": msgpack.ExtType(5, b"x")}),
    "nanoseconds": msgpack.packb({"a": msgpack.Timestamp(1, 1)}),
    "id": msgpack.packb({"_id": 1}),
    "twice": b"\x82\xa1a\x01\xa1a\x02",
    "deep": b"\x81\xa1a" + b"\x91" * 120 + b"\x01",
    "narrow": b"\x81\xa1a\xca\x3e\x20\x00\x00",
    "empty": b"\x80",
}

if __name__ == "__main__":
    folder = Path(sys.argv[2])
    for name, data in SEEDS.items():
        (folder / name).write_bytes(data)
