"""Nothing unfinished, nothing of one machine, no hidden tests, no sleeping tests, and no word that the glossary gave up."""

import ast
import re

import tree as project

# Written in pieces, so that this file does not complain about itself.
UNFINISHED = re.compile(r"\b(TO" r"DO|FIX" r"ME|X" r"XX|HA" r"CK|st" r"ub|not imple" r"mented|for n" r"ow|place" r"holder)\b")
MACHINE = re.compile(r"/wo" r"rk/|/ro" r"ot/|/ho" r"me/[a-z]+/|\.\./sha" r"red")
# daemon/doc/GLOSSARY.md says what to write for them. A history of version 1 has two of them in its file.
GIVEN_UP = re.compile(r"\b(in h" r"and|in_h" r"and|giv(?:e|es|en|ing) b" r"ack|given_b" r"ack|an" r"ew|on_its_w" r"ay|on_ord" r"er|sha" r"pes?|"
                      r"retire" r"ment|empty_hand" r"ed|la" r"nes?)\b", re.IGNORECASE)
MAY_SAY_THEM = ("daemon/doc/GLOSSARY.md", "daemon/store/history/history_database.cc", "daemon/store/history/history_file_test.cc")
HIDDEN = re.compile(r"\[\.\]|\[!may" r"fail\]|\[!should" r"fail\]|\bSK" r"IP\(|pytest\.(sk" r"ip|mark\.(sk" r"ip|xf" r"ail))")
SLEEP = re.compile(r"\b(sleep_for|sleep_until|usleep|nanosleep|sleep)\s*\(")
SHELL_SLEEP = re.compile(r"^\s*sleep\b")


def sleeps_outside_of_loops(text):
    """Python: a sleep between two looks at a condition is a wait for an event; one that stands alone is a guess."""
    found = []

    def visit(node, in_loop):
        if isinstance(node, ast.Call) and not in_loop:
            called = node.func
            if (isinstance(called, ast.Attribute) and called.attr == "sleep") or (
                    isinstance(called, ast.Name) and called.id == "sleep"):
                found.append(node.lineno)
        if isinstance(node, (ast.FunctionDef, ast.Lambda)):
            in_loop = False
        in_loop = in_loop or isinstance(node, ast.While)
        for child in ast.iter_child_nodes(node):
            visit(child, in_loop)

    visit(ast.parse(text), False)
    return found


def sleep_complaints(tree, name):
    if not project.is_test(name):
        return []
    if name.endswith(".py"):
        lines = sleeps_outside_of_loops(tree.text(name))
    elif name.endswith("_test.cc") or name.startswith(("tests/unit/", "tests/adapters/")):
        lines = [number for number, line in enumerate(tree.lines(name), 1) if SLEEP.search(line)]
    elif name.endswith(".sh"):
        lines = [number for number, line in enumerate(tree.lines(name), 1) if SHELL_SLEEP.match(line)]
    else:
        lines = []
    return [f"{name}:{number}: a test sleeps: step the clock or wait for the event" for number in lines]


def check(tree):
    complaints = []
    for name in tree.files():
        if not tree.is_text(name):
            continue
        for number, line in enumerate(tree.lines(name), 1):
            for pattern, what in ((UNFINISHED, "unfinished"), (MACHINE, "a path of one machine")):
                match = pattern.search(line)
                if match:
                    complaints.append(f"{name}:{number}: {what}: {match.group(0)}")
            match = GIVEN_UP.search(line)
            if match and name not in MAY_SAY_THEM:
                complaints.append(f"{name}:{number}: the glossary gave up \"{match.group(0)}\"")
            if project.is_test(name) and HIDDEN.search(line):
                complaints.append(f"{name}:{number}: a test that is hidden, skipped or may fail")
        complaints += sleep_complaints(tree, name)
    return complaints


if __name__ == "__main__":
    project.main(check, "words")
