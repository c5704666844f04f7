"""clang-tidy on every source. Most of its time goes into headers, so the sources of a folder are looked at together, as one file that
includes them: six times as fast as one by one. Sources that do not go together (names that both have) are looked at apart.

What was good is not looked at again: build/lint/tidy has a stamp by the contents of the sources, of all headers, and of the rules.

usage: tidy.py FLAGS...     the flags of the compiler; from the root
"""

import concurrent.futures
import hashlib
import itertools
import os
import pathlib
import subprocess
import sys
import tempfile

import tree as project

UNTIDIED = ("tests/fuzz/", "tests/bench/")
TOGETHER = 10
STAMPS = pathlib.Path("build/lint/tidy")
# An error, or a warning of names that both have. What each source has of its own, g++ finds.
COMPILER = "[clang-diagnostic-"
# clang-tidy ended by a signal: it does so with some sources together that it can take one by one.
CRASHED = "Stack dump:"


def groups(sources):
    """Neighbours of one folder, tests apart: they include the same headers."""
    def kind(name):
        return str(pathlib.PurePosixPath(name).parent), name.endswith("_test.cc")
    for _, members in itertools.groupby(sorted(sources, key=lambda name: (kind(name), name)), kind):
        members = list(members)
        for at in range(0, len(members), TOGETHER):
            yield members[at:at + TOGETHER]


def look_at(sources, flags):
    """What clang-tidy says of one unit of all of them; empty: nothing."""
    with tempfile.NamedTemporaryFile("w", suffix=".cc", dir=STAMPS, encoding="utf-8") as unit:
        unit.write("".join(f'#include "{name}"\n' for name in sources))
        unit.flush()
        ran = subprocess.run(["clang-tidy", "--quiet", "--checks=-bugprone-suspicious-include", unit.name, "--", *flags],
                             capture_output=True, text=True, check=False)
    return ran.stdout + ran.stderr if ran.returncode else ""


def complaints(sources, flags, rules):
    """What clang-tidy says of the sources; empty: nothing."""
    stamp = hashlib.sha256(rules)
    for name in sources:
        stamp.update(name.encode() + b"\0" + pathlib.Path(name).read_bytes())
    good = STAMPS / stamp.hexdigest()
    if good.exists():
        return ""
    said = look_at(sources, flags)
    if (COMPILER in said or CRASHED in said) and len(sources) > 1:
        half = len(sources) // 2
        said = complaints(sources[:half], flags, rules) + complaints(sources[half:], flags, rules)
    if not said:
        good.touch()
    return said


def main(flags):
    tree = project.Tree(".")
    STAMPS.mkdir(parents=True, exist_ok=True)
    rules = hashlib.sha256(repr(flags).encode())
    for name in [".clang-tidy", *(name for name in tree.sources() if not name.endswith(".cc"))]:
        rules.update(name.encode() + b"\0" + pathlib.Path(name).read_bytes())
    sources = [name for name in tree.sources() if name.endswith(".cc") and not name.startswith(UNTIDIED)]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        bad = 0
        for said in pool.map(lambda group: complaints(group, flags, rules.digest()), groups(sources)):
            bad += bool(said)
            print(said, end="", flush=True)
    print(f"tidy: {bad} groups are bad" if bad else f"tidy: good, {len(sources)} sources")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
