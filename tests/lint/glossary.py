"""The glossary stays short: at most 34 entries, each of which is defined once, and used outside of the glossary.

A word is used if it stands in a document, or in a source that is no test, alone or as a name: "lease slot", lease_slot, LeaseSlot.
"""

import re

import tree as project

GLOSSARY = "daemon/doc/GLOSSARY.md"
MOST_ENTRIES = 34
HEADER = "| word | meaning |"
ENTRY = re.compile(r"^\| *([^|]*?) *\| *([^|]*?) *\|$")


def entries(lines):
    """(line number, word, meaning) of the tables of words; "identity (of a store)" defines "identity"."""
    found = []
    in_table = False
    for number, line in enumerate(lines, 1):
        if line == HEADER:
            in_table = True
        elif not line.startswith("|"):
            in_table = False
        elif in_table and not line.startswith("|--"):
            match = ENTRY.match(line)
            found.append((number, re.sub(r" \(.*\)$", "", match.group(1)), match.group(2)) if match else (number, "", ""))
    return found


def use_of(word):
    name = "[ _-]?".join(re.escape(part) for part in re.split(r"[ -]", word))
    return re.compile(rf"(?<![a-z])(?:{name})s?(?![a-z])", re.IGNORECASE)


def texts(tree):
    sources = set(tree.sources())
    return [tree.text(name) for name in tree.files()
            if name != GLOSSARY and not project.is_test(name) and (name in sources or name.endswith(".md"))]


def check(tree):
    if not (tree.root / GLOSSARY).is_file():
        return [f"{GLOSSARY}: is missing"]
    complaints = []
    found = entries(tree.lines(GLOSSARY))
    if not found:
        complaints.append(f"{GLOSSARY}: has no entry that this check can find: \"{HEADER}\" begins a table")
    if len(found) > MOST_ENTRIES:
        complaints.append(f"{GLOSSARY}: {len(found)} entries, {MOST_ENTRIES} allowed: merge two, or use a word of the field")
    written = texts(tree)
    defined = set()
    for number, word, meaning in found:
        if not word or not meaning:
            complaints.append(f"{GLOSSARY}:{number}: an entry is | word | meaning |")
        elif word.lower() in defined:
            complaints.append(f"{GLOSSARY}:{number}: \"{word}\" is defined twice")
        elif not any(use_of(word).search(text) for text in written):
            complaints.append(f"{GLOSSARY}:{number}: \"{word}\" is used nowhere else")
        defined.add(word.lower())
    return complaints


if __name__ == "__main__":
    project.main(check, "glossary")
