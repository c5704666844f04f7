"""The lines of documents have at most 100 characters: those of prose, without tables, headings, code and where links lead to."""

import re

import tree as project

MOST = 100
TARGET = re.compile(r"(?<=\])\([^)\s]+\)")
NO_PROSE = ("|", "#", "    ", "\t")


def long_lines(lines):
    """The numbers of them."""
    found, in_code = [], False
    for number, line in enumerate(lines, 1):
        if line.lstrip().startswith("```"):
            in_code = not in_code
        elif not in_code and not line.startswith(NO_PROSE) and len(TARGET.sub("", line)) > MOST:
            found.append(number)
    return found


def check(tree):
    return [f"{name}:{number}: has more than {MOST} characters: wrap it"
            for name in tree.files() if name.endswith(".md")
            for number in long_lines(tree.lines(name))]


if __name__ == "__main__":
    project.main(check, "columns")
