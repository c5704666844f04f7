"""The closing line of `make test` tells the truth, above all when something went wrong."""

import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import unittest

SECOND_TRY = str(pathlib.Path(__file__).with_name("catch_second_try.py"))
# A program of Catch2, whose console reporter wraps long names; tests/adapters/main.cc prints the names of the cases that failed.
CATCH_FAILS_ONCE = r"""#!/bin/bash
cd "$(dirname "$0")"
if [ -e again ]; then
  [ "$1" = 'ASKED' ] || { echo "No test cases matched '$1'"; echo 'No tests ran'; exit 0; }
  echo 'AGAIN'
  exit 0
fi
touch again
line=$(printf -- '-%.0s' {1..79})
fold -s -w 79 <<'END_OF_NAMES' | while read -r name; do printf '%s\n' "$name"; done >header
NAME
END_OF_NAMES
printf '%s\n' "$line" "$(cat header)" "$line" file.cc:17 '....' '' 'file.cc:20: FAILED:' '  REQUIRE( 1 == 2 )' '' 'FAILED CASEMARK: NAME' MORE
printf '%s\n' 'test cases:  3 |  2 passed | FAILURES failed' 'assertions: 9 | 8 passed | 1 failed'
END
"""
SUMMARY = str(pathlib.Path(__file__).with_name("summary.py"))


def closing_lines(*commands, longest="600"):
    arguments = [word for command in commands for word in ("part", command)]
    done = subprocess.run([sys.executable, SUMMARY, *arguments], capture_output=True, text=True, timeout=600, check=False,
                          env={**os.environ, "TEST_PART_SECONDS": longest})
    return done.stdout.splitlines(), done.returncode


def closing_line(*commands, longest="600"):
    lines, code = closing_lines(*commands, longest=longest)
    return lines[-1], code


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

    def tried_twice(self, **other):
        words = {"MARK": ", WAITED IN VAIN", "AGAIN": "All tests passed (3 assertions in 1 test case)", "END": "exit 1", "MORE": "",
                 "FAILURES": "1", "NAME": "Store: a name, of a case", **other}
        words.setdefault("ASKED", '"' + words["NAME"].replace(",", "\\,") + '"')
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder, "program")
            program.write_text(re.sub(r"\b(" + "|".join(words) + r")\b|(?<=CASE)MARK", lambda found: words[found.group()], CATCH_FAILS_ONCE))
            program.chmod(0o755)
            return closing_line(f"TEST_TRIES=2 {sys.executable} -B {SECOND_TRY} {program} '[tag]'")

    def test_a_case_of_catch_that_waited_in_vain_and_passes_when_it_is_repeated_is_unsteady(self):
        self.assertEqual(("3 passed, 0 failed", 0), self.tried_twice())
        self.assertEqual(("3 passed, 0 failed", 0), self.tried_twice(NAME="Store: a name, of a case" + 30 * " that goes on"))

    def test_a_case_of_catch_that_found_something_wrong_has_failed(self):
        self.assertEqual(("2 passed, 1 failed", 1), self.tried_twice(MARK=""))

    def test_a_program_of_catch_that_crashed_has_failed(self):
        for end in ("kill -ABRT $$", "echo 'due to a fatal error condition:'; exit 1", "echo '<2>seqd: CHECK failed at a.cc:1: false'; exit 1",
                    "echo 'WARNING: ThreadSanitizer: data race'; exit 66", "exit 134"):
            self.assertEqual(("2 passed, 1 failed", 1), self.tried_twice(END=end), end)

    def test_a_case_of_catch_that_was_not_repeated_has_failed(self):
        self.assertEqual(("2 passed, 1 failed", 1), self.tried_twice(AGAIN="All tests passed (3 assertions in 2 test cases)"))
        self.assertEqual(("2 passed, 1 failed", 1), self.tried_twice(AGAIN="No test cases matched"))
        self.assertEqual(("2 passed, 2 failed", 1), self.tried_twice(
            ASKED='"Another","Store: a name\\, of a case"', MORE="'FAILED CASE, WAITED IN VAIN: Another'", FAILURES="2"))

    def test_a_case_of_catch_that_is_not_named_has_failed(self):
        self.assertEqual(("2 passed, 1 failed", 1), self.tried_twice(MARK=" IS NOT SAID"))

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

    def test_the_target_of_make_that_failed_is_named(self):
        lines, _ = closing_lines("echo '5 passed, 0 failed'; echo 'make[2]: *** [packaging/make/test.mk:50: test-node] Error 1'; exit 2")
        self.assertRegex(lines[-2], r"^part: 5 good, 1 bad, of test-node \(")

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

    def beside(self, *words):
        done = subprocess.run([sys.executable, SUMMARY, *words], capture_output=True, text=True, timeout=600, check=False)
        return done.stdout.splitlines(), done.returncode

    def test_parts_beside_each_other_run_at_once_and_their_output_is_not_mixed(self):
        with tempfile.TemporaryDirectory() as folder:
            # Each waits for the other, which neither could one after the other.
            meet = "echo begin; {mine}; until [ -e {other} ]; do sleep 0.01; done; echo '{count} passed, {bad} failed'; exit {bad}"
            lines, code = self.beside(
                "first", meet.format(mine=f"touch {folder}/1", other=f"{folder}/2", count=2, bad=0),
                "--beside", "second", meet.format(mine=f"touch {folder}/2", other=f"{folder}/1", count=3, bad=1),
                "third", "echo '1 passed, 0 failed'")
        self.assertEqual(["--- first", "begin", "2 passed, 0 failed", "--- second", "begin", "3 passed, 1 failed", "--- third",
                          "1 passed, 0 failed", ""], lines[:9])
        self.assertEqual(("6 passed, 1 failed", 1), (lines[-1], code))

    def test_a_run_that_is_terminated_ends_the_parts_beside_each_other(self):
        command = "echo $$ >{}; exec tail -f /dev/null"
        with tempfile.TemporaryDirectory() as folder:
            files = [pathlib.Path(folder, name) for name in ("1", "2")]
            with subprocess.Popen([sys.executable, SUMMARY, "first", command.format(files[0]) + "; echo", "--beside", "second",
                                   command.format(files[1])], stdout=subprocess.DEVNULL) as run:
                while not all(file.exists() and file.read_text() for file in files):
                    self.assertIsNone(run.poll())
                run.terminate()
                self.assertEqual(128 + signal.SIGTERM, run.wait(timeout=600))
            for file in files:
                with self.assertRaises(ProcessLookupError):
                    os.kill(int(file.read_text()), 0)

    def test_arguments_that_are_no_parts_are_refused(self):
        for words in ([], ["first"], ["--beside", "first", "true"], ["first", "true", "--beside", "second"], ["first", "--beside", "true"]):
            self.assertEqual(([], 2), self.beside(*words), words)

    def test_a_part_after_a_failed_one_runs_all_the_same(self):
        self.assertEqual(("2 passed, 1 failed", 1), closing_line("false", "echo '2 passed, 0 failed'"))


if __name__ == "__main__":
    unittest.main()
