#!/usr/bin/python3
"""Writes seeds for config_fuzz: config_seeds.py TARGET FOLDER.

The sample configuration as it is, each of its options alone in its table, and all options of a table together.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).parents[2]
EXAMPLES = re.compile(r"^ *```toml\n(.*?)^ *```", re.MULTILINE | re.DOTALL)


def tables(sample: str) -> dict:
    """The options of each table, without the sign that makes them comments."""
    found, name = {}, ""
    for line in sample.splitlines():
        if header := re.fullmatch(r"#?(\[[^ ]+\])", line):
            name = header[1]
        elif re.match(r"#?[a-z_]+ = ", line):
            found.setdefault(name, []).append(line.lstrip("#"))
    return found


def main() -> None:
    folder = pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    sample = (ROOT / "packaging/seqd.toml").read_text()
    seeds = [sample]
    for page in sorted((ROOT / "daemon/doc").glob("*.md")):
        seeds += EXAMPLES.findall(page.read_text())
    for name, options in tables(sample).items():
        seeds += ["\n".join([name, *options]), *(f"{name}\n{option}" for option in options)]
    for number, seed in enumerate(seeds):
        (folder / f"{number:03}").write_text(seed)


main()
