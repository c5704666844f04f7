"""Runs the parts of the tests one after the other, shows what they print, and closes with "N passed, N failed" alone on
a line: the sum of what Catch2, pytest, unittest and our own scripts said. A part that ran no test has failed, and so has
one that ends with an error, whatever it printed. A skipped test counts as failed; what this machine cannot show at all
(a test that needs loop devices) counts as neither, and is said in the line of its part.

usage: summary.py TITLE COMMAND [[--beside] TITLE COMMAND]...

After --beside a part runs at the same time as the one before it; what it prints is shown when that one has ended.
"""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
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
MAKE = re.compile(r"^make(?:\[\d+\])?: \*\*\* \[(?:\S+: )?(\S+)\] Error \d+$")
PASSED = {"passed", "xpassed"}
IGNORED = {"warning", "warnings", "deselected"}
# A part that takes longer hangs, and what still holds its output when it has ended would keep us waiting for ever.
LONGEST_SECONDS = float(os.environ.get("TEST_PART_SECONDS", "7200"))
AFTERWARDS_SECONDS = min(30.0, LONGEST_SECONDS)
ENDING_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
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
        self.targets = []  # of make, that failed

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
        elif match := MAKE.match(line):
            self.targets.append(match.group(1))

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


@contextlib.contextmanager
def signals_wait():
    """What would end us does so afterwards: a part that is just being started is not known yet, and nobody would end it."""
    came = []
    former = {number: signal.signal(number, lambda number, _: came.append(number)) for number in ENDING_SIGNALS}
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)
        if came:
            signal.raise_signal(came[0])


class Part:
    """One part. Its reader is a thread of its own, so that parts can run beside each other."""

    def __init__(self, title, command):
        self.title = title
        self.command = command
        self.count = Count()
        self.output = sys.stdout
        self.process = None
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.is_read = threading.Event()
        self.said = []  # why it failed, apart from what its tests say

    def start(self):
        # A make below us must not believe that it shares the jobs of the make above.
        environment = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
        print(f"--- {self.title}", file=self.output, flush=True)
        with signals_wait():
            # pylint: disable-next=consider-using-with
            self.process = subprocess.Popen(self.command, shell=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                                            text=True, errors="replace", env=environment, start_new_session=True)
        self.reader.start()

    def read(self):
        began = time.monotonic()
        guard = threading.Thread(target=self.end_in_time, daemon=True)
        guard.start()
        for line in self.process.stdout:
            print(line, end="", file=self.output, flush=True)
            self.count.read(line)
        self.is_read.set()
        guard.join()
        self.count.seconds = time.monotonic() - began

    def end_in_time(self):
        """Ends the processes of a part that hangs, or that leaves some behind: the reader of its output then sees the end."""
        try:
            self.process.wait(LONGEST_SECONDS)
            if not self.is_read.wait(AFTERWARDS_SECONDS):
                self.said.append("processes of it went on after its end")
        except subprocess.TimeoutExpired:
            self.said.append(f"did not end within {LONGEST_SECONDS:.0f} s")
        if self.said:
            self.end()

    def end(self):
        if self.process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)

    def finish(self):
        """Waits for its end, and judges it."""
        self.reader.join()
        code, count = self.process.wait(), self.count
        count.failed += len(self.said)
        if code != 0 and count.failed == 0:
            self.said.append(f"ended with {code}, though no test had failed")
            count.failed += 1
        elif count.passed + count.failed + count.unshown == 0:
            self.said.append("no test ran")
            count.failed += 1
        for words in self.said:
            print(f"--- {self.title}: {words}", file=self.output)


def run_beside(parts):
    """All of them at once. The output of the first is shown as it comes, that of the others when those before them have ended."""
    with contextlib.ExitStack() as files:
        try:
            for part in parts[1:]:
                part.output = files.enter_context(tempfile.TemporaryFile("w+", errors="replace"))
            for part in parts:
                part.start()
            for part in parts:
                part.finish()
                if part.output is not sys.stdout:
                    part.output.seek(0)
                    shutil.copyfileobj(part.output, sys.stdout)
                sys.stdout.flush()
        except BaseException:  # an interrupt, which does not reach sessions of their own
            for part in parts:
                part.end()
                if part.process is not None:
                    part.process.wait()
            raise


def groups(arguments):
    """The parts of the command line, in groups that run beside each other. Raises ValueError."""
    found = []
    words = list(arguments)
    while words:
        beside = words[0] == "--beside"
        if beside:
            words.pop(0)
        if len(words) < 2 or "--beside" in words[:2] or (beside and not found):
            raise ValueError("a title or a command is missing")
        part = Part(words.pop(0), words.pop(0))
        if beside:
            found[-1].append(part)
        else:
            found.append([part])
    if not found:
        raise ValueError("there is no part")
    return found


def end_by_signal(number, _frame):
    raise SystemExit(128 + number)


def main(arguments):
    # What ends us does not reach the parts, which have sessions of their own: run_part() ends them on the way out.
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, end_by_signal)
    try:
        found = groups(arguments)
    except ValueError as error:
        print(f"summary.py: {error}\n{__doc__}", file=sys.stderr)
        return 2
    for parts in found:
        run_beside(parts)
    counts = [(part.title, part.count) for parts in found for part in parts]
    print()
    for title, count in counts:
        unshown = f", {count.unshown} NOT SHOWN on this machine" if count.unshown else ""
        unsteady = f", {count.unsteady} UNSTEADY" if count.unsteady else ""
        targets = f", of {' '.join(count.targets)}" if count.targets else ""
        print(f"{title}: {count.passed} good, {count.failed} bad{targets}{unshown}{unsteady} ({count.seconds:.0f} s)")
    passed, failed = (sum(getattr(count, name) for _, count in counts) for name in ("passed", "failed"))
    print(f"{passed} passed, {failed} failed", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
