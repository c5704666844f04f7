"""The sources that clang-tidy has to look at again: those that differ from the commit named in tests/lint/tidied, at which the
whole tree was good. A header that differs is seen through one source: its own, else its test, else the first that includes it.
Without that commit (a shallow clone, an archive) it is every source.

usage: changed.py [ROOT]    prints one path a line
"""

import pathlib
import re
import subprocess
import sys

import tree as project

UNTIDIED = ("tests/fuzz/", "tests/bench/")
HEADERS = {".h", ".hpp", ".def"}


def known_good(tree):
    return next((line.strip() for line in tree.lines("tests/lint/tidied") if line and not line.startswith("#")), "")


def differing(tree, commit):
    """The names that differ from `commit`, with what git does not track yet; None where the commit is not known here."""
    def git(*arguments):
        return subprocess.run(["git", "-C", str(tree.root), *arguments], capture_output=True, text=True, check=False)
    changed = git("diff", "--name-only", commit, "--") if commit else None
    if changed is None or changed.returncode != 0:
        return None
    untracked = git("ls-files", "--others", "--exclude-standard")
    return set(changed.stdout.splitlines()) | set(untracked.stdout.splitlines())


def seen_through(tree, header, sources):
    """One source through which clang-tidy sees the header."""
    stem = str(pathlib.PurePosixPath(header).with_suffix(""))
    for name in (f"{stem}.cc", f"{stem}_test.cc"):
        if name in sources:
            return name
    include = re.compile(rf'^\s*#\s*include\s*"{re.escape(header)}"', re.MULTILINE)
    return next((name for name in sources if include.search(tree.text(name))), None)


def to_tidy(tree, changed):
    sources = [name for name in tree.sources() if name.endswith(".cc") and not name.startswith(UNTIDIED)]
    # Other rules or another way to call it: all is to be looked at again.
    if changed is None or ".clang-tidy" in changed:
        return sources
    chosen = {name for name in sources if name in changed}
    for header in tree.sources():
        if header in changed and pathlib.PurePosixPath(header).suffix in HEADERS:
            chosen.add(seen_through(tree, header, sources))
    return sorted(chosen - {None})


if __name__ == "__main__":
    checkout = project.Tree(sys.argv[1] if len(sys.argv) > 1 else ".")
    print("\n".join(to_tidy(checkout, differing(checkout, known_good(checkout)))))
