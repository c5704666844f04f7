"""The SQLite file in the state directory goes back with the log, or is copied with it: what this boot remembers of the file
apart from its directory keeps both from issuing an ID again."""

import contextlib
import shutil

import pytest

import harness
from accounting import Ledger
from rpc import RpcError
from servers.mongod import expect_soon

LEASES = {"lease_min": 20, "lease_max": 20, "max_available": 40}
STOPPED = "was restored from an older copy"
EXIT_STOPPED = 5


def take(daemon, ledger, count: int) -> int:
    """That many IDs, or those until the store is found to be stopped; how many came."""
    with daemon.connect(30) as client:
        for taken in range(count):
            try:
                ledger.add([client.call("next", "orders", {"timeout_ms": 20_000})])
            except RpcError as refused:
                assert "SEQ_REGRESSED" in str(refused), refused
                ledger.assert_no_duplicate()
                return taken
    ledger.assert_no_duplicate()
    return count


def expect_stopped(daemon, ledger) -> None:
    assert take(daemon, ledger, 1) == 0
    with daemon.connect() as client:
        expect_soon("the store is compared", lambda: STOPPED in str(client.error("next", "orders")))
    assert "restored" in daemon.seqctl("status", expect=EXIT_STOPPED).stdout


def forget_boot(daemon) -> None:
    """What was remembered of the file in memory is gone, as after a reboot."""
    for mark in daemon.witness.glob("*.commits"):
        mark.unlink()


def go_on(daemon, ledger) -> None:
    """As OPERATING.md says where the log went back, too. Before --resume nothing is issued, whatever is restarted."""
    beyond = ledger.highest() + 1
    expect_stopped(daemon, ledger)
    daemon.seqctl("advance", "orders", "--to", str(beyond), "--everywhere", "--yes")
    expect_stopped(daemon, ledger)
    daemon.seqctl("advance", "--all", "--store", "default", "--yes")
    for end in (daemon.terminate, daemon.kill):
        expect_stopped(daemon, ledger)
        end()
        forget_boot(daemon)
        daemon.start()
    expect_stopped(daemon, ledger)
    assert "continue" in daemon.seqctl("advance", "--all", "--store", "default", "--resume", "--yes").stdout
    assert take(daemon, ledger, 50) == 50
    for end in (daemon.terminate, daemon.kill):
        end()
        daemon.start()
        assert take(daemon, ledger, 50) == 50
    daemon.seqctl("audit", "orders")
    assert "restored" not in daemon.seqctl("status", expect=None).stdout


@pytest.mark.limit(120)
@pytest.mark.parametrize("end", ["terminate", "kill"])
def test_AStateDirectoryThatIsPutBackIssuesNothingAgain(make_daemon, scratch, end):
    daemon = make_daemon("seqd", defaults=LEASES).start()
    ledger = Ledger("orders")
    take(daemon, ledger, 5)
    daemon.terminate()
    harness.copy_state(daemon.state, scratch / "backup")
    daemon.start()
    assert take(daemon, ledger, 200) == 200
    getattr(daemon, end)()
    shutil.rmtree(daemon.state)
    harness.copy_state(scratch / "backup", daemon.state)
    daemon.start()
    expect_stopped(daemon, ledger)
    assert "--to ID --everywhere" in daemon.stderr(1 << 20)
    go_on(daemon, ledger)


@pytest.mark.limit(120)
def test_ACopyBesideARunningDaemonIssuesNothingThatTheOtherIssues(make_daemon):
    daemon = make_daemon("seqd", defaults=LEASES).start()
    ledger = Ledger("orders")
    take(daemon, ledger, 30)
    twin = make_daemon("twin", defaults=LEASES, daemon={"witness_dir": daemon.witness})
    twin.state.rmdir()
    harness.copy_state(daemon.state, twin.state)
    twin.start()
    came = {daemon: 0, twin: 0}
    for _ in range(20):
        for one in came:
            came[one] += take(one, ledger, 10)
    stopped = [one for one in came if came[one] < 200]
    assert len(stopped) == 1, f"{came[daemon]} and {came[twin]} of 200"
    twin.terminate()
    if daemon in stopped:
        go_on(daemon, ledger)
    assert take(daemon, ledger, 100) == 100


@pytest.mark.limit(60)
def test_AFileThatIsRightIsNeverTakenForAnOlderCopy(make_daemon):
    daemon = make_daemon("seqd", defaults=LEASES).start()
    ledger = Ledger("orders")
    for end in ("kill", "terminate") * 5:
        assert take(daemon, ledger, 60) == 60
        getattr(daemon, end)()
        if end == "terminate":  # as a clean-up of the memory would
            forget_boot(daemon)
        daemon.start()
    with contextlib.suppress(RpcError), daemon.connect() as client:
        client.call("drain", "orders")
    assert take(daemon, ledger, 60) == 60
