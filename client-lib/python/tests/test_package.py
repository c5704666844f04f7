"""The types, and the package as it is installed: a wheel, a fresh venv, py.typed."""

import os
import shutil
import subprocess
import sys
import zipfile

import pytest

from conftest import HERE
from servers.patience import PROGRAM_SECONDS

PACKAGE = HERE.parent

PROGRAM = """
import asyncio
from typing import List
import seqd
from seqd import aio

def blocking() -> List[int]:
    with seqd.Client(timeout=1.0, blocks="auto") as client:
        one: int = client.next("orders")
        text: str = client.next_text("invoices", timeout=0.5)
        runs: List[range] = client.range("orders", 10)
        check = client.parse("invoices", text).check
        reveal_type(check)
        reveal_type(client.peek("orders").next)
        return [one, *client.next_many("orders", 2), *runs[0]]

async def waiting() -> int:
    async with aio.Client() as client:
        reveal_type(await client.next("orders"))
        first, second = await asyncio.gather(client.next("orders"), client.next("orders"))
        return first + second

try:
    blocking()
except seqd.Unavailable as error:
    reveal_type(error.temporary)
"""


def run(*command, **options):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=6 * PROGRAM_SECONDS, check=False,
                          **options)
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout


@pytest.mark.limit(120)
def test_TheTypesAreStrict(scratch):
    run("mypy", "--config-file", PACKAGE / "pyproject.toml", "--cache-dir", scratch, cwd=PACKAGE)


@pytest.mark.limit(120)
def test_ThePackageIsInstalledByPathIntoAFreshVenv(scratch, daemon):
    """With the tools of Debian, so without a network; the wheel has all that belongs to it and nothing else."""
    source = scratch / "source"
    shutil.copytree(PACKAGE, source, ignore=shutil.ignore_patterns("__pycache__", "build", "*.egg-info"))
    run(sys.executable, "-m", "venv", "--system-site-packages", scratch / "venv")
    python = scratch / "venv" / "bin" / "python"
    offline = ["--no-index", "--no-build-isolation", "--disable-pip-version-check"]
    run(python, "-m", "pip", "wheel", "--quiet", *offline, "--no-deps", "--wheel-dir", scratch, source)
    (wheel,) = scratch.glob("seqd-*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    modules = {f"seqd/{path.name}" for path in (PACKAGE / "src" / "seqd").iterdir() if path.is_file()}
    assert {name for name in names if name.startswith("seqd/")} == modules and "seqd/py.typed" in modules
    assert any(name.endswith("LICENSE") for name in names)
    metadata = zipfile.ZipFile(wheel).read(next(name for name in names if name.endswith("METADATA"))).decode()
    for said in ("Author-email: seqd maintainers <", "License: Apache-2.0", "Classifier: Framework :: Django :: 5.2", "Requires-Dist: msgpack"):
        assert f"\n{said}" in metadata
    run(python, "-m", "pip", "install", "--quiet", *offline, source)
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    environment["SEQD_SOCKET"] = str(daemon.socket)
    assert run(python, "-c", readme_program(), env=environment, cwd=scratch) == "1\n"
    assert run(python, "-m", "seqd", "next", "orders", env=environment, cwd=scratch) == "2\n"
    assert run(scratch / "venv" / "bin" / "python-seqd", "next", "orders", env=environment) == "3\n"
    assert run(python, "-c", readme_program(1), env=environment, cwd=scratch) == "[4, 5]\n"
    # A program that uses it is checked with its types.
    (scratch / "program.py").write_text(PROGRAM)
    said = run("mypy", "--strict", "--python-executable", python, "--cache-dir", scratch / "cache", scratch / "program.py", env=environment)
    assert [line.split('"')[1] for line in said.splitlines() if "Revealed" in line] == [
        "Union[builtins.str, None]", "Union[builtins.int, None]", "builtins.int", "builtins.bool"]


def readme_program(which=0):
    """The first programs of the README."""
    text = (PACKAGE / "README.md").read_text()
    return text.split("```python\n")[1 + which].split("```", 1)[0]


def test_TheReadmeBeginsWithFiveLines():
    assert len(readme_program().splitlines()) <= 5
