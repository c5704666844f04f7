"""Runs a Catch2 program with a filter, and where TEST_TRIES=2 the cases that failed once more, if they failed for want of a server or of
time and of nothing else: see tests/integration/second_tries.py. tests/adapters/main.cc prints which these are; a program that crashed
has failed, as have the cases that it did not come to.

usage: catch_second_try.py PROGRAM FILTER
"""

import os
import re
import subprocess
import sys

TRIES = int(os.environ.get("TEST_TRIES", "1"))
CASE = re.compile(r"^FAILED CASE(, WAITED IN VAIN)?: (.+)$", re.M)
CRASH = re.compile(r"fatal error condition|CHECK failed|Sanitizer|runtime error: |terminate called")
COUNT = re.compile(r"^(?:test cases: |assertions: |All tests passed).*\n", re.M)
TOTAL = re.compile(r"^test cases:\s*(\d+) \|.*?(\d+) failed", re.M)
PASSED = re.compile(r"^All tests passed \(\d+ assertions? in (\d+) test cases?\)$", re.M)


def run(command):
    """What it printed is shown at once, but for its closing lines."""
    said = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace") as program:
        for line in program.stdout:
            said.append(line)
            if not COUNT.match(line):
                print(line, end="", flush=True)
    return program.returncode, "".join(said)


def cases_to_repeat(status, output):
    """Their names. Empty: none failed, they cannot be told, or a second try would not be right."""
    total = TOTAL.search(output)
    cases = CASE.findall(output)
    # A status above 128 may be a signal's; as many assertions as that fail for no want of time.
    if not 0 < status <= 128 or total is None or CRASH.search(output) or len(cases) != int(total.group(2)):
        return []
    return sorted(name for _, name in cases) if all(in_vain for in_vain, _ in cases) else []


def main():
    program, chosen = sys.argv[1:]
    status, output = run([program, chosen])
    names = cases_to_repeat(status, output) if TRIES > 1 else []
    if names:
        pattern = ",".join('"' + name.replace("\\", "\\\\").replace(",", "\\,").replace("[", "\\[").replace('"', '\\"') + '"' for name in names)
        print(f"once more: {pattern}", flush=True)
        second, again = run([program, pattern])
        passed = PASSED.search(again)
        if second == 0 and passed is not None and int(passed.group(1)) == len(names):
            for name in names:
                print(f"UNSTEADY, it passed when it was repeated: {name}")
            print(f"{TOTAL.search(output).group(1)} passed, {len(names)} unsteady in 0.00s")
            return 0
    for line in COUNT.findall(output):
        print(line, end="")
    return status


if __name__ == "__main__":
    sys.exit(main())
