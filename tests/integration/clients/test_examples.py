"""client-lib/examples: the program of each language on the daemon that `make run` starts, one after the other."""

import hashlib
import os
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

import harness
from disks import NotShown
from servers.mongod import die_with_parent, expect_soon
from servers.patience import PATIENCE, PROGRAM_SECONDS

EXAMPLES = harness.PROJECT / "client-lib" / "examples"
# As `make test` has it: a language that is left out there is left out here.
CLIENTS = os.environ.get("TEST_CLIENTS", "node python go").split()


class MakeRun:
    """packaging/run.sh, which is what `make run` runs, without a configuration."""

    def __init__(self, folder: Path, short: Path):
        self.socket = short / "seqd.sock"
        state = folder / "state"
        runtime = short / "runtime"  # where the witness is then
        runtime.mkdir(mode=0o700)
        self.witness = runtime / f"seqd-{os.getuid()}-{hashlib.md5(str(state).encode()).hexdigest()[:12]}"
        command = [harness.PROJECT / "packaging/run.sh", harness.SEQD, harness.SEQCTL, self.socket, state, ""]
        self.said = folder / "said"
        with open(self.said, "wb") as said:
            self.process = subprocess.Popen(list(map(str, command)), cwd=folder, stdin=subprocess.DEVNULL, stdout=said, stderr=said,
                                            env={**os.environ, "XDG_RUNTIME_DIR": str(runtime)}, preexec_fn=die_with_parent)
        expect_soon("the daemon of `make run`", self.answers)

    def answers(self) -> bool:
        assert self.process.poll() is None, self.said.read_text()
        with socket.socket(socket.AF_UNIX) as client:
            return client.connect_ex(str(self.socket)) == 0

    def stop(self) -> None:
        self.process.send_signal(signal.SIGINT)  # Ctrl-C
        assert self.process.wait(60 * PATIENCE) == 0, self.said.read_text()


def is_there(language: str, condition: bool) -> None:
    if language not in CLIENTS:
        raise NotShown(f"TEST_CLIENTS leaves {language} out")
    assert condition, f"make test-{language} installs what this needs"


def run(command, **options) -> list:
    done = subprocess.run([str(one) for one in command], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=PROGRAM_SECONDS, check=False, **options)
    assert done.returncode == 0, f"{done.stdout}{done.stderr}"
    return done.stdout.splitlines()


@pytest.fixture(name="made")
def daemon_of_make_run(scratch, make_daemon):
    # Only for its short folder, which is removed with it.
    daemon = MakeRun(scratch, make_daemon().short)
    yield daemon
    daemon.stop()
    assert daemon.witness.is_dir()


def test_CAndCppTakeIds(made):
    folder = harness.BUILD / "examples"
    assert run([folder / "next-c", "orders", made.socket]) == ["one ID: 1", "100 IDs from 2 in steps of 1"]
    assert run([folder / "next-cc", "orders", made.socket]) == ["one ID: 102"] + [f"and {number}" for number in range(103, 113)]


def test_PythonTakesIds(made):
    place = {**os.environ, "PYTHONPATH": str(harness.PROJECT / "client-lib/python/src"), "PYTHONDONTWRITEBYTECODE": "1"}
    ids = run([sys.executable, EXAMPLES / "next.py", "orders", made.socket], env=place)
    assert ids == ["one ID: 1"] + [f"and {number}" for number in range(2, 12)]


@pytest.mark.limit(120)
def test_GoTakesIds(made):
    go = os.environ.get("GO", "/usr/bin/go")
    is_there("go", os.access(go, os.X_OK))
    assert run([go, "run", "../examples/next.go", "orders", "3"], cwd=harness.PROJECT / "client-lib/go",
               env={**os.environ, "SEQD_SOCKET": str(made.socket)}) == ["1", "2", "3"]


def test_NodeTakesIds(made, scratch):
    package = harness.PROJECT / "client-lib/node"
    is_there("node", (package / "node_modules").is_dir())
    # As `npm install` of the package's folder leaves it.
    (scratch / "node_modules").mkdir()
    (scratch / "node_modules" / "seqd").symlink_to(package)
    shutil.copy(EXAMPLES / "next.mjs", scratch)
    assert run(["node", "next.mjs", "orders", "3"], cwd=scratch, env={**os.environ, "SEQD_SOCKET": str(made.socket)}) == ["1", "2", "3"]
