#!/usr/bin/python3
"""Writes the texts of protocol/vectors.json as seeds: a template, a newline, a text.

Usage: text_seeds.py TARGET FOLDER
"""
import json
import pathlib
import sys


def main() -> None:
    folder = pathlib.Path(sys.argv[2])
    vectors = json.loads((pathlib.Path(__file__).parents[2] / "protocol/vectors.json").read_text())
    folder.mkdir(parents=True, exist_ok=True)
    for index, vector in enumerate(vectors["texts"]):
        (folder / f"{index:03}").write_text(vector["format"] + "\n" + vector["text"])


main()
