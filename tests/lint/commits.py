"""Subjects of commits, from the one that brought this check on: `area: imperative`, at most 72 characters.

A commit that has `Refactoring.` as a line of its body leaves tests/sim/digest as it is.
"""

import re
import subprocess

import tree as project

LONGEST = 72
DIGEST = "tests/sim/digest"
SELF = "tests/lint/commits.py"
FORM = re.compile(r"[a-z][a-z0-9-]*: [a-z].*[^.]")
NUMBER = re.compile(r"\(\d+\)|\bdecisions? \d")


def complaints_of(subject, body, files):
    """What is wrong with one commit; files: those that it changes."""
    if not FORM.fullmatch(subject):
        yield "is not `area: imperative`, in lower case and without a full stop"
    if len(subject) > LONGEST:
        yield f"has {len(subject)} characters, {LONGEST} allowed"
    if NUMBER.search(subject):
        yield "has the number of a decision: say what it is about"
    if "Refactoring." in body.splitlines() and DIGEST in files:
        yield f"is a refactoring by its body, and changes {DIGEST}"


def check(tree):
    def git(*words):
        return subprocess.run(["git", "-c", "safe.directory=*", "-C", str(tree.root), *words], capture_output=True, text=True, check=True).stdout

    if not (tree.root / ".git").exists():  # of a tarball
        return []
    first = git("log", "--diff-filter=A", "--format=%H", "--", SELF).split()
    complaints = []
    # A clone without history has one commit, which has brought everything.
    for commit in git("rev-list", f"{first[-1]}..HEAD").split() if first else []:
        subject, _, body = git("show", "--no-patch", "--format=%B", commit).partition("\n")
        files = git("diff-tree", "--no-commit-id", "--name-only", "-r", commit).split("\n")
        complaints += [f"commit {commit[:8]} `{subject}` {what}" for what in complaints_of(subject, body, files)]
    return complaints


if __name__ == "__main__":
    project.main(check, "commits")
