"""The metrics of the daemon: what they say while IDs are leased, issued and lost is what `status` says."""

import contextlib
import os
import re
import socket
import sqlite3
import stat
import threading
import time

import pytest

import metrics
from harness import Died
from rpc import RpcError
from servers.mongod import expect_soon
from servers.patience import PROGRAM_SECONDS

BUSY = {"lease_min": 50, "lease_max": 50, "max_available": 1000}


def wait_for_sample(place, key, good=lambda value: True):
    deadline = time.monotonic() + PROGRAM_SECONDS
    while True:
        samples = metrics.scrape(place)
        if key in samples and good(samples[key]):
            return samples
        assert time.monotonic() < deadline, f"no {key}: {samples.get(key)}"
        time.sleep(0.05)


@pytest.fixture
def served(make_daemon):
    """A daemon with metrics on a socket and a port."""
    daemon = make_daemon(defaults=BUSY)
    daemon.place = daemon.short / "metrics.sock"
    daemon.port = metrics.free_port()
    daemon.metrics = {"metrics_socket": daemon.place, "metrics_address": f"127.0.0.1:{daemon.port}"}
    daemon.configure(daemon=daemon.metrics, defaults=BUSY)
    return daemon.start()


def test_NothingIsServedUnlessItIsConfigured(daemon):
    port = metrics.free_port()
    with pytest.raises(ConnectionRefusedError):
        metrics.exchange(port, b"")
    assert sorted(path.name for path in daemon.short.iterdir() if path.is_socket()) == ["notify", "seqd.sock"]


def test_SocketAndPortServeBothFormats(served):
    for place in (served.place, served.port):
        plain = metrics.get(place)
        assert plain.status == 200 and plain.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
        assert "# TYPE seqd_ids_issued_total counter\n" in plain.text and not plain.text.endswith("# EOF\n")
        openmetrics = metrics.get(place, accept="application/openmetrics-text;version=1.0.0,text/plain;q=0.5")
        assert openmetrics.headers["content-type"] == "application/openmetrics-text; version=1.0.0; charset=utf-8"
        assert "# TYPE seqd_ids_issued counter\n" in openmetrics.text and openmetrics.text.endswith("\n# EOF\n")
    assert metrics.get(served.port, "/").status == 404
    assert metrics.Reply(metrics.exchange(served.place, b"DELETE /metrics HTTP/1.1\r\n\r\n")).status == 405
    assert stat.S_IMODE(os.stat(served.place).st_mode) == 0o660
    served.terminate()
    assert not served.place.exists()


def test_FiguresAreThoseOfStatus(served):
    with served.connect() as client:
        client.many("orders", 30)
        client.call("range", "users", 60)
        with pytest.raises(RpcError):
            client.call("next", "no name")
        client.call("drain", "users")
        deadline = time.monotonic() + PROGRAM_SECONDS
        while any(row["state"] != "ready" for row in client.call("list")):  # a lease is under way
            assert time.monotonic() < deadline
            time.sleep(0.02)
        looks = client.call("status")["requests"]
        before = metrics.scrape(served.place)
        status = client.call("status")
        rows = {row["name"]: row for row in client.call("list")}
        assert before[("seqd_ids_issued_total",)] == status["issued"] == 90
        requests = {key[1]: value for key, value in before.items() if key[0] == "seqd_requests_total"}
        assert requests["method=next"] == 31 and requests["method=range"] == 1 and requests["method=drain"] == 1
        assert sum(requests.values()) == looks == status["requests"] - 1
        assert before[("seqd_requests_refused_total", "code=BAD_REQUEST")] == 1
        assert before[("seqd_connections",)] == status["connections"] == 1
        assert before[("seqd_sequences",)] == status["sequences"] == 2
        assert before[("seqd_waiting_requests",)] == status["waiting"] == 0
        assert before[("seqd_store_up", "store=default")] == 1
        available = sum(row["available"] for row in rows.values())
        assert before[("seqd_available_ids",)] == available > 0
        leases = before[("seqd_leases_total", "store=default", "outcome=granted")]
        assert leases >= 3 and before[("seqd_lease_duration_seconds_count", "store=default")] == leases
        assert before[("seqd_log_sync_duration_seconds_count",)] <= status["log"]["syncs"]
        gaps = sum(gap["count"] for gap in client.call("gaps", "users")["gaps"])
        assert before[("seqd_gap_ids_total", "cause=drained")] == gaps > 0


def test_RunwayIsInStatusInListAndInTheMetrics(served):
    place = served.place
    with served.connect() as client:
        stop = threading.Event()

        def issue():
            with served.connect() as other:
                while not stop.is_set():
                    other.next("orders")
                    stop.wait(0.01)

        worker = threading.Thread(target=issue)
        worker.start()
        try:
            samples = wait_for_sample(place, ("seqd_runway_seconds",), lambda value: 0 < value < 1000)
            assert ("seqd_sequence_runway_seconds", "sequence=orders") in samples
            assert ("seqd_sequence_issued_ids_total", "sequence=orders") in samples
            status = client.call("status")
            assert status["runway_sequence"] == "orders" and 0 < status["runway_ms"] < 1_000_000
            row, = client.call("list")
            assert 0 < row["runway_ms"] < 1_000_000
            deadline = time.monotonic() + PROGRAM_SECONDS
            while not re.search(r"; runway \d+ s \(orders\)", served.wait_notification("STATUS=")):
                assert time.monotonic() < deadline, "systemd is told of no runway"
        finally:
            stop.set()
            worker.join()
    assert "runway" in served.seqctl("status").stdout


def test_AStoreThatGoesAwayIsSeen(served):
    """Its IDs end, and requests wait. A file that somebody has locked is an outage."""
    with served.connect() as client, contextlib.closing(sqlite3.connect(served.state / "sequences.db", isolation_level=None)) as file:
        client.next("orders")
        file.execute("BEGIN EXCLUSIVE")
        request = client.request("range", "orders", 900, {"timeout_ms": 300_000})
        samples = wait_for_sample(served.place, ("seqd_store_up", "store=default"), lambda value: value == 0)
        assert samples[("seqd_waiting_requests",)] == 1
        refused = [value for key, value in samples.items()
                   if key[:2] == ("seqd_leases_total", "store=default") and key[2] in ("outcome=refused", "outcome=unknown")]
        assert sum(refused) >= 1
        file.execute("ROLLBACK")
        assert client.result(request)
        wait_for_sample(served.place, ("seqd_store_up", "store=default"), lambda value: value == 1)


def test_AStoreThatIsSilentSinceTheStartIsSeen(served):
    """After an orderly stop nothing that is available may be issued before the store has answered."""
    with served.connect() as client:
        client.next("orders")
    served.terminate()
    with contextlib.closing(sqlite3.connect(served.state / "sequences.db", isolation_level=None)) as file:
        file.execute("BEGIN EXCLUSIVE")
        served.start()
        samples = wait_for_sample(served.place, ("seqd_store_up", "store=default"), lambda value: value == 0)
        assert samples[("seqd_available_ids",)] > 0
        with served.connect() as client:
            request = client.request("next", "orders", {"timeout_ms": 300_000})
            samples = wait_for_sample(served.place, ("seqd_runway_seconds",), lambda value: value == 0)
            assert samples[("seqd_waiting_requests",)] == 1
            ready = served.seqctl("health", expect=5)
            assert ready.stdout.startswith("not ready: orders waits for the first answer of its store default")
            assert re.search(r"(?m)^bad +store +default \(sqlite\) is waiting: ", served.seqctl("doctor", expect=1).stdout)
            file.execute("ROLLBACK")
            assert client.result(request) == 2
        wait_for_sample(served.place, ("seqd_store_up", "store=default"), lambda value: value == 1)
        assert served.seqctl("health").stdout == "ready, 1 sequences in use\n"


def test_AGapOfTheStartIsCounted(make_daemon):
    daemon = make_daemon(defaults=BUSY)
    place = daemon.short / "metrics.sock"
    daemon.configure(daemon={"metrics_socket": place}, defaults=BUSY)
    daemon.start()
    with daemon.connect() as client:
        client.next("orders")
    daemon.kill()
    for name in daemon.witness.iterdir():  # as a power loss does
        name.unlink()
    daemon.start()
    samples = metrics.scrape(place)
    lost = samples[("seqd_gap_ids_total", "cause=power_loss")] + samples[("seqd_gap_ids_total", "cause=no_witness")]
    with daemon.connect() as client:
        assert lost == sum(gap["count"] for gap in client.call("gaps", "orders")["gaps"]) > 0
    assert samples[("seqd_ids_issued_total",)] == 0


def wait_for_names(place, wanted):
    """The samples of a round, which is made each second, once `wanted` of its issued IDs by name is true."""
    deadline = time.monotonic() + PROGRAM_SECONDS
    while True:
        samples = metrics.scrape(place)
        issued = {key[1]: value for key, value in samples.items() if key[0] == "seqd_sequence_issued_ids_total"}
        if wanted(issued):
            return samples, issued
        assert time.monotonic() < deadline, issued
        time.sleep(0.05)


def test_ABoundedNumberOfSequencesIsNamed(make_daemon):
    defaults = {"lease_min": 10, "lease_max": 10}
    daemon = make_daemon(defaults=defaults)
    place = daemon.short / "metrics.sock"
    daemon.configure(daemon={"metrics_socket": place, "metrics_sequences": 0}, defaults=defaults)
    daemon.start()
    names = [f"tenant-{number}" for number in range(50)]
    with daemon.connect() as client:
        for name in names:
            client.next(name)
        wait_for_names(place, lambda issued: issued.get("sequence=(others)") == len(names))
        # A reload names some: what the others have counted is not counted again.
        daemon.configure(daemon={"metrics_socket": place, "metrics_sequences": 3}, defaults=defaults)
        client.call("reload")
        samples, issued = wait_for_names(place, lambda issued: len(issued) > 1)
        assert 3 <= len(issued) - 1 <= 4
        assert sum(issued.values()) == samples[("seqd_ids_issued_total",)] == len(names)
        available = {key[1]: value for key, value in samples.items() if key[0] == "seqd_sequence_available_ids"}
        assert available.keys() == issued.keys()
        assert sum(available.values()) == samples[("seqd_available_ids",)] == 9 * len(names)
        # What one of them issues from here on is counted by its name, as long as it is shown.
        busy = next(name for name in names if f"sequence={name}" in issued)
        client.many(busy, 5)
        samples, issued = wait_for_names(place, lambda issued: issued.get(f"sequence={busy}", 0) > 0)
        assert sum(issued.values()) == samples[("seqd_ids_issued_total",)] == len(names) + 5
        daemon.configure(daemon={"metrics_socket": place, "metrics_sequences": 0}, defaults=defaults)
        client.call("reload")
        wait_for_names(place, lambda issued: len(issued) <= 1)


def test_HostileClientsKeepNobodyFromItsIds(served):
    silent = []
    for number in range(60):
        one = socket.socket(socket.AF_UNIX)
        one.connect(str(served.place))
        one.sendall(b"GET /metrics HTTP/1.1\r\nX: " + b"a" * (number * 300))
        silent.append(one)
    with served.connect() as client:
        assert client.many("orders", 200) == list(range(1, 201))
    for one in silent:
        one.close()
    assert metrics.get(served.place).status == 200


@pytest.mark.parametrize("address, why", [("0.0.0.0:9464", "other hosts may reach"), ("example.com:9464", "is not an address"),
                                          ("127.0.0.1", "has no port")])
def test_AnAddressThatIsNotOfLoopbackIsRefused(make_daemon, address, why):
    daemon = make_daemon(daemon={"metrics_address": address})
    with pytest.raises(Died) as died:
        daemon.start()
    assert died.value.code == 78
    assert "daemon.metrics_address" in died.value.stderr and why in died.value.stderr and "allowed: " in died.value.stderr


def test_APortThatIsTakenKeepsNobodyFromItsIdsAndIsTriedAgain(make_daemon):
    """Any user of the host can take a port, and wait for the daemon to start again."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        daemon = make_daemon()
        place = daemon.short / "metrics.sock"
        daemon.configure(daemon={"metrics_socket": place, "metrics_address": f"127.0.0.1:{port}"})
        daemon.start()
        with daemon.connect() as client:
            assert client.next("orders") == 1
        assert f"metrics_address serves no metrics: address 127.0.0.1:{port} cannot be used: Address already in use" in daemon.stderr()
        assert "metrics_socket serves" not in daemon.stderr()
        assert metrics.get(place).status == 200
    deadline = time.monotonic() + PROGRAM_SECONDS
    while True:
        try:
            assert metrics.get(port).status == 200
            break
        except ConnectionRefusedError:
            assert time.monotonic() < deadline, daemon.stderr()
            time.sleep(0.1)
    daemon.terminate()
    assert not place.exists()


def test_TheSocketAndTheAddressEachTellTheirOwnFailure(make_daemon):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        daemon = make_daemon()
        place = daemon.short / "later" / "metrics.sock"
        daemon.configure(daemon={"metrics_socket": place, "metrics_address": address})
        daemon.start()
        assert f"metrics_address serves no metrics: address {address} cannot be used: Address already in use" in daemon.stderr()
        assert f"metrics_socket serves no metrics: socket {place}: cannot be bound" in daemon.stderr()
        place.parent.mkdir()
        expect_soon("the socket", place.exists, PROGRAM_SECONDS)
        assert metrics.get(place).status == 200
        assert daemon.stderr().count("serves no metrics") == 2  # each once, however often it was tried
        daemon.terminate()


def are_open(connections):
    """Whether the daemon has ended none of them."""
    for each in connections:
        try:
            if each.recv(1, socket.MSG_DONTWAIT) == b"":
                return False
        except BlockingIOError:
            continue
    return True


def test_WhoTakesAllPlacesOfThePortTakesNoneOfTheSocket(served):
    places = 16
    before = len(os.listdir(f"/proc/{served.process.pid}/fd"))
    for _ in range(5):
        with contextlib.ExitStack() as stack:
            idle = [stack.enter_context(socket.create_connection(("127.0.0.1", served.port))) for _ in range(40)]
            for each in idle:  # a head that does not end
                each.sendall(b"GET /metrics HTTP/1.1\r\n")
            expect_soon("the places", lambda: len(os.listdir(f"/proc/{served.process.pid}/fd")) >= before + places)
            assert metrics.get(served.place).status == 200
            # Nothing was ended by its time, which the reply would have waited for.
            if are_open(idle):
                return
    pytest.fail("the socket answered only when clients of the port had gone")
