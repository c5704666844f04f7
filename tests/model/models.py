"""Runs the Spin models listed in runs.txt and says in one line each what came out. Ends with "N passed, N failed".

usage: models.py FOLDER [--quick]      FOLDER is for what is generated; --quick: only the runs with a star
"""

import pathlib
import re
import shutil
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
MEMORY_MB = 3000
DEPTH = 100_000


def read_runs(quick):
    for line in (HERE / "runs.txt").read_text(encoding="utf-8").splitlines():
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        star = words[0] == "*"
        words = words[1:] if star else words
        if star or not quick:
            yield words[0], words[1:-1], words[-1]


def call(command, folder):
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, errors="replace", check=False)
    return done.returncode, done.stdout + done.stderr


def search(model, options, folder, optimize):
    """What the search printed, or a text that says why there was none."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    code, said = call(["spin", *("-D" + option for option in options), "-a", str(HERE / (model + ".pml"))], folder)
    if code != 0 or "Error" in said:
        return "spin: " + said
    code, said = call(["gcc", optimize, "-w", "-DSAFETY", f"-DMEMLIM={MEMORY_MB}", "-o", "pan", "pan.c"], folder)
    if code != 0:
        return "gcc: " + said
    return call(["./pan", f"-m{DEPTH}", "-w22"], folder)[1]


def judge(said, expected):
    """Whether it is as expected, and a few words on it."""
    states = re.search(r"(\d+) states, stored", said)
    depth = re.search(r"depth reached (\d+)", said)
    if not states or not depth or "aborting" in said:
        return False, "no search: " + " ".join(said.split())[:200]
    size = f"{int(states.group(1)):,} states, depth {depth.group(1)}"
    found = re.search(r"^pan:\d+: (.*) \(at depth \d+\)", said, re.MULTILINE)
    if expected == "holds":
        if found:
            return False, f"{found.group(1)} ({size})"
        complete = "Search not completed" not in said and "reached -DMEMLIM" not in said and "too small" not in said
        return complete, ("ok, " if complete else "NOT COMPLETE, ") + size
    if not found:
        return False, f"the mutant was NOT found ({size})"
    return expected in found.group(1), f"mutant found as it must ({size}): {found.group(1)[:70]}"


def main(arguments):
    if not arguments:
        print(__doc__, file=sys.stderr)
        return 2
    folder = pathlib.Path(arguments[0]).resolve()
    quick = "--quick" in arguments
    good = bad = 0
    began = time.monotonic()
    for model, options, expected in read_runs(quick):
        # A small search takes less time than the compiler.
        fine, text = judge(search(model, options, folder / model, "-O1" if quick else "-O2"), expected)
        good, bad = good + fine, bad + (not fine)
        print(f"{'' if fine else 'FAILED '}{' '.join([model, *options])}: {text}", flush=True)
    print(f"models: {time.monotonic() - began:.0f} s")
    print(f"{good} passed, {bad} failed")
    return 1 if bad or not good else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
