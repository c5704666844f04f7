"""The daemons, scratch directories, time limits and the rule of no skipping are those of tests/integration."""

import importlib.util
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
INTEGRATION = HERE.parents[2] / "tests" / "integration"
sys.path.insert(0, str(HERE.parent / "src"))
sys.path.insert(0, str(INTEGRATION))
sys.path.insert(0, str(HERE))

# pylint: disable=wrong-import-position
import pytest  # noqa: E402

from kinds import KINDS  # noqa: E402

_spec = importlib.util.spec_from_file_location("integration_conftest", INTEGRATION / "conftest.py")
sys.modules["integration_conftest"] = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(sys.modules["integration_conftest"])
pytest_plugins = ["integration_conftest"]


@pytest.fixture(params=sorted(KINDS))
def make_client(request):
    """Makes clients of either kind, with the same methods, which are closed with the test."""
    made = []

    def make(path, **options):
        made.append(KINDS[request.param](path, **options))
        return made[-1]

    yield make
    for client in made:
        client.close()
