"""Every way of SQLAlchemy and Django to write rows: each row has a number of its own, or the way is refused with words, or
MODELS.md says what else happens. models/ways.json has what is expected, and MODELS.md is made of it."""

import json
import os
import subprocess
import sys

import pytest

from conftest import HERE
from harness import PROJECT
from models.page import PAGE, page
from servers.patience import PROGRAM_SECONDS

MODELS = HERE / "models"
TABLE = json.loads((MODELS / "ways.json").read_text())
SEQUENCES = {"invoices": {"format": "INV-{number:4}{check:luhn}"}, "bills": {"mode": "register"}}
CELLS = [(framework, version, row["way"]) for framework, table in TABLE.items() for version in table["versions"]
         for row in table["ways"] if version not in row.get("not", ())]
_seen = {}


@pytest.fixture
def seen(make_daemon, scratch):
    """What becomes of the rows of each way; one process for each version."""
    def look(framework, version):
        if (framework, version) not in _seen:
            shop = make_daemon(sequences=SEQUENCES).start()
            paths = [HERE.parent / "src", MODELS, PROJECT / "build" / "frameworks" / f"{TABLE[framework].get('of', framework)}-{version}"]
            environment = {**os.environ, "SEQD_SOCKET": str(shop.socket), "PYTHONPATH": ":".join(map(str, paths)), "SCRATCH": str(scratch)}
            done = subprocess.run([sys.executable, "-B", "-W", "error::ResourceWarning", MODELS / f"{framework}_ways.py"], env=environment,
                                  capture_output=True, text=True, timeout=4 * PROGRAM_SECONDS, check=False)
            assert done.returncode == 0, done.stderr
            _seen[framework, version] = json.loads(done.stdout)
        return _seen[framework, version]

    return look


@pytest.mark.limit(180)
@pytest.mark.parametrize("framework, version, way", CELLS, ids=["-".join(cell) for cell in CELLS])
def test_EachWayGivesANumberEachOrIsRefusedOrDocumented(seen, framework, version, way):
    all_seen = seen(framework, version)
    (row,) = (row for row in TABLE[framework]["ways"] if row["way"] == way)
    result, text = all_seen[way]
    assert result == row["result"], text
    assert (result == "refused") == ("words" in row) and row.get("words", "") in text


@pytest.mark.limit(180)
@pytest.mark.parametrize("framework, version", sorted({cell[:2] for cell in CELLS}))
def test_NoWayIsMissingInTheTable(seen, framework, version):
    all_seen = seen(framework, version)
    assert sorted(all_seen) == sorted([*(cell[2] for cell in CELLS if cell[:2] == (framework, version)), "version"])
    assert all_seen["version"][0].startswith(f"{version}.")


def test_ThePageIsMadeOfTheTable():
    assert PAGE.read_text() == page(TABLE), "python3 client-lib/python/tests/models/page.py > client-lib/python/MODELS.md"
