"""The decisions stay short and can be found: each has one number in one topic, the table of topics lists all of them, and a reference
to a number leads to an entry, also one in code, tests and other documents.
"""

import re

import tree as project

DECISIONS = "daemon/doc/DECISIONS.md"
WITH_WRONG_NUMBERS = "tests/lint/lint_test.py"  # which tries them
MOST_WORDS = 150  # of an entry
TOPIC = re.compile(r"^## (.+?) *$")
ENTRY = re.compile(r"^### (\d+)\. \S")
ROW = re.compile(r"^\| *\[(.+?)\]\(#[^)]*\) *\| *([\d, ]+?) *\|$")
NUMBERS = r"\d+(?:(?:, | and )\d+)*"
WITHIN = re.compile(rf"(?<![\w`])\(({NUMBERS})\)")  # not membarrier(2)
ELSEWHERE = re.compile(rf"\bdecisions? ({NUMBERS})\b|DECISIONS\.md(?:\]\([^)\s]*\))?,? ({NUMBERS})\b", re.IGNORECASE)


def numbers_in(text):
    return [int(one) for one in re.findall(r"\d+", text)]


def read(lines):
    """The topics with their numbers, those of the table, the words of each entry by its number, and complaints."""
    topics, table, words, complaints = {}, {}, {}, []
    topic = entry = None
    for number, line in enumerate(lines, 1):
        if match := ROW.match(line):
            table[match.group(1)] = numbers_in(match.group(2))
        elif match := TOPIC.match(line):
            topic, entry = match.group(1), None
            topics.setdefault(topic, [])
        elif match := ENTRY.match(line):
            entry = int(match.group(1))
            if topic is None:
                complaints.append(f"{DECISIONS}:{number}: entry {entry} is in no topic")
            else:
                topics[topic].append(entry)
            if entry in words:
                complaints.append(f"{DECISIONS}:{number}: the number {entry} is used twice")
            words[entry] = 0
        elif line.startswith("###"):
            complaints.append(f"{DECISIONS}:{number}: an entry is \"### NUMBER. Title\"")
        elif entry is not None:
            words[entry] += len(line.split())
    return topics, table, words, complaints


def dangling(name, lines, pattern, known):
    return [f"{name}:{number}: refers to decision {one}, which is not there"
            for number, line in enumerate(lines, 1) for match in pattern.finditer(line)
            for one in numbers_in(" ".join(filter(None, match.groups()))) if one not in known]


def check(tree):
    if not (tree.root / DECISIONS).is_file():
        return [f"{DECISIONS}: is missing"]
    lines = tree.lines(DECISIONS)
    topics, table, words, complaints = read(lines)
    for topic, numbers in topics.items():
        if table.get(topic) != numbers:
            complaints.append(f"{DECISIONS}: the table needs \"{topic}\" with {', '.join(map(str, numbers))}")
        if numbers != sorted(numbers):
            complaints.append(f"{DECISIONS}: the numbers of \"{topic}\" do not increase")
    complaints += [f"{DECISIONS}: the table has the topic \"{topic}\", which is not there" for topic in table if topic not in topics]
    complaints += [f"{DECISIONS}: entry {entry} has {count} words, {MOST_WORDS} allowed" for entry, count in words.items() if count > MOST_WORDS]
    complaints += dangling(DECISIONS, lines, WITHIN, words)
    for name in tree.files():
        if name not in (DECISIONS, WITH_WRONG_NUMBERS) and tree.is_text(name):
            complaints += dangling(name, tree.lines(name), ELSEWHERE, words)
    return complaints


if __name__ == "__main__":
    project.main(check, "decisions")
