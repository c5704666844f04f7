"""Breaks the rules of crash safety in the C++ code one by one and sees that the tests notice.

Every NAME.patch here is one such shortcut. Its first line says which rule it breaks and which tests have to notice:
    breaks: RULE | noticed by: TEST ; TEST
A TEST is the name of a unit test, `adapter NAME` of one of the adapters (beside real servers where it speaks to MongoDB),
`pytest FOLDER/FILE::NAME` of one in tests/integration, or `sim EVENTS`: the simulator with so many events. All of them have to fail. Ends
with "N passed, N failed": a mutant that survives, that does not apply any more or does not build has failed.

usage: mutants.py [NAME...]     from the root; build/ has to be up to date
       mutants.py --check       only whether the patches still apply, as a part of `make lint`
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = pathlib.Path(__file__).resolve().parent
WORK = ROOT / "build" / "mutants"
TREE = WORK / "tree"
FIRST_LINE = re.compile(r"^breaks: (.+) \| noticed by: (.+)$")
APPLY = ["patch", "-p1", "--fuzz=1", "--no-backup-if-mismatch", "-r", "-", "-N"]
UNIT_SECONDS = 120
WHOLE_SECONDS = 300
SERVERS = ROOT / "tests" / "integration" / "servers" / "with_mongo.py"
# The programs that have tests, by the first word of a TEST.
PROGRAMS = {"unit": "build/unit-tests", "adapter": "build/adapter-tests", "sim": "build/sim"}


def call(command, cwd, log, timeout=None):
    """The exit code; a command that hangs has failed, too."""
    environment = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
    environment["CCACHE_NOHASHDIR"] = "1"
    with open(log, "a", encoding="utf-8") as file:
        print("$", *command, file=file, flush=True)
        try:
            return subprocess.run(command, cwd=cwd, stdin=subprocess.DEVNULL, stdout=file, stderr=file, env=environment,
                                  timeout=timeout, check=False).returncode
        except subprocess.TimeoutExpired:
            return -1


def source_files():
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT,
                            capture_output=True, text=True, check=False)
    if listed.returncode == 0:
        return [name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]
    names = (path.relative_to(ROOT) for path in ROOT.rglob("*") if path.is_file())
    return [str(name) for name in names if name.parts[0] not in ("build", ".git")]


def copy(name):
    (TREE / name).parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(ROOT / name, TREE / name)


def copy_tree():
    """The times are copied, too, so that make takes the objects for up to date."""
    shutil.rmtree(TREE, ignore_errors=True)
    for name in source_files():
        copy(name)
    for folder in ("build/obj", "build/packages", "build/generated", "build/precompiled"):
        if (ROOT / folder).is_dir():
            shutil.copytree(ROOT / folder, TREE / folder)
    for program in ("build/mongod",):
        if (ROOT / program).exists():
            (TREE / program).symlink_to(ROOT / program)


class Kept:
    """What a patch changes, as it was: the sources, and the objects of those that are compiled by themselves."""

    def __init__(self, patched):
        self.sources = [TREE / name for name in patched]
        objects = (TREE / "build" / "obj" / pathlib.Path(name).with_suffix(ending) for name in patched for ending in (".o", ".d"))
        self.files = {path: (path.read_bytes(), path.stat()) for path in [*self.sources, *objects] if path.exists()}

    def put_back(self):
        for path, (content, status) in self.files.items():
            path.write_bytes(content)
            os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
        for source in self.sources:
            if source.suffix != ".cc":  # whatever includes it has to be compiled again
                os.utime(source)


def make(target, log):
    command = ["make", "--no-print-directory", "WARNINGS=-w", target]
    if shutil.which("ccache"):
        command.append("CXX=ccache g++")
    return call(command, TREE, log)


def kind_and_name(test):
    first, _, rest = test.partition(" ")
    kind, name = (first, rest) if first in ("adapter", "pytest", "sim") else ("unit", test)
    return kind, name if kind == "pytest" else name.replace(",", "\\,")  # a comma stands between names


def run_test(test, log):
    """0 when it passes."""
    kind, name = kind_and_name(test)
    if kind == "pytest":
        return call([sys.executable, "-B", "-m", "pytest", "-p", "no:cacheprovider", "-q", "tests/integration/" + name], TREE, log,
                    WHOLE_SECONDS)
    return call([PROGRAMS[kind], *(["--events"] if kind == "sim" else []), name], TREE, log, UNIT_SECONDS)


def exists(test):
    """Whether there is such a test, and it passes when nothing is broken."""
    kind, name = kind_and_name(test)
    if kind == "pytest":
        file, _, function = name.partition("::")
        return f"def {function.split('[')[0]}(" in (ROOT / "tests" / "integration" / file).read_text(encoding="utf-8")
    if kind == "sim":  # always the same worlds, which `make test-sim` runs
        return name.isdigit() and (ROOT / PROGRAMS[kind]).exists()
    done = subprocess.run([ROOT / PROGRAMS[kind], name], capture_output=True, text=True, check=False)
    return done.returncode == 0 and "No tests ran" not in done.stdout and "No test cases matched" not in done.stdout


def tests_of(patch):
    """What the first line names; none where it names nothing."""
    first = FIRST_LINE.match(patch.read_text(encoding="utf-8").split("\n", 1)[0])
    return [test.strip() for test in first.group(2).split(" ; ")] if first else []


def have_servers(patches, names):
    """Starts again beside the servers where a test needs them and there are none."""
    needed = any(test.startswith("adapter ") and ("Mongo" in test or "Dynamo" in test) for patch in patches for test in tests_of(patch))
    if needed and "SEQD_TEST_MONGO_URI" not in os.environ:
        os.execv(sys.executable, [sys.executable, "-B", str(SERVERS), "--", sys.executable, "-B", __file__, *names])


def targets_of(tests):
    targets = {"unit": ["build/unit-tests"], "adapter": ["build/adapter-tests"], "sim": ["build/sim"],
               "pytest": ["build/seqd", "build/seqctl"]}
    return sorted({target for test in tests for target in targets[kind_and_name(test)[0]]})


def judge(patch):
    """Whether the mutant is noticed by all tests named, and a few words."""
    tests = tests_of(patch)
    if not tests:
        return False, "the first line does not say what it breaks and who notices"
    missing = [test for test in tests if not exists(test)]
    if missing:
        return False, "there is no such test, or it fails anyway: " + ", ".join(missing)
    log = WORK / (patch.stem + ".log")
    log.unlink(missing_ok=True)
    patched = re.findall(r"^\+\+\+ b/(\S+)", patch.read_text(encoding="utf-8"), re.MULTILINE)
    kept = Kept(patched)
    try:
        if call([*APPLY, "-i", str(patch)], TREE, log) != 0:
            return False, f"does not apply any more, see {log.relative_to(ROOT)}"
        for target in targets_of(tests):
            if make(target, log) != 0:
                return False, f"does not build, see {log.relative_to(ROOT)}"
        passing = [test for test in tests if run_test(test, log) == 0]
    finally:
        kept.put_back()
    if passing:
        return False, "SURVIVED " + ", ".join(passing)
    return True, f"killed by {', '.join(tests)}"


def check():
    stale = []
    for patch in sorted(HERE.glob("*.patch")):
        done = subprocess.run([*APPLY, "--dry-run", "-i", str(patch)], cwd=ROOT, capture_output=True, text=True, check=False)
        if done.returncode != 0 or not tests_of(patch):
            stale.append(patch.stem)
    for name in stale:
        print(f"tests/mutants/{name}.patch: does not fit the code any more: break the same rule in what is there now")
    print("mutants: " + ("bad" if stale else "they apply"))
    return 1 if stale else 0


def main(names):
    if names == ["--check"]:
        return check()
    patches = [HERE / (name + ".patch") for name in names] or sorted(HERE.glob("*.patch"))
    have_servers(patches, names)
    began = time.monotonic()
    WORK.mkdir(parents=True, exist_ok=True)
    copy_tree()
    killed = 0
    for patch in patches:
        fine, text = judge(patch)
        killed += fine
        print(f"{'' if fine else 'FAILED '}{patch.stem}: {text}", flush=True)
    shutil.rmtree(TREE)
    print(f"mutants: {killed} of {len(patches)} killed, {time.monotonic() - began:.0f} s")
    print(f"{killed} passed, {len(patches) - killed} failed")
    return 0 if patches and killed == len(patches) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
