"""An outage drill: ten minutes without the store, minute by minute, of a few answers each. What health, doctor, the metrics, the alerts as
they are shipped, and the status line say has to agree with what programs get that take IDs, ranges and texts all the while."""

import contextlib
import json
import re
import threading

import pytest

import metrics
from prometheus import RULES, promtool
from rpc import RpcError
from servers.mongod import expect_soon

MINUTES = 10
ANSWERS = 3
ASKS = {"singles": ("next", "singles"), "ranges": ("range", "ranges", 10), "texts": ("next_text", "texts")}
FAMILIES = ("seqd_store_up", "seqd_runway_seconds", "seqd_stopped_sequences", "seqd_ending_sequences", "seqd_waiting_requests",
            "seqd_uptime_seconds")
CRITICAL = ("SeqdNoIdsLeft", "SeqdRunwayShort")


class Caller:
    """A program that takes IDs, whatever it is told."""

    def __init__(self, daemon, request):
        self.ended = threading.Event()
        self.served = self.failed = 0
        self.thread = threading.Thread(target=self._run, args=(daemon, request))
        self.thread.start()

    def _run(self, daemon, request):
        with daemon.connect() as client:
            while not self.ended.wait(0.02):
                try:
                    client.call(*request)
                    self.served += 1
                except RpcError:
                    self.failed += 1

    def close(self):
        self.ended.set()
        self.thread.join()


class Drill:
    def __init__(self, daemon, place):
        self.daemon = daemon
        self.place = place
        self.callers = {name: Caller(daemon, request) for name, request in ASKS.items()}
        self.line = ""
        self.samples = []  # of each minute
        self.outages = []  # the minutes in which nobody got anything

    def close(self):
        for caller in self.callers.values():
            caller.close()

    def status_line(self):
        while line := self.daemon.notifications.find("STATUS="):
            self.line = line
        return self.line

    def minute(self):
        """It is over when each program has got a few answers: how many of its requests were served, and how many failed."""
        before = {name: (each.served, each.failed) for name, each in self.callers.items()}
        expect_soon("answers", lambda: all(each.served + each.failed >= sum(before[name]) + ANSWERS for name, each in self.callers.items()))
        return [(each.served - before[name][0], each.failed - before[name][1]) for name, each in self.callers.items()]

    def all_fail(self):
        return all(served == 0 for served, _ in self.minute())

    def all_are_served(self):
        return all(failed == 0 for _, failed in self.minute())

    def look(self, outage):
        if outage:
            self.outages.append(len(self.samples))
        self.samples.append(metrics.scrape(self.place))

    def check_outage(self):
        assert self.all_fail(), "a minute of the outage"
        ready = self.daemon.seqctl("-o", "json", "health", expect=5)
        why = "\n".join(json.loads(ready.stdout)["why"])
        doctor = self.daemon.seqctl("doctor", expect=1).stdout
        for name in ASKS:
            assert f"{name} is stopped: UNAVAILABLE: " in why
            assert re.search(rf"(?m)^bad +sequence +{name} is stopped: UNAVAILABLE: ", doctor)
        assert re.search(r"(?m)^bad +store +mongo \(mongodb\) is down: ", doctor)
        assert "3 stopped; runway 0 s (" in self.status_line() and "; store mongo down (UNAVAILABLE: " in self.line
        self.look(True)
        now = self.samples[-1]
        assert now[("seqd_stopped_sequences",)] == 3 and now[("seqd_store_up", "store=mongo")] == 0 and now[("seqd_runway_seconds",)] == 0

    def check_service(self):
        assert self.daemon.seqctl("health").stdout == "ready, 3 sequences in use\n"
        doctor = self.daemon.seqctl("doctor", expect=None).stdout
        assert re.search(r"(?m)^ok +sequences +3 in use, all of them can issue IDs$", doctor)
        assert re.search(r"(?m)^ok +store +mongo \(mongodb\) is ready$", doctor)
        expect_soon("the status line", lambda: "stopped" not in self.status_line() and "; store mongo ready" in self.line)  # it has a tick
        self.look(False)
        now = self.samples[-1]
        assert now[("seqd_stopped_sequences",)] == 0 and now[("seqd_store_up", "store=mongo")] == 1

    def series(self):
        names = sorted({key for samples in self.samples for key in samples if key[0] in FAMILIES or key[0] == "seqd_requests_refused_total"})
        for name in names:
            labels = [f'{label}="{value}"' for label, _, value in (one.partition("=") for one in name[1:])]
            values = " ".join("_" if name not in samples else repr(samples[name]) for samples in self.samples)
            yield {"series": name[0] + "{" + ", ".join(['job="seqd"', 'instance="a"', *labels]) + "}", "values": values}

    def check_alerts(self, scratch):
        """A minute after the beginning of an outage the critical alerts fire, and they stay for as long as it lasts."""
        tests = []
        for minute in range(len(self.samples)):
            during = minute in self.outages
            if during and minute - 1 not in self.outages:
                continue  # it begins: `for` is not over
            for alert in CRITICAL:
                firing = {"labels": f'{{alertname="{alert}"}}', "value": 1}
                tests.append({"eval_time": f"{minute}m50s", "expr": f'count by (alertname) (ALERTS{{alertstate="firing", alertname="{alert}"}})',
                              "exp_samples": [firing] if during else []})
        file = scratch / "drill.yml"
        file.write_text(json.dumps({"rule_files": [str(RULES)], "evaluation_interval": "10s",
                                    "tests": [{"interval": "1m", "input_series": list(self.series()), "promql_expr_test": tests}]}))
        assert len(tests) >= 2 * MINUTES
        assert "SUCCESS" in promtool("test", "rules", file)


@pytest.mark.limit(180)
@pytest.mark.parametrize("how", ["killed", "hung"])
def test_WhatIsSaidInAnOutageIsWhatCallersGet(mongo, make_daemon, scratch, how):
    # A range of ten leaves seven: less than what is asked for.
    daemon = make_daemon(defaults={"store": "mongo", "wait_timeout": "300ms", "lease_min": 107, "lease_max": 107, "format": "T-{number}"},
                         stores={"mongo": {"type": "mongodb", "uri": mongo.uri(), "database": f"drill_{how}", "timeout": "2s"}})
    place = daemon.short / "metrics.sock"
    daemon.configure(daemon={"metrics_socket": place},
                     defaults={"store": "mongo", "wait_timeout": "300ms", "lease_min": 107, "lease_max": 107, "format": "T-{number}"},
                     stores={"mongo": {"type": "mongodb", "uri": mongo.uri(), "database": f"drill_{how}", "timeout": "2s"}})
    daemon.start()
    drill = Drill(daemon, place)
    with contextlib.closing(drill):
        expect_soon("service", drill.all_are_served)
        drill.check_service()
        if how == "killed":
            mongo.kill()
        else:
            mongo.suspend()
        try:
            expect_soon("the outage", drill.all_fail)
            expect_soon("the store is down", lambda: metrics.scrape(place)[("seqd_store_up", "store=mongo")] == 0)
            expect_soon("the status line", lambda: "; store mongo down" in drill.status_line() and "3 stopped" in drill.line)
            for _ in range(MINUTES):
                drill.check_outage()
        finally:
            if how == "killed":
                mongo.start()
            else:
                mongo.resume()
        expect_soon("service again", drill.all_are_served)
        expect_soon("a store that is up", lambda: metrics.scrape(place)[("seqd_store_up", "store=mongo")] == 1)
        expect_soon("the status line", lambda: "stopped" not in drill.status_line())
        for _ in range(3):
            assert drill.all_are_served()
            drill.check_service()
    drill.check_alerts(scratch)


@pytest.mark.limit(60)
def test_AHostWithoutCallersIsReadyAgainWhenItsStoreIs(mongo, make_daemon):
    """Requests are sent elsewhere, since this host is not ready."""
    daemon = make_daemon(defaults={"store": "mongo", "lease_min": 107, "lease_max": 107},
                         stores={"mongo": {"type": "mongodb", "uri": mongo.uri(), "database": "alone", "timeout": "2s"}}).start()
    with daemon.connect() as client:
        client.call("range", "orders", 100)
        mongo.kill()
        try:
            with pytest.raises(RpcError):
                while True:
                    client.call("range", "orders", 100, {"timeout_ms": 300})
            assert client.call("peek", "orders")["available"] > 0
            ready = daemon.seqctl("health", expect=5).stdout
            assert ready.startswith("not ready: orders is stopped: UNAVAILABLE: ")
            for _ in range(MINUTES):
                daemon.seqctl("health", expect=5)
        finally:
            mongo.start()
        expect_soon("ready", lambda: daemon.seqctl("health", expect=None).returncode == 0)
        assert len(client.call("range", "orders", 100)) == 1
