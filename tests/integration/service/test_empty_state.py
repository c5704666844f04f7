"""The state directory is empty at a start, because its disk is not mounted or another directory was configured. Counters of the embedded
store, which lies in it, would begin at their first ID again. As in the unit, systemd's second state directory has a mark.
"""

EXIT_CONFIG, EXIT_DECOMMISSIONED = 78, 80


def marked_daemon(make_daemon, scratch):
    mark = scratch / "seqd-mark"
    mark.mkdir(mode=0o700)
    return make_daemon(environment={"STATE_DIRECTORY": f"/var/lib/seqd:{mark}"}).start(), mark


def starts_from_nothing(daemon) -> bool:
    daemon.spawn()
    if daemon.wait_exit() != EXIT_CONFIG:
        return True
    assert "has no log, but this host had one" in daemon.stderr(), daemon.stderr()
    return False


def test_AnEmptyDirectoryInPlaceOfTheStateIsRefused(make_daemon, scratch):
    daemon, mark = marked_daemon(make_daemon, scratch)
    assert daemon.seqctl("next", "orders").stdout == "1\n"
    for end in (daemon.terminate, daemon.kill):
        end()
        state, aside = daemon.state, scratch / "aside"
        state.rename(aside)
        for empty in ("missing", "empty"):
            if empty == "empty":
                state.mkdir(mode=0o700)
            assert not starts_from_nothing(daemon)
            assert not state.exists() or not list(state.iterdir())
        state.rmdir()
        aside.rename(state)
        before = int(daemon.start().seqctl("next", "orders").stdout)
    assert before == 3
    # Who means it removes the mark.
    daemon.terminate()
    state.rename(aside)
    (mark / "has-state").unlink()
    assert daemon.start().seqctl("next", "orders").stdout == "1\n"


def test_AnotherStateDirectoryInTheConfigurationIsRefusedUntilTheStateIsThere(make_daemon, scratch):
    daemon, _ = marked_daemon(make_daemon, scratch)
    daemon.seqctl("next", "orders")
    daemon.terminate()
    former, daemon.state = daemon.state, scratch / "other"
    daemon.configure()
    assert not starts_from_nothing(daemon)
    former.rename(daemon.state)
    assert daemon.start().seqctl("next", "orders").stdout == "2\n"


def test_ADecommissionedHostMayBeginAnew(make_daemon, scratch):
    daemon, mark = marked_daemon(make_daemon, scratch)
    daemon.seqctl("next", "orders")
    assert (mark / "has-state").exists()
    daemon.seqctl("decommission", "--yes")
    assert daemon.wait_exit() == EXIT_DECOMMISSIONED
    assert not (mark / "has-state").exists()
    daemon.start()
