"""Runs a Catch2 program with a filter, and where TEST_TRIES=2 the cases that failed once more: see tests/integration/second_tries.py.

usage: catch_second_try.py PROGRAM FILTER
"""

import os
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).with_name("integration")))
from second_tries import FINAL, TRIES

CASE = re.compile(r"^-{79}\n(.+(?:\n.+)*?)\n-{79}\n\S+:\d+\n", re.M)
COUNT = re.compile(r"^(?:test cases: |assertions: |All tests passed).*\n", re.M)
TOTAL = re.compile(r"^test cases:\s*(\d+) \|", re.M)


def run(command):
    """What it printed is shown at once, but for its closing lines."""
    said = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace") as program:
        for line in program.stdout:
            said.append(line)
            if not COUNT.match(line):
                print(line, end="", flush=True)
    return program.returncode, "".join(said)


def failed_cases(output):
    """Their names. None: they cannot be told, or a second try would not be right."""
    total = TOTAL.search(output)
    # The first line of a header is the name of the case, sections follow with two spaces before them.
    names = {match.group(1).split("\n  ")[0].replace("\n", " ") for match in CASE.finditer(output)}
    if total is None or not names or FINAL.search(output):
        return None
    return sorted(names)


def main():
    program, chosen = sys.argv[1:]
    status, output = run([program, chosen])
    names = failed_cases(output) if status != 0 and TRIES > 1 else None
    if names is not None:
        pattern = ",".join('"' + name.replace("\\", "\\\\").replace(",", "\\,").replace("[", "\\[").replace('"', '\\"') + '"' for name in names)
        print(f"once more: {pattern}", flush=True)
        second, again = run([program, pattern])
        if second == 0 and "No tests ran" not in again:
            for name in names:
                print(f"UNSTEADY, it passed when it was repeated: {name}")
            print(f"{TOTAL.search(output).group(1)} passed, {len(names)} unsteady in 0.00s")
            return 0
    for line in COUNT.findall(output):
        print(line, end="")
    return status


if __name__ == "__main__":
    sys.exit(main())
