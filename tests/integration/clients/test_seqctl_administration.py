"""What administrators ask once: who is connected, and which configuration is in force."""

import json
import os
import re
import resource
import shutil
import subprocess
import tomllib

import harness
from disks import NotShown
from servers.mongod import expect_soon
from servers.patience import PROGRAM_SECONDS
from watching import environment_of


def clients_of(daemon):
    return json.loads(daemon.seqctl("-o", "json", "clients").stdout)


def test_ClientsShowsWhoTookWhat(daemon):
    with daemon.connect() as client:
        client.call("hello", {"name": "sh\x1b[2Jop"})
        client.call("range", "orders", 500)
        client.next("orders")
        (shop,) = [row for row in clients_of(daemon) if row["name"] == "sh?[2Jop"]
        assert (shop["uid"], shop["pid"], shop["ids"], shop["requests"], shop["waiting"]) == (os.getuid(), os.getpid(), 501, 3, 0)
        before = shop["connected_ms"]
        assert before >= 0
        assert next(row for row in clients_of(daemon) if row["id"] == shop["id"])["connected_ms"] >= before
        text = daemon.seqctl("clients").stdout
        assert re.search(rf"^\S+ +{os.getpid()} +sh\?\[2Jop +\d+ .*3 +0 +501$", text, re.MULTILINE), text
    expect_soon("the end of the connection", lambda: [row["name"] for row in clients_of(daemon)] == ["seqctl"])


def test_ClientsOfOthersAreForAdministrators(make_daemon):
    if os.getuid() != 0:
        raise NotShown("another user can be tried by root only")
    daemon = make_daemon(daemon={"socket_mode": "0666"}).start()
    daemon.short.chmod(0o755)
    seqctl = daemon.short / "seqctl"
    shutil.copy(harness.SEQCTL, seqctl)

    def stranger(*arguments):
        return subprocess.run([str(seqctl), *arguments], env=environment_of(daemon.socket), stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=PROGRAM_SECONDS, check=False, user=65534, group=65534, extra_groups=[])

    with daemon.connect():
        assert {row["uid"] for row in clients_of(daemon)} == {0}
        seen = stranger("-o", "json", "clients")
        assert [row["uid"] for row in json.loads(seen.stdout)] == [65534]
        refused = stranger("config", "dump")
        assert refused.returncode == 1 and refused.stderr.startswith("seqctl: DENIED: config is for administrators")


def test_ThousandsOfConnectionsAreSeenPageByPage(daemon):
    files = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (files[1], files[1]))
    clients = [daemon.connect() for _ in range(1_100)]
    try:
        rows = clients_of(daemon)
        assert len(rows) == 1_101
        assert len({row["id"] for row in rows}) == 1_101
    finally:
        for client in clients:
            client.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, files)


def test_ConfigDumpIsWhatIsInForceAndReadsAsAFile(make_daemon, scratch):
    secret = "hunter2"
    stores = {"default": {"type": "sqlite"}, "central": {"type": "mongodb", "uri": f"mongodb://ann:{secret}@127.0.0.1:1/"}}
    daemon = make_daemon(daemon={"stop_timeout": "7s"}, stores=stores, sequences={"orders": {"max_value": 900}, "t-*": {"lease_min": 7}}).start()
    daemon.seqctl("next", "orders")
    text = daemon.seqctl("config", "dump").stdout
    assert secret not in text and "ann" not in text
    read = tomllib.loads(text)
    assert read["daemon"]["stop_timeout"] == "7s" and read["daemon"]["socket"] == str(daemon.socket)
    assert read["store"]["central"]["uri"] == "mongodb://***@127.0.0.1:1/"
    assert read["sequence"] == {"orders": {"max_value": 900}, "t-*": {"lease_min": 7}}
    line = daemon.config_file.read_text().splitlines().index('stop_timeout = "7s"') + 1
    assert re.search(rf'^stop_timeout = "7s" +# line {line}$', text, re.MULTILINE)
    assert re.search(r'^history_max_age = "30d" +# default$', text, re.MULTILINE)
    # A dump is a configuration, but for the secret.
    again = scratch / "again.toml"
    again.write_text(text.replace("***@", ""))
    subprocess.run([harness.SEQD, "--config", again, "--check"], check=True, capture_output=True, timeout=PROGRAM_SECONDS)

    daemon.configure(daemon={"stop_timeout": "8s", "history": False}, stores=stores, sequences={"orders": {"max_value": 900, "collection": "c"}})
    daemon.seqctl("reload")
    dumped = json.loads(daemon.seqctl("-o", "json", "config", "dump").stdout)
    options = {(table["table"], option["key"]): option for table in dumped["tables"] for option in table["options"]}
    assert dumped["reloads"] == 1 and dumped["file"] == str(daemon.config_file)
    assert options["daemon", "stop_timeout"]["value"] == '"8s"' and not options["daemon", "stop_timeout"]["waits"]
    assert options["daemon", "history"]["value"] == "true" and options["daemon", "history"]["waits"]
    assert options['sequence."orders"', "collection"]["value"] == '"counters"' and options['sequence."orders"', "collection"]["waits"]
    of_orders = daemon.seqctl("config", "dump", "orders").stdout
    assert '[sequence."orders"]' in of_orders and re.search(r'^lease_min = 10 +# default$', of_orders, re.MULTILINE), of_orders
    daemon.restart()
    assert "waits for a restart" not in daemon.seqctl("config", "dump").stdout
