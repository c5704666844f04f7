"""The closing line of `make test` tells the truth, above all when something went wrong."""

import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest

SECOND_TRY = str(pathlib.Path(__file__).with_name("catch_second_try.py"))
CATCH_FAILS_ONCE = """#!/bin/bash
cd "$(dirname "$0")"
if [ -e again ]; then
  [ "$1" = '"Store: a name\\, of a case"' ] || { echo "No tests ran"; exit 0; }
  echo 'All tests passed (3 assertions in 1 test case)'
  exit 0
fi
touch again
line=$(printf -- '-%.0s' {1..79})
printf '%s\\n' "$line" 'Store: a name, of a case' '  and a section' "$line" file.cc:17 '....' '' 'file.cc:20: FAILED:' '  WORDS' ''
printf '%s\\n' 'test cases:  3 |  2 passed | 1 failed' 'assertions: 9 | 8 passed | 1 failed'
exit 1
"""
SUMMARY = str(pathlib.Path(__file__).with_name("summary.py"))


def closing_line(*commands, longest="600"):
    arguments = [word for command in commands for word in ("part", command)]
    done = subprocess.run([sys.executable, SUMMARY, *arguments], capture_output=True, text=True, timeout=600, check=False,
                          env={**os.environ, "TEST_PART_SECONDS": longest})
    return done.stdout.splitlines()[-1], done.returncode


class Summary(unittest.TestCase):
    def test_counts_of_all_kinds_are_added(self):
        self.assertEqual(("19 passed, 0 failed", 0), closing_line(
            "echo 'All tests passed (14 assertions in 5 test cases)'",
            "echo '====== 6 passed, 2 warnings in 0.12s ======'",
            "printf 'Ran 3 tests in 0.047s\\n\\nOK\\n'",
            "echo '4 passed, 0 failed'; echo '1 passed, 0 failed'"))

    def test_failures_of_catch_are_counted(self):
        self.assertEqual(("4 passed, 1 failed", 1), closing_line(
            "echo 'test cases:  5 |  4 passed | 1 failed'; echo 'assertions: 9 | 8 passed | 1 failed'; exit 1"))

    def test_failures_errors_and_skips_of_pytest_are_failures(self):
        self.assertEqual(("2 passed, 6 failed", 1), closing_line(
            "echo '= 1 failed, 2 passed, 3 skipped, 2 errors in 61.00s (0:01:01) ='; exit 1"))

    def test_a_skipped_test_fails_the_run_even_when_pytest_is_content(self):
        self.assertEqual(("2 passed, 1 failed", 1), closing_line("echo '2 passed, 1 skipped in 0.01s'"))

    def test_what_passed_when_it_was_repeated_is_not_counted_again(self):
        self.assertEqual(("2 passed, 0 failed", 0), closing_line("echo '2 passed, 1 unsteady in 0.01s'"))

    def test_a_case_of_catch_that_passes_when_it_is_repeated_is_unsteady(self):
        for words, wanted in (("1 == 2", ("3 passed, 0 failed", 0)), ("issued twice", ("2 passed, 1 failed", 1))):
            with tempfile.TemporaryDirectory() as folder:
                program = pathlib.Path(folder, "program")
                program.write_text(CATCH_FAILS_ONCE.replace("WORDS", words))
                program.chmod(0o755)
                command = f"TEST_TRIES=2 {sys.executable} -B {SECOND_TRY} {program} '[tag]'"
                self.assertEqual(wanted, closing_line(command))

    def test_what_cannot_be_shown_is_neither_passed_nor_failed(self):
        self.assertEqual(("2 passed, 0 failed", 0), closing_line("echo '2 passed, 3 unshown in 0.01s'"))

    def test_failures_of_unittest_are_counted(self):
        self.assertEqual(("1 passed, 2 failed", 1), closing_line(
            "printf 'Ran 3 tests in 0.1s\\n\\nFAILED (failures=1, errors=1)\\n'; exit 1"))

    def test_a_part_without_tests_is_a_failure(self):
        self.assertEqual(("0 passed, 1 failed", 1), closing_line("true"))
        self.assertEqual(("0 passed, 1 failed", 1), closing_line("echo 'No tests ran'"))

    def test_a_part_that_ends_badly_is_a_failure_whatever_it_said(self):
        self.assertEqual(("5 passed, 1 failed", 1), closing_line("echo '5 passed, 0 failed'; kill -9 $$"))

    def test_a_part_that_cannot_be_started_is_a_failure(self):
        self.assertEqual(("0 passed, 1 failed", 1), closing_line("/nowhere/at/all"))

    def test_a_part_that_hangs_is_ended_and_fails(self):
        self.assertEqual(("4 passed, 1 failed", 1), closing_line(
            "echo '3 passed, 0 failed'; exec tail -f /dev/null", "echo '1 passed, 0 failed'", longest="1"))

    def test_what_a_part_leaves_behind_is_ended_and_fails(self):
        self.assertEqual(("4 passed, 1 failed", 1), closing_line(
            "tail -f /dev/null & echo '3 passed, 0 failed'", "echo '1 passed, 0 failed'", longest="1"))

    def test_a_run_that_is_terminated_ends_its_parts(self):
        with subprocess.Popen([sys.executable, SUMMARY, "part", "echo $$; exec tail -f /dev/null"], stdout=subprocess.PIPE,
                              text=True) as run:
            self.assertEqual("--- part\n", run.stdout.readline())
            part = int(run.stdout.readline())
            run.terminate()
            self.assertEqual(128 + signal.SIGTERM, run.wait(timeout=600))
        with self.assertRaises(ProcessLookupError):
            os.kill(part, 0)

    def test_a_part_after_a_failed_one_runs_all_the_same(self):
        self.assertEqual(("2 passed, 1 failed", 1), closing_line("false", "echo '2 passed, 0 failed'"))


if __name__ == "__main__":
    unittest.main()
