"""libseqd as a stranger uses it: the examples, compiled from C and C++, linked to the shared library, on a real daemon."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import harness
from servers.patience import PROGRAM_SECONDS

EXAMPLES = Path(harness.BUILD) / "examples"


def run(name, *arguments):
    return subprocess.run([str(EXAMPLES / name), *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=PROGRAM_SECONDS, check=False, env={**os.environ, "SEQD_SOCKET": "/nonexistent/seqd.sock"})


def test_c_example_takes_one_id_and_a_run(daemon):
    done = run("next-c", "orders", str(daemon.socket))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == ["one ID: 1", "100 IDs from 2 in steps of 1"]


def test_cpp_example_takes_ids_pipelined(daemon):
    done = run("next-cc", "orders", str(daemon.socket))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == ["one ID: 1"] + [f"and {number}" for number in range(2, 12)]


@pytest.mark.parametrize("name", ["next-c", "next-cc"])
def test_example_says_what_the_daemon_said(daemon, name):
    done = run(name, "not a name", str(daemon.socket))
    assert done.returncode == 1
    assert "BAD_REQUEST" in done.stderr


def test_ThePythonCallsOfTheReadmeTakeAnId(daemon):
    """The row of the table of clients: the call for a process, and the call for each ID."""
    row = re.search(r"^\| \[Python\].*$", (harness.PROJECT / "README.md").read_text(), re.M)[0]
    once, each = re.findall(r"`([^`]+)`", row)
    program = f"import seqd\n{once}\nprint({each})\nprint({each})\nclient.close()\n"
    environment = {**os.environ, "SEQD_SOCKET": str(daemon.socket), "PYTHONDONTWRITEBYTECODE": "1",
                   "PYTHONPATH": str(harness.PROJECT / "client-lib/python/src")}
    done = subprocess.run([sys.executable, "-c", program], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=PROGRAM_SECONDS, check=False, env=environment)
    assert (done.returncode, done.stdout, done.stderr) == (0, "1\n2\n", "")


TAKE_ONE_BY_ONE = """
import ctypes, sys
library = ctypes.CDLL(sys.argv[1])
client, number = ctypes.c_void_p(), ctypes.c_int64()
assert library.seqd_open(None, ctypes.byref(client)) == 0
for _ in range(int(sys.argv[2])):
    assert library.seqd_next(client, b"orders", ctypes.byref(number)) == 0
print(number.value)
"""


def test_ASynchronousRequestIsTwoSystemCalls(daemon, scratch):
    """By strace, of a program that takes many IDs and of one that takes few."""
    def calls(requests: int) -> int:
        trace = scratch / f"trace-{requests}"
        done = subprocess.run(["strace", "-qq", "-o", str(trace), sys.executable, "-c", TAKE_ONE_BY_ONE,
                               str(harness.BUILD / "libseqd.so"), str(requests)], stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=PROGRAM_SECONDS, check=False, env={**os.environ, "SEQD_SOCKET": str(daemon.socket)})
        assert (done.returncode, done.stderr) == (0, "")
        return len(trace.read_text().splitlines())

    few, many = calls(100), calls(1100)
    assert abs(many - few - 2 * 1000) <= 20, many - few  # now and then memory
