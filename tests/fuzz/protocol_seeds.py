#!/usr/bin/python3
"""Writes the messages of protocol/vectors.json as seeds of a fuzz target.

Usage: protocol_seeds.py TARGET FOLDER
"""
import json
import pathlib
import sys

# protocol_frame_fuzz reads two bytes of its own before the stream: limits and size of pieces.
PREFIXES = {"protocol_frame_fuzz": [b"\x20\x00", b"\x21\x07"]}


def main() -> None:
    target, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    vectors = json.loads((pathlib.Path(__file__).parents[2] / "protocol/vectors.json").read_text())
    folder.mkdir(parents=True, exist_ok=True)
    for kind in ("requests", "bad_frames", "incomplete", "replies", "encode"):
        for index, vector in enumerate(vectors[kind]):
            for number, prefix in enumerate(PREFIXES.get(target, [b""])):
                seed = folder / f"{kind}-{index:03}-{number}"
                seed.write_bytes(prefix + bytes.fromhex(vector["hex"]))


main()
