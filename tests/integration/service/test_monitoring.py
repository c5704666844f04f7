"""What lies in packaging/monitoring, on a real Prometheus that reads a real daemon: promtool accepts the metrics and the alert
rules, the rules' own tests pass, and every query of a rule or of the dashboard finds something that it is about."""

import contextlib
import json
import re
import signal
import subprocess
import threading
import time
import urllib.parse
import urllib.request
from pathlib import Path

import pytest

import metrics
from prometheus import BIN, MONITORING, RULES, promtool
from rpc import RpcError
from servers.mongod import die_with_parent
from servers.patience import PROGRAM_SECONDS

DIRECTLY = urllib.request.build_opener(urllib.request.ProxyHandler({}))
# Nothing of it happens in these tests.
MAY_BE_EMPTY = re.compile(r"seqd_gap_ids_total|seqd_requests_refused_total")


class Prometheus:
    def __init__(self, scratch: Path, port: int):
        self.port = metrics.free_port()
        config = scratch / "prometheus.yml"
        config.write_text(f"global: {{scrape_interval: 1s, evaluation_interval: 1s}}\nrule_files: ['{RULES}']\n"
                          f"scrape_configs: [{{job_name: seqd, static_configs: [{{targets: ['127.0.0.1:{port}']}}]}}]\n")
        promtool("check", "config", config)
        self.log = open(scratch / "prometheus.log", "wb")
        self.process = subprocess.Popen(
            [str(BIN / "prometheus"), f"--config.file={config}", f"--storage.tsdb.path={scratch / 'tsdb'}",
             f"--web.listen-address=127.0.0.1:{self.port}"],
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log, preexec_fn=die_with_parent)

    def ask(self, path: str, **parameters):
        url = f"http://127.0.0.1:{self.port}/api/v1/{path}?{urllib.parse.urlencode(parameters)}"
        with DIRECTLY.open(url, timeout=PROGRAM_SECONDS) as reply:
            answer = json.load(reply)
        assert answer["status"] == "success", answer
        return answer["data"]

    def query(self, expression: str):
        return self.ask("query", query=expression)["result"]

    def wait_for(self, expression: str):
        deadline = time.monotonic() + PROGRAM_SECONDS
        while True:
            with contextlib.suppress(OSError):
                if result := self.query(expression):
                    return result
            assert self.process.poll() is None, "Prometheus ended"
            assert time.monotonic() < deadline, f"nothing for {expression}"
            time.sleep(0.1)

    def close(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.log.close()


@pytest.fixture
def scraped(make_daemon, scratch):
    """A daemon that has served, and a Prometheus that has read it twice at least."""
    port = metrics.free_port()
    daemon = make_daemon(daemon={"metrics_address": f"127.0.0.1:{port}"}, defaults={"lease_min": 20, "lease_max": 20}).start()
    daemon.metrics_port = port
    with daemon.connect() as client:
        client.many("orders", 30)
        prometheus = Prometheus(scratch, port)
        try:
            prometheus.wait_for('up{job="seqd"} == 1')
            # What a rate needs: a change between two reads.
            client.many("orders", 100)
            prometheus.wait_for('seqd_requests_total{method="next"} == 130 and on (instance) count_over_time(seqd_build_info[1m]) >= 2')
            prometheus.wait_for('seqd_sequence_issued_ids_total{sequence="orders"} == 130')
            yield daemon, prometheus
        finally:
            prometheus.close()


def test_PromtoolAcceptsTheMetrics(make_daemon):
    daemon = make_daemon()
    place = daemon.short / "metrics.sock"
    daemon.configure(daemon={"metrics_socket": place})
    daemon.start()
    with daemon.connect() as client:
        client.many("orders", 50)
        assert promtool("check", "metrics", text=metrics.get(place).text) == ""


def test_PromtoolAcceptsTheRulesAndTheirTestsPass():
    assert "SUCCESS" in promtool("check", "rules", RULES)
    assert "SUCCESS" in promtool("test", "rules", MONITORING / "seqd.rules-test.yml")


def test_EveryAlertHasATest():
    alerts = re.findall(r"- alert: (\w+)", RULES.read_text())
    tests = (MONITORING / "seqd.rules-test.yml").read_text()
    assert alerts
    for alert in alerts:
        raised = re.findall(rf"alertname: {alert}\n\s+exp_alerts:\s*(?:\[\{{|\n)", tests)
        silent = re.findall(rf"alertname: {alert}, exp_alerts: \[\]", tests)
        assert raised and silent, f"{alert} is not seen raised and silent"


def test_PrometheusReadsTheDaemon(scraped):
    daemon, prometheus = scraped
    issued, = prometheus.query("seqd_ids_issued_total")
    with daemon.connect() as client:
        assert float(issued["value"][1]) == client.call("status")["issued"] == 130
    assert prometheus.ask("targets")["activeTargets"][0]["lastError"] == ""
    assert {rule["health"] for group in prometheus.ask("rules")["groups"] for rule in group["rules"]} <= {"ok", "unknown"}
    assert [alert for alert in prometheus.ask("alerts")["alerts"] if alert["state"] == "firing"] == []


def test_EveryQueryFindsWhatItIsAbout(scraped):
    _, prometheus = scraped
    dashboard = json.loads((MONITORING / "seqd-dashboard.json").read_text())
    targets = [(panel["title"], target["expr"]) for panel in dashboard["panels"] for target in panel["targets"]]
    assert len(targets) >= len(dashboard["panels"]) > 0
    for title, query in targets:
        for variable, value in (("$job", "seqd"), ("$instance", ".*"), ("$__rate_interval", "1m"), ("$__range", "1m")):
            query = query.replace(variable, value)
        assert "$" not in query, query
        if not prometheus.query(query):
            assert MAY_BE_EMPTY.search(query), f"{title}: {query}"
    # Every metric that a rule or a panel names is one that the daemon has.
    known = set(prometheus.ask("label/__name__/values"))
    named = set(re.findall(r"\bseqd_\w+", RULES.read_text() + " ".join(query for _, query in targets)))
    assert named - known == set()


@pytest.mark.limit(180)
def test_TheRunwayAlertFiresWhileMongodIsStoppedAndEndsAfterIt(mongo, make_daemon, scratch):
    """As it is shipped. A program takes IDs all the while; what it is told in the outage is its own affair."""
    port = metrics.free_port()
    daemon = make_daemon(daemon={"metrics_address": f"127.0.0.1:{port}"}, defaults={"store": "mongo", "wait_timeout": "500ms"},
                         stores={"mongo": {"type": "mongodb", "uri": mongo.uri(), "database": "runway", "timeout": "2s"}}).start()
    prometheus = Prometheus(scratch, port)
    ended = threading.Event()

    def take():
        with daemon.connect() as client:
            while not ended.wait(0.02):
                with contextlib.suppress(RpcError):
                    client.call("range", "orders", 5)

    program = threading.Thread(target=take)
    program.start()
    firing = 'ALERTS{alertname="SeqdRunwayShort", alertstate="firing"}'
    try:
        prometheus.wait_for("seqd_runway_seconds > 0")
        assert not prometheus.query(firing)
        mongo.stop()
        alert, = prometheus.wait_for(firing)
        assert alert["metric"]["job"] == "seqd" and alert["metric"]["severity"] == "critical"
        assert prometheus.query("seqd_store_up")[0]["value"][1] == "0"
        print(f"firing: {alert['metric']}, runway {prometheus.query('seqd_runway_seconds')[0]['value'][1]} s")
        mongo.restart()
        prometheus.wait_for(f"seqd_store_up == 1 unless on (job, instance) {firing}")
    finally:
        ended.set()
        program.join()
        prometheus.close()
