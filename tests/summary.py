"""Runs the parts of the tests one after the other, shows what they print, and closes with "N passed, N failed" alone on
a line: the sum of what Catch2, pytest, unittest and our own scripts said. A part that ran no test has failed, and so has
one that ends with an error, whatever it printed. A skipped test counts as failed; what this machine cannot show at all
(a test that needs loop devices) counts as neither, and is said in the line of its part.

usage: summary.py TITLE COMMAND [TITLE COMMAND]...
"""

import contextlib
import os
import re
import signal
import subprocess
import sys
import threading
import time

ESCAPES = re.compile(r"\x1b\[[0-9;]*m")
CATCH_ALL = re.compile(r"^All tests passed \(\d+ assertions? in (\d+) test cases?\)$")
CATCH_SOME = re.compile(r"^test cases:\s*\d+ \|(.*)$")
CATCH_NONE = re.compile(r"^No tests ran$")
PYTEST = re.compile(r"^=*\s*((?:\d+ [a-z]+(?:, )?)+) in [\d.]+s(?: \([\d:]+\))?\s*=*$")
UNITTEST = re.compile(r"^Ran (\d+) tests? in [\d.]+s$")
UNITTEST_END = re.compile(r"^(OK|FAILED)(?: \((.*)\))?$")
OWN = re.compile(r"^(\d+) passed, (\d+) failed$")
PASSED = {"passed", "xpassed"}
IGNORED = {"warning", "warnings", "deselected"}
# A part that takes longer hangs, and what still holds its output when it has ended would keep us waiting for ever.
LONGEST_SECONDS = float(os.environ.get("TEST_PART_SECONDS", "7200"))
AFTERWARDS_SECONDS = min(30.0, LONGEST_SECONDS)
UNSTEADY = "unsteady"  # failed, and passed when it was repeated: tests/integration/second_tries.py
UNSHOWN = "unshown"  # what this machine cannot do; tests/integration/conftest.py says why


class Count:
    """What one part said about its tests, line by line."""

    def __init__(self):
        self.passed = 0
        self.failed = 0
        self.unshown = 0
        self.unsteady = 0
        self.unittest_ran = 0
        self.seconds = 0.0

    def read(self, line):
        line = ESCAPES.sub("", line).strip()
        if match := CATCH_ALL.match(line):
            self.passed += int(match.group(1))
        elif match := CATCH_SOME.match(line):
            self.add_words(re.findall(r"(\d+) ([a-z]+)", match.group(1)))
        elif CATCH_NONE.match(line):
            self.failed += 1
        elif match := OWN.match(line):
            self.passed += int(match.group(1))
            self.failed += int(match.group(2))
        elif match := PYTEST.match(line):
            self.add_words(re.findall(r"(\d+) ([a-z]+)", match.group(1)))
        elif match := UNITTEST.match(line):
            self.unittest_ran = int(match.group(1))
        elif match := UNITTEST_END.match(line):
            bad = sum(int(number) for number in re.findall(r"=(\d+)", match.group(2) or ""))
            self.failed += bad
            self.passed += max(0, self.unittest_ran - bad)
            self.unittest_ran = 0

    def add_words(self, pairs):
        for number, word in pairs:
            if word in PASSED:
                self.passed += int(number)
            elif word == UNSHOWN:
                self.unshown += int(number)
            elif word == UNSTEADY:
                self.unsteady += int(number)
            elif word not in IGNORED:
                self.failed += int(number)


def end_group(part):
    with contextlib.suppress(ProcessLookupError):
        os.killpg(part.pid, signal.SIGKILL)


def end_in_time(part, read, said):
    """Ends the processes of a part that hangs, or that leaves some behind: the reader of its output then sees the end."""
    try:
        part.wait(LONGEST_SECONDS)
        if not read.wait(AFTERWARDS_SECONDS):
            said.append("processes of it went on after its end")
    except subprocess.TimeoutExpired:
        said.append(f"did not end within {LONGEST_SECONDS:.0f} s")
    if said:
        end_group(part)


def run_part(title, command):
    print(f"--- {title}", flush=True)
    # A make below us must not believe that it shares the jobs of the make above.
    environment = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
    count, read, said = Count(), threading.Event(), []
    began = time.monotonic()
    with subprocess.Popen(command, shell=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                          text=True, errors="replace", env=environment, start_new_session=True) as part:
        guard = threading.Thread(target=end_in_time, args=(part, read, said))
        guard.start()
        try:
            for line in part.stdout:
                print(line, end="", flush=True)
                count.read(line)
        except BaseException:  # an interrupt, which does not reach a session of its own
            end_group(part)
            raise
        finally:
            read.set()
            guard.join()
    count.seconds = time.monotonic() - began
    for words in said:
        print(f"--- {title}: {words}")
        count.failed += 1
    if part.returncode != 0 and count.failed == 0:
        print(f"--- {title}: ended with {part.returncode}, though no test had failed")
        count.failed += 1
    elif count.passed + count.failed + count.unshown == 0:
        print(f"--- {title}: no test ran")
        count.failed += 1
    return count


def end_by_signal(number, _frame):
    raise SystemExit(128 + number)


def main(arguments):
    # What ends us does not reach the parts, which have sessions of their own: run_part() ends them on the way out.
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, end_by_signal)
    if not arguments or len(arguments) % 2:
        print(__doc__, file=sys.stderr)
        return 2
    counts = [(title, run_part(title, command)) for title, command in zip(arguments[::2], arguments[1::2])]
    print()
    for title, count in counts:
        unshown = f", {count.unshown} NOT SHOWN on this machine" if count.unshown else ""
        unsteady = f", {count.unsteady} UNSTEADY" if count.unsteady else ""
        print(f"{title}: {count.passed} good, {count.failed} bad{unshown}{unsteady} ({count.seconds:.0f} s)")
    passed, failed = (sum(getattr(count, name) for _, count in counts) for name in ("passed", "failed"))
    print(f"{passed} passed, {failed} failed", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
