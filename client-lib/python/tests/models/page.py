"""MODELS.md, of the table that the tests read.

usage: page.py > MODELS.md
"""

import json
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
PAGE = HERE.parents[1] / "MODELS.md"

HEAD = """# Models: every way of writing rows

What becomes of the numbers of `seqd.sqlalchemy` and `seqd.django` in each way of writing. This page
is made of [ways.json](tests/models/ways.json), and a test tries each row with each version.

- **a number each**: each row has a number of its own.
- **refused**: the call raises `seqd.ArgumentError`, whose text says what to do; nothing is written.
- **the same number**: it is that of the attempt before.
- **refused by the database**: it raises the `IntegrityError` of the database.
- **no number**: the rows have NULL; the note says why.
"""


def lines(rows):
    """(way, result, note) of each line: rows that differ in what is behind the colon are one."""
    kinds = {}
    for row in rows:
        way, _, kind = row["way"].partition(": ")
        kinds.setdefault((way, row["result"], row.get("note", "")), []).append(kind)
    for (way, result, note), which in kinds.items():
        yield ": ".join([way, *([", ".join(which)] if any(which) else [])]), result, note


def page(table):
    """The text of the page."""
    parts = [HEAD]
    for one in table.values():
        parts.append(f"\n## {one['title']}\n\n{one['head']}\n\n| way | result | note |\n|---|---|---|\n")
        for way, result, note in lines(one["ways"]):
            parts.append(f"| {way} | {result} | {note} |\n")
    return "".join(parts)


if __name__ == "__main__":
    sys.stdout.write(page(json.loads((HERE / "ways.json").read_text())))
