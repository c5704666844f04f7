"""daemon.busy_poll: the daemon looks for the next request without sleeping, and nothing else suffers from it."""

import time
from pathlib import Path

from servers.patience import PROGRAM_SECONDS

REQUESTS = 2_000


def naps(daemon) -> int:
    """How often the loop's thread has slept: it gave its CPU up by itself."""
    process = daemon.process.pid
    status = Path(f"/proc/{process}/task/{process}/status").read_text()
    return int(next(line.split()[1] for line in status.splitlines() if line.startswith("voluntary_ctxt_switches")))


def naps_over_requests(daemon) -> int:
    with daemon.connect() as client:
        assert client.call("next", "orders") == 1
        before = naps(daemon)
        for expected in range(2, REQUESTS + 2):
            assert client.call("next", "orders") == expected
        return naps(daemon) - before


def test_WhileRequestsComeItDoesNotSleep(make_daemon):
    sleeping = naps_over_requests(make_daemon(name="sleeping").start())
    polling = naps_over_requests(make_daemon(name="polling", daemon={"busy_poll": "1s"}).start())
    assert sleeping > REQUESTS / 2, "the comparison shows nothing"
    assert polling < sleeping / 10


def test_WhenRequestsStopItSleeps(make_daemon):
    daemon = make_daemon(daemon={"busy_poll": "10ms"}).start()
    with daemon.connect() as client:
        client.call("next", "orders")
        deadline = time.monotonic() + PROGRAM_SECONDS
        asleep = 0
        while asleep < 20:
            assert time.monotonic() < deadline, "it does not sleep"
            asleep = asleep + 1 if Path(f"/proc/{daemon.process.pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "S" else 0
            time.sleep(0.005)
        assert client.call("next", "orders") == 2


def test_EverythingElseGoesOnMeanwhile(make_daemon):
    daemon = make_daemon(daemon={"busy_poll": "1s"}).start()
    with daemon.connect() as one:
        assert one.call("next", "orders") == 1
        # A connection that is new, a lease of the worker thread, more connections than are polled, one that ends.
        clients = [daemon.connect() for _ in range(20)]
        for number, client in enumerate(clients):
            assert client.call("next", f"users-{number}") == 1
        for client in clients:
            client.close()
        assert one.call("range", "orders", 5_000)
        deadline = time.monotonic() + PROGRAM_SECONDS
        while one.call("status")["connections"] != 1:
            assert time.monotonic() < deadline, "the ends of the connections are not seen"
    daemon.terminate()
    daemon.start()
    with daemon.connect() as again:
        assert again.call("next", "orders") == 5_002


def test_AReloadSwitchesItOnAndOff(make_daemon):
    daemon = make_daemon().start()
    daemon.configure(daemon={"busy_poll": "1s"})
    with daemon.connect() as admin:
        admin.call("reload")
    before = naps_over_requests(daemon)
    daemon.configure(daemon={"busy_poll": "0s"})
    with daemon.connect() as admin:
        admin.call("reload")
    with daemon.connect() as client:
        client.call("next", "orders")
        slept = naps(daemon)
        for _ in range(REQUESTS):
            client.call("next", "orders")
        slept = naps(daemon) - slept
    assert before < slept / 10
