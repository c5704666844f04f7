"""Runs the tests that tests/FAULTS.md names for one row of the failure matrix, whatever kind they are: `make test-fault F=S9`.

usage: fault.py BUILD ROW        run them, exactly those
       fault.py BUILD --programs ROW   say which programs they need, for make
       fault.py --check          every row is there and every test that is named exists
"""

import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
ROW = re.compile(r"^\| ([BPDISCTR]\d+) \|(.*)\|$")
TEST = re.compile(r"`([^`]+?)::([^`]+)`")
NOT_SHOWN = "not shown"
# Rows of the matrix: every one has to be in the table.
WANTED = [f"{group}{number}" for group, count in (("B", 9), ("P", 12), ("D", 12), ("I", 9), ("S", 20), ("C", 12), ("T", 2), ("R", 11))
          for number in range(1, count + 1)]
# Which program the tests beside the code of a folder, and of the rooms in it, are part of.
PROGRAMS = {"protocol": "unit-tests", "daemon/base": "unit-tests", "daemon/core": "unit-tests", "daemon/rpc": "unit-tests",
            "daemon/state": "unit-tests", "tests/crash": "crash-tests", "tests/adapters": "adapter-tests", "daemon/uv": "adapter-tests",
            "daemon/store": "adapter-tests", "daemon/os": "adapter-tests", "daemon/main": "adapter-tests",
            "client-lib": "adapter-tests", "client-lib/seqctl": "adapter-tests"}


def rows(root=ROOT):
    """The rows in their order: name, the cells, and the tests as (file, name)."""
    found = []
    for line in (root / "tests" / "FAULTS.md").read_text(encoding="utf-8").splitlines():
        match = ROW.match(line)
        if match:
            cells = [cell.strip() for cell in match.group(2).split("|")]
            found.append((match.group(1), cells, TEST.findall(cells[2]) if len(cells) > 2 else []))
    return found


def test_exists(root, file, name):
    if not (root / file).is_file():
        return False
    content = (root / file).read_text(encoding="utf-8", errors="replace")
    if file.endswith(".py"):
        return re.search(rf"^def {re.escape(name.split('[')[0])}\(", content, re.M) is not None
    if file.endswith(".mk"):
        return re.search(rf"^{re.escape(name)}:", content, re.M) is not None
    if file.endswith(".sh"):
        return re.search(rf"\bcheck {re.escape(name)}$", content, re.M) is not None
    joined = re.sub(r'"\s*\n\s*"', "", content)  # names that are put together of several lines
    wanted = re.escape(name.removeprefix("Store: ").removesuffix("*")) if name.startswith("Store: ") else re.escape(name)
    return re.search(rf'_?TEST(?:_CASE)?\(\s*"{wanted}"', joined) is not None


def complaints_about(root):
    complaints = []
    named = [row for row, _, _ in rows(root)]
    complaints += [f"tests/FAULTS.md: the row {row} is missing" for row in WANTED if row not in named]
    complaints += [f"tests/FAULTS.md: the row {row} stands there twice" for row in sorted(set(named)) if named.count(row) > 1]
    for row, cells, tests in rows(root):
        if len(cells) != 4 or not all(cells):
            complaints.append(f"tests/FAULTS.md: {row}: four cells are wanted: fault, promise, test, what found it")
        elif not tests and not cells[2].startswith(NOT_SHOWN + ": "):
            complaints.append(f"tests/FAULTS.md: {row}: names no test, and does not say why it is not shown")
        complaints += [f"tests/FAULTS.md: {row}: there is no test {file}::{name}" for file, name in tests
                       if not test_exists(root, file, name)]
        complaints += [f"tests/FAULTS.md: {row}: {file} is part of no program" for file, name in tests
                       if test_exists(root, file, name) and program_of(file) is None]
    return complaints


def check():
    complaints = complaints_about(ROOT)
    for complaint in complaints:
        print(complaint)
    print(f"faults: {len(complaints)} complaints" if complaints else f"faults: good, {len(rows())} rows")
    return 1 if complaints else 0


def program_of(file):
    """What has to be built for a test of that file, None: nothing has it; a target of make builds for itself."""
    if file.endswith((".py", ".sh", ".mk")):
        return "all"
    folder = max((folder for folder in PROGRAMS if file.startswith(folder + "/")), key=len, default=None)
    return PROGRAMS.get(folder)


def commands(build, tests):
    """One command for all tests of a kind, so that a server is started once."""
    kinds = {}
    for file, name in tests:
        kind = {"py": "pytest", "sh": "service", "mk": "target"}.get(file.rpartition(".")[2]) or program_of(file)
        kinds.setdefault(kind, []).append((file, name))
    for kind, some in kinds.items():
        if kind == "pytest":
            yield [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", "-ra", *[f"{file}::{name}" for file, name in some]]
        elif kind == "service":
            yield ["tests/service/run.sh", build]
        elif kind == "target":
            yield ["make", "--no-print-directory", f"BUILD={build}", *[name for _, name in some]]
        else:
            # A comma would begin another pattern.
            program = [f"{build}/{kind}", ",".join(name.replace(",", "\\,") for _, name in some)]
            server = [sys.executable, "-B", "tests/integration/servers/with_mongo.py", "--"] if kind == "adapter-tests" else []
            yield server + program


def ran(command, tests):
    """Whether the command ran good tests, and those that were asked for: Catch2 is content with none."""
    environment = {**os.environ, "BUILD": command[1] if command[0].endswith("run.sh") else os.environ.get("BUILD", "build"),
                   "PYTHONDONTWRITEBYTECODE": "1"}
    output = []
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True,
                          errors="replace", env=environment) as process:
        for line in process.stdout:
            print(line, end="", flush=True)
            output.append(line)
    said = "".join(output)
    if command[0].endswith("run.sh"):
        return all(f"ok   {name}\n" in said for file, name in tests if file.endswith(".sh"))
    return process.returncode == 0 and "No tests ran" not in said and "unshown" not in said


def run(build, wanted):
    found = {row: tests for row, _, tests in rows()}
    if wanted not in found:
        print(f"F={wanted}: tests/FAULTS.md has no such row; it has {', '.join(found)}")
        return 2
    if not found[wanted]:
        cells = next(cells for row, cells, _ in rows() if row == wanted)
        print(f"{wanted}: {cells[2]}")
        return 3
    os.environ["BUILD"] = build
    good = all([ran(command, found[wanted]) for command in commands(build, found[wanted])])
    print(f"{wanted}: {'shown' if good else 'NOT shown'} by " + ", ".join(f"{file}::{name}" for file, name in found[wanted]))
    return 0 if good else 1


def main(arguments):
    if arguments == ["--check"]:
        return check()
    if len(arguments) == 3 and arguments[1] == "--programs":
        tests = {row: tests for row, _, tests in rows()}.get(arguments[2], [])
        needed = sorted({program_of(file) for file, _ in tests})
        print(*[one if one == "all" else f"{arguments[0]}/{one}" for one in needed], *[f"{arguments[0]}/{program}" for program in ("tools/kill_client", "old_code") if "all" in needed])
        return 0
    if len(arguments) == 2:
        return run(*arguments)
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
