#!/usr/bin/python3
"""Writes the messages of protocol/vectors.json as seeds of a fuzz target.

Usage: protocol_seeds.py TARGET FOLDER
"""
import json
import pathlib
import sys


def pieces(message: bytes) -> list[bytes]:
    """server_fuzz: a connection, what follows, and how many bytes; at most 255 of them in a piece."""
    cut = [message[at:at + 255] for at in range(0, len(message), 255)] or [b""]
    return [b"".join(b"\x00\x04" + bytes([len(piece)]) + piece for piece in cut)]


# What some targets read before the message: limits and the size of pieces, choices and the size of pieces.
FRAMES = {
    "protocol_frame_fuzz": lambda message: [b"\x20\x00" + message, b"\x21\x07" + message],
    "client_session_fuzz": lambda message: [b"\x02\xff" + message, b"\x0f\x02" + message],
    "server_fuzz": pieces,
}


def main() -> None:
    target, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    vectors = json.loads((pathlib.Path(__file__).parents[2] / "protocol/vectors.json").read_text())
    folder.mkdir(parents=True, exist_ok=True)
    frame = FRAMES.get(target, lambda message: [message])
    for kind in ("requests", "bad_frames", "incomplete", "replies", "encode"):
        for index, vector in enumerate(vectors[kind]):
            for number, seed in enumerate(frame(bytes.fromhex(vector["hex"]))):
                (folder / f"{kind}-{index:03}-{number}").write_bytes(seed)


main()
