"""promtool, and what lies in packaging/monitoring."""

import os
import subprocess

from harness import PROJECT
from servers.patience import PROGRAM_SECONDS

MONITORING = PROJECT / "packaging" / "monitoring"
BIN = PROJECT / os.environ.get("PROMETHEUS", "build/prometheus/usr") / "bin"
RULES = MONITORING / "seqd.rules.yml"


def promtool(*arguments, text=None):
    done = subprocess.run([str(BIN / "promtool"), *map(str, arguments)], input=text, capture_output=True, text=True, check=False,
                          timeout=PROGRAM_SECONDS)
    said = done.stdout + done.stderr
    assert done.returncode == 0, f"promtool {' '.join(map(str, arguments))}:\n{said}"
    return said
