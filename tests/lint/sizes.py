"""Files stay small enough to be read at once: headers under 150 lines, sources under 400, tests under 700.

The headers that are installed are a manual as well, and have 200.
"""

import pathlib

import tree as project

HEADER, PUBLIC_HEADER, SOURCE, TEST = 150, 200, 400, 700
INSTALLED = tuple("client-lib/" + name for name in ("seqd.h", "seqd_blocks.h", "seqd_codes.h", "seqd.hpp", "seqd_blocks.hpp", "seqd_result.hpp"))
MEASURED = {".h", ".hpp", ".c", ".cc", ".py", ".sh", ".js", ".mjs", ".ts", ".mts"}


def limit_of(name):
    if project.is_test(name) or name.endswith(".py"):
        return TEST
    if name in INSTALLED:
        return PUBLIC_HEADER
    return HEADER if name.endswith((".h", ".hpp")) else SOURCE


def check(tree):
    complaints = []
    for name in tree.files():
        if pathlib.PurePosixPath(name).suffix not in MEASURED:
            continue
        count, limit = len(tree.lines(name)), limit_of(name)
        if count >= limit:
            complaints.append(f"{name}: {count} lines, {limit - 1} allowed: split it by idea")
    return complaints


if __name__ == "__main__":
    project.main(check, "sizes")
