"""The checks themselves: each one complains about what it is for, and about nothing in a good tree."""

import pathlib
import sys
import tempfile
import unittest

sys.path[:0] = [str(pathlib.Path(__file__).parent), str(pathlib.Path(__file__).resolve().parents[1])]
import columns  # noqa: E402
import commits  # noqa: E402
import decisions  # noqa: E402
import fault  # noqa: E402
import glossary  # noqa: E402
import includes  # noqa: E402
import links  # noqa: E402
import sizes  # noqa: E402
import state_machines  # noqa: E402
import tidy  # noqa: E402
import tree  # noqa: E402
import words  # noqa: E402


class Checks(unittest.TestCase):
    def complaints(self, check, files):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in files.items():
                path = pathlib.Path(folder) / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            return check(tree.Tree(folder))

    def assert_one(self, check, name, text):
        found = self.complaints(check, {name: text})
        self.assertEqual(len(found), 1, found)
        self.assertTrue(found[0].startswith(name), found)

    def test_sources_are_tidied_by_folders_and_tests_apart(self):
        names = ["a/z.cc", "a/b_test.cc", "a/c/d.cc", "a/b.cc", *(f"e/{at:02}.cc" for at in range(12))]
        found = list(tidy.groups(names))
        self.assertEqual(found[:3], [["a/b.cc", "a/z.cc"], ["a/b_test.cc"], ["a/c/d.cc"]])
        self.assertEqual([len(group) for group in found[3:]], [10, 2])

    def test_long_line_of_a_document_is_found(self):
        long = "a word " * 15
        self.assert_one(columns.check, "a.md", f"# {long}\n\n- {long}\n")
        self.assert_one(columns.check, "a.md", f"```\n{long}\n```\n{long}\n")
        link = "[a word](" + "a" * 100 + ".md)"
        kept = f"| {long} |\n\n    {long}\n\nBehind {link}.\n"
        self.assertEqual(self.complaints(columns.check, {"a.md": kept, "a.py": long}), [])

    def test_a_commit_whose_subject_is_wrong_is_found(self):
        wrong = ["Core: move names", "core: Move names", "core move names", "core: move names.", "core: " + "a" * 67,
                 "core: move names (61)", "core: revise decision 61", "Merge branch 'core'"]
        for subject in wrong:
            self.assertEqual(len(list(commits.complaints_of(subject, "", []))), 1, subject)
        for subject in ("core: move names", "core: " + "a" * 66, "lint-rules: hold 72 characters"):
            self.assertEqual(list(commits.complaints_of(subject, "", [])), [])

    def test_a_refactoring_that_changes_what_the_simulator_does_is_found(self):
        body = "Names know no sequences any more.\n\nRefactoring.\n"
        self.assertEqual(len(list(commits.complaints_of("core: move names", body, ["tests/sim/digest"]))), 1)
        self.assertEqual(list(commits.complaints_of("core: move names", body, ["tests/sim/main.cc"])), [])
        self.assertEqual(list(commits.complaints_of("core: hold names", "Longer.", ["tests/sim/digest"])), [])

    def test_upward_include_is_found(self):
        self.assert_one(includes.check, "daemon/core/a.h", '#include "daemon/rpc/router.h"\n')

    def test_sideward_include_is_found(self):
        self.assert_one(includes.check, "daemon/store/a.cc", '#include "daemon/os/journal/journal.h"\n')

    def test_room_of_core_that_knows_a_floor_above_or_beside_is_found(self):
        self.assert_one(includes.check, "daemon/core/sequence/a.h", '#include "daemon/core/table/b.h"\n')
        self.assert_one(includes.check, "daemon/core/leasing/a.cc", '#include "daemon/core/blocks/b.h"\n')
        self.assert_one(includes.check, "daemon/core/table/a.cc", '#include "daemon/core/a.h"\n')

    def test_room_of_core_without_a_floor_is_found(self):
        self.assert_one(includes.check, "daemon/core/attic/a.h", '#include "daemon/core/words/b.h"\n')
        self.assert_one(includes.check, "daemon/core/table/a.h", '#include "daemon/core/table/attic/b.h"\n')

    def test_room_of_core_that_knows_lower_floors_is_good(self):
        self.assertEqual([], self.complaints(includes.check, {
            "daemon/core/table/a.cc": '#include "daemon/core/table/a.h"\n#include "daemon/core/words/b.h"\n',
            "daemon/core/a.h": '#include "daemon/core/upkeep/b.h"\n#include "daemon/core/table/b.h"\n',
            "daemon/core/words/a_test.cc": '#include "daemon/core/table/b.h"\n',
        }))

    def test_a_picture_of_the_floors_that_is_wrong_is_found(self):
        picture = "\n".join(f"{floor:2}  {'  '.join(rooms)}" for floor, rooms in list(enumerate(includes.FLOORS, 1))[::-1]).replace("10  .", "10  Turn")
        self.assertEqual([], self.complaints(includes.check, {includes.ARCHITECTURE: picture}))
        self.assert_one(includes.check, includes.ARCHITECTURE, picture.replace("names", "maps"))
        self.assert_one(includes.check, includes.ARCHITECTURE, "no picture\n")

    def test_core_that_knows_the_wire_is_found(self):
        self.assert_one(includes.check, "daemon/core/a.h", '#include "protocol/messages.h"\n')

    def test_client_that_knows_the_daemon_is_found(self):
        self.assert_one(includes.check, "client-lib/a.cc", '#include "daemon/base/status.h"\n')

    def test_foreign_header_out_of_its_folder_is_found(self):
        self.assert_one(includes.check, "daemon/core/a.cc", "#include <uv.h>\n")
        self.assert_one(includes.check, "daemon/uv/a.cc", "#include <mongoc/mongoc.h>\n")
        self.assert_one(includes.check, "daemon/uv/a.cc", "#include <curl/curl.h>\n")
        self.assert_one(includes.check, "daemon/uv/a.cc", "#include <catch2/catch.hpp>\n")

    def test_operating_system_in_state_is_found(self):
        self.assert_one(includes.check, "daemon/state/a.cc", "#include <unistd.h>\n")
        self.assert_one(includes.check, "daemon/state/a_test.cc", "#include <sys/stat.h>\n")

    def test_unit_test_that_fetches_an_adapter_is_found(self):
        self.assert_one(includes.check, "daemon/core/a_test.cc", '#include "tests/adapters/server.h"\n')
        self.assert_one(includes.check, "daemon/core/a_test.cc", '#include "daemon/uv/loop.h"\n')

    def test_what_tests_share_is_good(self):
        self.assertEqual([], self.complaints(includes.check, {
            "daemon/state/a_test.cc": '#include "tests/unit/disk.h"\n',
            "protocol/a_test.cc": "#include <nlohmann/json.hpp>\n#include <fstream>\n",
            "daemon/uv/a_test.cc": '#include "daemon/os/clock.h"\n#include "tests/adapters/server.h"\n',
        }))

    def test_downward_includes_are_good(self):
        self.assertEqual([], self.complaints(includes.check, {
            "daemon/core/a.cc": '#include "daemon/core/a.h"\n#include "protocol/errors.h"\n#include <vector>\n',
            "daemon/uv/http/a.cc": '#include <curl/curl.h>\n#include "daemon/uv/loop.h"\n',
            "daemon/uv/a.cc": '#include <uv.h>\n#include "daemon/rpc/router.h"\n#include <unistd.h>\n',
            "daemon/main/a.cc": '#include "daemon/uv/loop.h"\n#include <toml++/toml.h>\n',
        }))

    def test_long_files_are_found(self):
        self.assert_one(sizes.check, "daemon/core/a.h", "\n" * 150)
        self.assert_one(sizes.check, "daemon/core/a.cc", "\n" * 400)
        self.assert_one(sizes.check, "daemon/core/a_test.cc", "\n" * 700)
        self.assert_one(sizes.check, "client-lib/node/tests/a.test.js", "\n" * 400)

    def test_files_just_below_the_limit_are_good(self):
        self.assertEqual([], self.complaints(sizes.check, {
            "daemon/core/a.h": "\n" * 149, "daemon/core/a.cc": "\n" * 399, "daemon/core/a_test.cc": "\n" * 699}))

    def test_unfinished_words_are_found(self):
        self.assert_one(words.check, "README.md", "TO" "DO: write\n")
        self.assert_one(words.check, "daemon/core/a.cc", "// what is in h" "and\n")
        self.assert_one(words.check, "README.md", "is given b" "ack\n")
        self.assert_one(words.check, "daemon/core/a.cc", "// a st" "ub\n")

    def complaints_about_glossary(self, entries, use="Counter, lease_slot and LeaseSlots\n", heading="| word | meaning |"):
        text = "\n".join(["# Glossary", "", heading, "|---|---|", *entries, "", "| not | but |", "|---|---|", "| sheaf | range |", ""])
        return self.complaints(glossary.check, {"daemon/doc/GLOSSARY.md": text, "daemon/core/a.h": use})

    def test_a_short_glossary_whose_words_are_used_is_good(self):
        self.assertEqual([], self.complaints_about_glossary(["| counter (of a store) | a number |", "| lease slot | a place |"]))
        words = [chr(97 + at // 26) + chr(97 + at % 26) for at in range(34)]
        self.assertEqual([], self.complaints_about_glossary([f"| {word} | a word |" for word in words], " ".join(words)))

    def test_a_glossary_of_more_than_34_entries_is_found(self):
        words = [chr(97 + at // 26) + chr(97 + at % 26) for at in range(35)]
        found = self.complaints_about_glossary([f"| {word} | a word |" for word in words], " ".join(words))
        self.assertEqual(len(found), 1, found)
        self.assertIn("35 entries, 34 allowed", found[0])

    def test_an_entry_that_is_wrong_is_found_and_named(self):
        whole = "| counter | a number |"
        for entry, what in (("| sheaf | a range |", ":6: \"sheaf\" is used nowhere else"), ("| count | a number |", "is used nowhere else"),
                            ("| Counter | a number |", ":6: \"Counter\" is defined twice"), ("| lease slot | |", ":6: an entry is"),
                            ("| lease slot | a | place |", ":6: an entry is")):
            found = self.complaints_about_glossary([whole, entry])
            self.assertEqual(len(found), 1, found)
            self.assertIn(what, found[0])

    def test_a_use_in_a_test_only_is_none(self):
        self.assertEqual(1, len(self.complaints(glossary.check, {
            "daemon/doc/GLOSSARY.md": "| word | meaning |\n|---|---|\n| counter | a number |\n", "daemon/core/a_test.cc": "counter\n"})))

    def test_a_glossary_that_is_missing_or_has_no_table_is_found(self):
        self.assertEqual(1, len(self.complaints(glossary.check, {"README.md": "counter\n"})))
        self.assertEqual(1, len(self.complaints_about_glossary(["| counter | a number |"], heading="| noun | meaning |")))

    def test_paths_of_one_machine_are_found(self):
        self.assert_one(words.check, "README.md", "see /ho" "me/somebody/notes\n")

    def test_sleeping_tests_are_found(self):
        self.assert_one(words.check, "daemon/core/a_test.cc", "  std::this_thread::sleep_for(1s);\n")
        self.assert_one(words.check, "tests/integration/a.py", "import time\ntime.sleep(1)\n")
        self.assert_one(words.check, "tests/service/a.sh", "sleep 3\n")

    def test_waiting_in_a_loop_is_good(self):
        self.assertEqual([], self.complaints(words.check, {
            "tests/integration/a.py": "import time\nwhile not ready():\n    time.sleep(0.01)\n"}))

    def test_hidden_tests_are_found(self):
        self.assert_one(words.check, "daemon/core/a_test.cc", 'TEST_CASE("a", "[' '.]") {}\n')

    def test_dead_links_are_found(self):
        self.assert_one(links.check, "README.md", "see [it](daemon/doc/NOTHING.md)\n")
        self.assert_one(links.check, "README.md", "# One heading\n\nsee [it](#another-heading)\n")
        self.assert_one(links.check, "README.md", "in daemon/core/nothing.h\n")

    def test_live_links_are_good(self):
        self.assertEqual([], self.complaints(links.check, {
            "README.md": "[a](daemon/doc/A.md#one-heading-in-c) [b](https://example.com/b) in daemon/core/a.h\n",
            "daemon/doc/A.md": "## One heading, in C\n[up](../../README.md)\n", "daemon/core/a.h": ""}))

    def complaints_about_decisions(self, change=("", ""), others=None):
        """About two entries in one topic, but for what the change replaces."""
        text = ("| topic | entries |\n|---|---|\n| [Loops](#loops) | 1, 3 |\n\n## Loops\n\n"
                "### 1. Loops have `ends`\nThey have (3). See fork(2).\n\n### 3. Ends have loops\nThey have (1, 3).\n")
        self.assertTrue(change[0] in text, change)
        return self.complaints(decisions.check, {decisions.DECISIONS: text.replace(*change), **(others or {})})

    def test_decisions_that_are_in_order_are_good(self):
        others = {"a.h": "// See decision 3.\n", "A.md": "([DECISIONS.md](DECISIONS.md), 1) and decisions 1 and 3.\n"}
        self.assertEqual([], self.complaints_about_decisions(others=others))

    def test_decisions_that_cannot_be_found_are_found(self):
        for change in (("| 1, 3 |", "| 1 |"), ("[Loops](#loops)", "[Ends](#ends)"), ("## Loops\n\n", "", 1), ("### 1.", "### 4."),
                       ("### 3.", "### 1."), ("### 3. ", "### "), ("(1, 3)", "(1, 4)"), ("They", "word " * (decisions.MOST_WORDS + 1))):
            self.assertTrue(self.complaints_about_decisions(change), change)

    def test_references_to_decisions_that_are_gone_are_found(self):
        for name, text in (("a.h", "// See decision 2.\n"), ("A.md", "(DECISIONS.md, 2)\n"), ("B.md", "[DECISIONS.md](DECISIONS.md), 2\n")):
            found = self.complaints_about_decisions(others={name: text})
            self.assertEqual([f"{name}:1: refers to decision 2, which is not there"], found)

    def complaints_about_machine(self, change):
        """About one whose diagram and table agree, but for what the change replaces in one of them."""
        header = ("// Door: a door.\n//\n//   open -> shut -> open     it closes and opens\n//   shut, open -> locked\n//\n// One thread.\n"
                  "enum class State : std::uint8_t { open, shut, locked };\nStateMachine<State> state_{kMoves, State::shut};\n")
        source = ('constexpr StateTable<Door::State> Door::kMoves = {\n    {State::open, "open", {State::shut, State::locked}},\n'
                  '    {State::shut,\n     "shut",\n     {State::open, State::locked}},\n    {State::locked, "locked", {}},\n};\n')
        whole = header + "@" + source
        self.assertEqual(1, whole.count(change[0]), change)
        header, source = whole.replace(*change).split("@")
        return self.complaints(state_machines.check, {"daemon/core/door.h": header, "daemon/core/door.cc": source})

    def test_a_state_machine_whose_diagram_is_its_table_is_good(self):
        self.assertEqual([], self.complaints_about_machine(("One thread", "Two threads")))
        self.assertEqual([], self.complaints_about_machine(("//   shut, open -> locked", "//   shut -> locked\n//   open -> locked")))

    def test_a_move_that_only_the_diagram_or_only_the_table_has_is_found_and_named(self):
        for change, words_of_it in (
                (("shut, open -> locked", "shut -> locked"), "daemon/core/door.h: the table has open -> locked"),
                (("-> open     it", "-> open -> locked, lost     it"), "daemon/core/door.h:3: the diagram has open -> lost"),
                (("{State::open, State::locked}", "{State::open}"), "daemon/core/door.h:4: the diagram has shut -> locked"),
                (('"locked", {}', '"locked", {State::open}'), "daemon/core/door.h: the table has locked -> open")):
            found = self.complaints_about_machine(change)
            self.assertEqual(len(found), 1, found)
            self.assertTrue(found[0].startswith(words_of_it), found)

    def test_a_diagram_that_cannot_be_read_is_found(self):
        for line in ("shut,open -> locked", "shut / open -> locked", "shut, open -> |-> locked"):
            found = self.complaints_about_machine(("shut, open -> locked", line))
            self.assertTrue(any("a line of a diagram is" in complaint for complaint in found), found)

    def test_a_table_that_is_not_of_its_states_is_found(self):
        for change in (('"shut"', '"closed"'), ("shut, locked }", "shut, locked, lost }"), ("enum class State", "enum class Other")):
            self.assertEqual(1, len(self.complaints_about_machine(change)), change)

    def test_a_machine_without_its_table_or_a_diagram_without_a_machine_is_found(self):
        self.assert_one(state_machines.check, "daemon/core/a.h", "StateMachine<State> state_{kMoves, State::idle};\n")
        self.assert_one(state_machines.check, "daemon/core/a.h", "// A\n//\n//   idle -> busy   begin()\n")

    def complaints_about_faults(self, change):
        """About a table that is whole, but for the change."""
        table = {row: f"| {row} | fault | promise | `tests/a.py::test_A[x]` `protocol/a_test.cc::AB` | x |" for row in fault.WANTED}
        change(table)
        files = {"tests/FAULTS.md": "\n".join(table.values()) + "\n", "tests/a.py": "def test_A(x):\n",
                 "tests/tools/a_test.cc": 'TEST_CASE("AB")', "protocol/a_test.cc": 'TEST_CASE(\n    "A"\n    "B", "[tag]") {}\n'}
        return self.complaints(lambda found: fault.complaints_about(found.root), files)

    def test_a_whole_table_of_faults_is_good(self):
        self.assertEqual([], self.complaints_about_faults(lambda table: None))

    def test_a_row_that_is_missing_or_says_nothing_is_found(self):
        self.assertEqual(1, len(self.complaints_about_faults(lambda table: table.pop("S9"))))
        self.assertEqual(1, len(self.complaints_about_faults(lambda table: table.update(S9="| S9 | fault | promise | some | x |"))))
        self.assertEqual([], self.complaints_about_faults(lambda table: table.update(S9="| S9 | a | b | not shown: too far | - |")))

    def test_a_test_that_does_not_exist_is_found(self):
        for name in ("`tests/a.py::test_B`", "`tests/b.py::test_A`", "`protocol/a_test.cc::A`", "`protocol/a_test.cc::ABC`"):
            change = {"S9": f"| S9 | fault | promise | {name} | x |"}
            self.assertEqual(1, len(self.complaints_about_faults(lambda table, change=change: table.update(change))), name)

    def test_a_test_that_is_part_of_no_program_is_found(self):
        change = {"S9": "| S9 | fault | promise | `tests/tools/a_test.cc::AB` | x |"}
        (complaint,) = self.complaints_about_faults(lambda table: table.update(change))
        self.assertIn("no program", complaint)


if __name__ == "__main__":
    unittest.main()
