"""How much longer than on an idle machine anything may take before it counts as a hang. Every limit of the tests is multiplied by it:
limits end what would never end, and judge no speed."""

import os

PATIENCE = float(os.environ.get("TEST_TIME_FACTOR", "5"))
PROGRAM_SECONDS = 20 * PATIENCE  # of a program that has nothing to wait for


class WaitedInVain(AssertionError):
    """What a test waits for did not come in time, perhaps because the machine is busy: see second_tries.py."""
