"""The wall clock jumps by days and goes back, in the daemon only (libfaketime): nothing but the text of the log depends on it."""

import os
import subprocess
import time
from pathlib import Path

import pytest

from harness import write_at_once
from repeating import RepeatingClient
from servers.patience import PROGRAM_SECONDS

LIBRARY = next((path for path in Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1")), None)
DAY_MS = 86_400_000
DEFAULTS = {"lease_min": 20, "lease_max": 60, "lease_duration": "50ms", "max_available": 300, "max_unsynced": 20}


@pytest.mark.limit(60)
@pytest.mark.parametrize("monotonic", [False, True], ids=["wall", "all-clocks"])
def test_AClockThatJumpsByDaysDisturbsNothing(make_daemon, scratch, monotonic):
    """With all clocks faked the monotonic one leaps forward, too, as after a suspend: deadlines are over, and nothing more."""
    assert LIBRARY is not None, "libfaketime is missing: apt-get install faketime"
    offset = scratch / "offset"
    write_at_once(offset, "+0d")
    fake = {"LD_PRELOAD": str(LIBRARY), "FAKETIME_TIMESTAMP_FILE": str(offset), "FAKETIME_NO_CACHE": "1"}
    if not monotonic:
        fake["FAKETIME_DONT_FAKE_MONOTONIC"] = "1"
    daemon = make_daemon(environment=fake, defaults=DEFAULTS, limits={"idle_timeout": "0s"}).start()
    client = RepeatingClient()
    for jump in ["+0d", "+1d", "+400d"] + ([] if monotonic else ["-1d", "-3000d", "+1d"]):
        write_at_once(offset, jump)
        with daemon.connect() as connection:
            assert connection.next("other", timeout_ms=20_000) > 0
            uptime = connection.call("status")["uptime_ms"]
        days = int(jump[:-1])
        assert uptime > days * DAY_MS - 1000 if monotonic else 0 <= uptime < DAY_MS
        seen = int(subprocess.run(["date", "+%s"], env={**os.environ, **fake}, capture_output=True, check=True, timeout=PROGRAM_SECONDS).stdout)
        assert abs(seen - time.time() - days * DAY_MS / 1000) < 3600, "the clock is not faked"
        assert client.take(daemon, 30, 10)
        assert daemon.running()
    daemon.kill()
    write_at_once(offset, "-10d")
    daemon.start()
    assert client.take(daemon, 5, 10)
    assert client.ids == list(range(1, len(client.ids) + 1))
    assert not client.errors
    daemon.restart()
    assert client.take(daemon, 5, 10)
    assert client.ids == list(range(1, len(client.ids) + 1))
