"""What every integration test shares: scratch directories, daemons that are ended, a time limit, and no skipping."""

import faulthandler
import os
import re
import shutil
import signal
import sys
import tempfile
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
# pylint: disable=wrong-import-position
import harness
import second_tries
from clients import Process
from disks import NotShown
from servers.mongod import ReplicaSet, standalone
from servers.patience import PATIENCE
from servers.shared_memory import take_own

DEFAULT_LIMIT_SECONDS = 30
GRACE_SECONDS = 12  # between the exception and the end of the whole run
STDERR = pytest.StashKey[int]()


def pytest_configure(config):
    config.addinivalue_line("markers", "limit(seconds): how long the test may take on an idle machine")
    config.addinivalue_line("markers", "store_timeout(duration): the time-out of the store under test")
    config.stash[STDERR] = os.dup(2)
    take_own()
    for path in (harness.SEQD, harness.SEQCTL):
        if not os.access(path, os.X_OK):
            raise pytest.UsageError(f"{path} is missing: make all")


def end_later(config, seconds):
    """Ends the run with the stacks of all threads, where pytest's own capture does not hide them."""
    faulthandler.dump_traceback_later(seconds, exit=True, file=config.stash[STDERR])


def limit_of(item):
    marker = item.get_closest_marker("limit")
    return (marker.args[0] if marker else DEFAULT_LIMIT_SECONDS) * PATIENCE


def begin_limit(item):
    signal.setitimer(signal.ITIMER_REAL, limit_of(item))
    end_later(item.config, limit_of(item) + GRACE_SECONDS * PATIENCE)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item, nextitem):
    """Each test has a limit: first an exception at the place where it hangs, and if that does not help, the end."""

    def expired(*_):
        raise TimeoutError(f"{item.name} did not end within {limit_of(item):.0f} s")

    def again():
        item._initrequest()  # pylint: disable=protected-access
        item.failed = False
        begin_limit(item)

    previous = signal.signal(signal.SIGALRM, expired)
    begin_limit(item)
    done = second_tries.run(item, nextitem, again)
    faulthandler.cancel_dump_traceback_later()
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, previous)
    return done


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    report = (yield).get_result()
    if call.excinfo is not None and call.excinfo.errisinstance(NotShown):
        report.outcome, report.longrepr, report.not_shown = "skipped", None, str(call.excinfo.value)
    if report.failed:
        item.failed = True
        report.from_outside = call.excinfo is not None and second_tries.is_from_outside(call.excinfo.value)
        for daemon in getattr(item, "daemons", []):
            report.sections.append((f"stderr of {daemon.name}", daemon.stderr()))


FIGURES = pytest.StashKey[dict]()


def pytest_report_teststatus(report):
    """What this machine cannot show is neither good nor bad: it is counted apart, and said at the end."""
    if hasattr(report, "unsteady"):
        return ("unsteady", "S", "UNSTEADY")
    return ("unshown", "U", "NOT SHOWN") if hasattr(report, "not_shown") else None


def pytest_terminal_summary(terminalreporter, config):
    for report in terminalreporter.stats.get("unshown", []):
        terminalreporter.write_line(f"NOT SHOWN HERE: {report.nodeid}: {report.not_shown}")
    for report in terminalreporter.stats.get("unsteady", []):
        terminalreporter.write_line(f"UNSTEADY, it passed when it was repeated: {report.nodeid}\n{report.longreprtext}")
    for title, sums in config.stash.get(FIGURES, {}).items():
        terminalreporter.write_line(f"{title} " + ", ".join(f"{what} {count}".strip() for what, count in sums.items()))


def add_figures(config, title, numbers):
    sums = config.stash.setdefault(FIGURES, {}).setdefault(title, dict.fromkeys(numbers, 0))
    for what, number in numbers.items():
        sums[what] += number


@pytest.fixture
def figures(request):
    """Takes figures, which are added up by their title over all tests and shown at the end of the run."""
    return lambda title, count, **numbers: add_figures(request.config, title, {"": count, **numbers})


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node):
    """A worker of pytest-xdist has ended. Its figures came with its last message; of one that crashed there is none."""
    for title, numbers in getattr(node, "workeroutput", {}).get("figures", {}).items():
        add_figures(node.config, title, numbers)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    from workers import Workers  # pylint: disable=import-outside-toplevel
    return Workers(config, log)


def pytest_collection_modifyitems(config, items):
    if hasattr(config, "workerinput"):
        from workers import sort_long_files_first  # pylint: disable=import-outside-toplevel
        sort_long_files_first(items)


def pytest_sessionfinish(session):
    """A skipped test is a failed run."""
    if hasattr(session.config, "workeroutput"):  # a worker, which the process that runs them all ends
        session.config.workeroutput["figures"] = session.config.stash.get(FIGURES, {})
        return
    # What is left to do, to end processes and to remove files, has an end, too.
    end_later(session.config, 60 * PATIENCE)
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter and reporter.stats.get("skipped"):
        session.exitstatus = 1


@pytest.fixture
def scratch(request):
    """A directory of this test; it stays when the test fails."""
    harness.SCRATCH.mkdir(parents=True, exist_ok=True)
    name = re.sub(r"[^A-Za-z0-9]+", "-", request.node.name)[:40]
    path = Path(tempfile.mkdtemp(prefix=f"{name}-", dir=harness.SCRATCH))
    yield path
    if not getattr(request.node, "failed", False):
        shutil.rmtree(path, ignore_errors=True)


@pytest.fixture
def make_daemon(request, scratch):  # pylint: disable=redefined-outer-name
    """Makes daemons that are ended with the test."""
    daemons = request.node.daemons = []

    def make(name: str = "seqd", **options) -> harness.Daemon:
        daemon = harness.Daemon(scratch, name, **options)
        daemons.append(daemon)
        return daemon

    yield make
    for daemon in daemons:
        daemon.close()


@pytest.fixture
def daemon(make_daemon):  # pylint: disable=redefined-outer-name
    """A running daemon with the embedded store."""
    return make_daemon().start()


@pytest.fixture(scope="module")
def mongo():
    """A real server, alone."""
    with standalone() as server:
        yield server


@pytest.fixture(scope="module")
def mongo_set():
    """A replica set of one: enough for the transactions and fail points of a primary."""
    servers = ReplicaSet(name="one", size=1, auth=True)
    try:
        yield servers.start()
    finally:
        servers.close()


@pytest.fixture(autouse=True)
def no_process_left():
    """A process of a test ends with it, also where the test failed and its result was never read."""
    yield
    Process.end_all()


@pytest.fixture(autouse=True)
def no_transaction_left(request):
    """A daemon that ended in the middle of a transaction holds its locks for a minute, also against the next test."""
    servers = request.getfixturevalue("mongo_set") if "mongo_set" in request.fixturenames else None
    yield
    if servers is not None:
        servers.end_transactions()
