"""Second tries of tests on real servers, where nobody can look why one failed: TEST_TRIES=2, which the Makefile sets where CI is set.

A busy machine can starve a server for seconds. A test that failed for want of a server or of time then runs once more; if it
passes, it is UNSTEADY: that is counted and named at the end of the run, so that somebody mends it. Whatever else a test found is
final, above all what it found about IDs: one duplicate in a thousand runs is a defect. So is everything where a daemon ended by
an assertion, by a sanitizer or by a signal that no test sends: all that the test sees of that may be a wait in vain.
"""

import os
import subprocess

import pymongo.errors
from _pytest.runner import runtestprotocol

from servers.mongod_binary import ServerNotAvailable
from servers.patience import WaitedInVain

TRIES = int(os.environ.get("TEST_TRIES", "1"))
# A server of the tests that does not start or answer, and what did not come in time. This list is closed: an assertion about what
# came is not on it.
FROM_OUTSIDE = (ServerNotAvailable, WaitedInVain, TimeoutError, subprocess.TimeoutExpired, pymongo.errors.AutoReconnect)


def is_from_outside(error: BaseException) -> bool:
    # By UNAVAILABLE a daemon says that its store does not answer.
    return isinstance(error, FROM_OUTSIDE) or getattr(error, "code", None) == "UNAVAILABLE"


def is_final(item, reports) -> bool:
    return not all(getattr(report, "from_outside", False) for report in reports if report.failed) or \
        any(daemon.ended_badly() for daemon in getattr(item, "daemons", []))


def run(item, nextitem, again):
    """As pytest runs a test; `again` is called between two tries."""
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for left in reversed(range(TRIES)):
        reports = runtestprotocol(item, nextitem=nextitem, log=False)
        if left == 0 or not any(report.failed for report in reports) or is_final(item, reports):
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
