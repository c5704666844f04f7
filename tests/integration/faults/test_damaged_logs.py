"""Files of the state directory that cannot be read, or that were cut: refused with what to do, or forfeited, and never guessed."""

import os

import pytest

import harness
from accounting import Ledger, journalled_gaps
from test_faults import EXIT_STATE


def unreadable(daemon, name: str) -> str:
    """Starts with a bad sector in that file; returns the error message."""
    daemon.prefix = ["strace", "-D", "-f", "-qq", "-o", "/dev/null", "-P", str(daemon.state / name), "-e", "inject=pread64:error=EIO"]
    with pytest.raises(harness.Died) as died:
        daemon.start()
    daemon.prefix = []
    assert died.value.code == EXIT_STATE and f"{name}: pread" in died.value.stderr
    return died.value.stderr


@pytest.mark.parametrize("issued", [3, 5])  # with and without a tail that is not yet in the file
def test_ALogThatCannotBeReadSaysWhatToDoAndLosesNothing(daemon, issued):
    with daemon.connect() as client:
        assert client.many("orders", issued) == list(range(1, issued + 1))
    daemon.kill()
    for name in ("log.0", "log.1"):
        assert "Move that file away" in unreadable(daemon, name)
    with daemon.start().connect() as client:
        assert client.next() == issued + 1


@pytest.mark.parametrize("after", ["forfeit", "resume"])
@pytest.mark.parametrize("rotations", [1, 2])
def test_WithoutTheFileThatCannotBeReadNothingIsIssuedTwice(make_daemon, after, rotations):
    """Follows the advice of the start error, for the newer and for the older log file. Ranges that only the newer file lists cannot be
    journalled as gaps; the start reports the damage."""
    daemon = make_daemon(daemon={"after_power_loss": after})
    daemon.start()
    for _ in range(rotations):  # each start begins the other file
        daemon.kill()
        daemon.start()
    with daemon.connect() as client:
        ids = client.many("orders", 300)
    for name in ("log.0", "log.1"):
        daemon.kill()
        unreadable(daemon, name)
        (daemon.state / name).rename(daemon.state / f"{name}.bad")
        with daemon.start().connect() as client:
            ids += client.many("orders", 300)
    missing = set(range(1, max(ids))) - set(ids)
    assert len(set(ids)) == len(ids)
    journalled = {number for gap in journalled_gaps(daemon.stderr_file, "orders") for number in gap}
    assert missing <= journalled or "forfeited: the newest part of the log is damaged" in daemon.stderr()


@pytest.mark.parametrize("size", [0, 1, 100, 4096])
def test_ADamagedLogNeverLeadsToADuplicate(make_daemon, size):
    """Each file of the state directory in turn is cut: the daemon forfeits or refuses, and says so; it does not guess."""
    daemon = make_daemon(stores={"default": {"type": "sqlite", "path": make_daemon("store").directory / "shared.db"}}).start()
    ledger = Ledger("orders")
    with daemon.connect() as client:
        ledger.add(client.many("orders", 500))
    daemon.kill()
    for path in sorted(daemon.state.iterdir()):
        if not path.is_file():
            continue
        whole = path.read_bytes()
        os.truncate(path, min(size, len(whole)))
        try:
            with daemon.start().connect() as client:
                ledger.add(client.many("orders", 10))
            daemon.kill()
        except harness.Died as died:
            assert died.code > 0 and ("STATE" in died.stderr or "CONFIG" in died.stderr), died.stderr
            path.write_bytes(whole)
    ledger.assert_no_duplicate()
