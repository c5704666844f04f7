"""seqctl in a script, on a real daemon: lines, JSON and exit codes."""

import json
import os
import sqlite3
import subprocess

import pytest

import harness


def test_SeqctlTakesIdsOneALine(daemon):
    assert daemon.seqctl("next", "orders").stdout == "1\n"
    assert daemon.seqctl("next", "orders", "-n", "3").stdout == "2\n3\n4\n"
    assert "5" in daemon.seqctl("peek", "orders").stdout
    assert daemon.seqctl("range", "orders", "10").stdout.strip()
    assert daemon.seqctl("next", "orders").stdout == "15\n"


def test_SeqctlShowsListStatusAndPing(daemon):
    daemon.seqctl("next", "orders")
    assert "orders" in daemon.seqctl("list").stdout
    assert str(daemon.process.pid) in daemon.seqctl("status").stdout
    assert "pong" in daemon.seqctl("ping").stdout
    daemon.seqctl("reload")


@pytest.mark.parametrize("command", [["next", "orders"], ["next", "orders", "-n", "5"], ["next", "orders", "--text"]], ids=" ".join)
def test_SeqctlThatWaitsEndsAtATermination(make_daemon, command):
    """An ID that nobody is there to take is not issued: the next one is 1 all the same."""
    daemon = make_daemon().start()
    store = sqlite3.connect(daemon.state / "sequences.db", isolation_level=None, timeout=60)
    store.execute("BEGIN EXCLUSIVE")
    waiting = subprocess.Popen([str(harness.SEQCTL), "-t", "600", *command], env={**os.environ, "SEQD_SOCKET": str(daemon.socket)},
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        with daemon.connect() as client:
            while client.call("status")["waiting"] == 0:
                assert waiting.poll() is None
            waiting.terminate()
            out, errors = waiting.communicate(timeout=60)
            assert waiting.returncode == 130 and out == "" and "INTERRUPTED: 1 requests were not answered" in errors
            while client.call("status")["waiting"] != 0:
                pass
            store.execute("ROLLBACK")
            assert client.next("orders") == 1
    finally:
        waiting.kill()
        store.close()


@pytest.mark.parametrize("command", [["next", "orders"], ["range", "orders", "3"], ["peek", "orders"], ["list"], ["status"],
                                     ["ping"], ["reload"]], ids=" ".join)
def test_SeqctlSpeaksJson(daemon, command):
    json.loads(daemon.seqctl("-o", "json", *command).stdout)


def test_SeqctlTellsByItsExitCodeWhatWentWrong(daemon, tmp_path):
    assert daemon.seqctl("next", "a b", expect=None).returncode == 1
    assert "BAD_REQUEST" in daemon.seqctl("next", "a b", expect=None).stderr
    assert daemon.seqctl("nonsense", expect=None).returncode == 2
    assert daemon.seqctl("next", expect=None).returncode == 2
    assert daemon.seqctl("--timeout", "1", "--socket", str(tmp_path / "absent"), "ping", expect=None).returncode == 69
