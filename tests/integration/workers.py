"""The workers of pytest-xdist (`pytest -n`): processes beside each other that take the files of the tests from one queue. A file stays
with one worker, with the servers of its own.

Loaded where there are workers only.
"""

from xdist.scheduler import LoadFileScheduling

# The files that take longest come first, so that the workers end at about the same time.
LONG_FILES = ("restart", "system_calls", "failpoints", "aws_credentials", "blocks", "replica_set", "seeds", "decommission", "restore")


def sort_long_files_first(items) -> None:
    rank = {f"test_{name}.py": number for number, name in enumerate(LONG_FILES)}
    items.sort(key=lambda item: rank.get(item.path.name, len(rank)))


class Workers(LoadFileScheduling):
    """A test by which its worker died, as one that hangs does, has failed; pytest-xdist 3.1 would run it again, in one worker after the
    other. The rest of its file is for the others."""

    def remove_node(self, node):
        work = self.assigned_work.pop(node)
        left = {file: tests for file, tests in work.items() if not all(tests.values())}
        died = None
        if left:
            tests = next(iter(left.values()))
            died = next(test for test, is_done in tests.items() if not is_done)
            tests[died] = True
        self.workqueue.update({file: tests for file, tests in left.items() if not all(tests.values())})
        if died is not None:
            for other in self.assigned_work:
                self._reschedule(other)
        return died
