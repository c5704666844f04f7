"""Second tries of tests on real servers, where nobody can look why one failed: TEST_TRIES=2, which the Makefile sets where CI=true.

A busy machine can starve a server for seconds. A test that failed then runs once more; if it passes, it is UNSTEADY: that is
counted and named at the end of the run, so that somebody mends it. What tells of IDs never gets a second try: one duplicate in a
thousand runs is a defect.
"""

import os
import re

from _pytest.runner import runtestprotocol

TRIES = int(os.environ.get("TEST_TRIES", "1"))
FINAL = re.compile(r"twice|duplicate|unaccounted|\blost\b|\bhole|\bgap\b|conserv", re.IGNORECASE)


def is_final(reports):
    return any(FINAL.search(str(report.longrepr)) for report in reports if report.failed)


def run(item, nextitem, again):
    """As pytest runs a test; `again` is called between two tries."""
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for left in reversed(range(TRIES)):
        reports = runtestprotocol(item, nextitem=nextitem, log=False)
        if left == 0 or not any(report.failed for report in reports) or is_final(reports):
            break
        for report in reports:
            if report.failed:
                report.outcome, report.unsteady = "passed", True
                item.ihook.pytest_runtest_logreport(report=report)
        again()
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True
