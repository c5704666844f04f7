"""A user of the socket's group who means harm, beside others: refused, and nobody else notices."""

import json
import os
import subprocess
import sys

import pytest

from disks import NotShown

# One connection as another user, that asks for everything which is not its right; prints the codes of the errors.
HARM = """
import os, socket, sys
sys.path[:0] = {path!r}
import rpc
os.setgroups({groups!r})
os.setresgid(65534, 65534, 65534)
os.setresuid(65534, 65534, 65534)
client = rpc.Connection({socket!r})
for call in {calls!r}:
    try:
        client.call(*call)
        print("OK")
    except rpc.RpcError as error:
        print(error.code)
"""


def as_stranger(daemon, *calls, groups=()):
    if os.getuid() != 0:
        raise NotShown("another user can be tried by root only")
    text = HARM.format(path=sys.path, groups=list(groups), socket=str(daemon.socket), calls=list(calls))
    done = subprocess.run(["/usr/bin/python3", "-B", "-c", text], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@pytest.fixture(name="open_daemon")
def daemon_that_everybody_reaches(make_daemon):
    daemon = make_daemon(daemon={"socket_mode": "0666"})
    daemon.short.chmod(0o755)
    return daemon.start()


def test_AMemberOfTheGroupCannotEndASequenceOrDisturbIt(open_daemon):
    with open_daemon.connect() as client:
        assert client.next() == 1
    codes = as_stranger(open_daemon, ("advance", "orders", 9007199254740991, {"everywhere": True}), ("drain", None), ("reload",),
                        ("purge", "orders", False), ("decommission",), ("config",), ("next", "orders"))
    assert codes == ["DENIED"] * 6 + ["OK"]
    with open_daemon.connect() as client:
        assert client.next() == 3
        assert client.call("gaps", "orders")["gaps"] == []


def test_RightsFollowTheConfigurationAndSupplementaryGroups(open_daemon):
    open_daemon.configure(daemon={"socket_mode": "0666"}, sequences={"orders": {"allow": ["@4711"]}})
    with open(open_daemon.config_file, "a", encoding="utf-8") as file:
        file.write('[sequence."denied"]\ndeny = ["nobody"]\n')
    open_daemon.seqctl("reload")
    assert as_stranger(open_daemon, ("next", "orders"), ("next", "denied"), ("next", "free")) == ["DENIED", "DENIED", "OK"]
    assert as_stranger(open_daemon, ("next", "orders"), ("range", "denied", 2), groups=[4711]) == ["OK", "DENIED"]
    with open_daemon.connect() as client:
        assert {row["name"] for row in client.call("list")} == {"orders", "free"}


# Connects as another user until it is refused, prints how often it got in, and holds the connections until it is killed.
CROWD = """
import os, socket
os.setgroups([])
os.setresgid(65534, 65534, 65534)
os.setresuid(65534, 65534, 65534)
held = []
while len(held) < 200:
    one = socket.socket(socket.AF_UNIX)
    one.settimeout(60)
    one.connect({socket!r})
    try:
        one.sendall(bytes([0x94, 0, 1, 0xa4]) + b"ping" + bytes([0x90]))
        if not one.recv(100):
            break
    except (BrokenPipeError, ConnectionResetError):
        break
    held.append(one)
print(len(held), flush=True)
input()
"""


def test_OneUserLeavesConnectionsForOthersAndForRoot(make_daemon):
    if os.getuid() != 0:
        raise NotShown("another user can be tried by root only")
    daemon = make_daemon(daemon={"socket_mode": "0666"}, limits={"max_connections": 64})
    daemon.short.chmod(0o755)
    daemon.start()
    crowd = subprocess.Popen(["/usr/bin/python3", "-B", "-c", CROWD.format(socket=str(daemon.socket))], stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, text=True)
    held = []
    try:
        assert crowd.stdout.readline() == "49\n"
        held = [daemon.connect() for _ in range(15)]
        assert [client.call("ping") for client in held] == ["pong"] * 15
    finally:
        crowd.kill()
        crowd.wait()
        for client in held:
            client.close()


# Another user who asks for audits without end, 64 at a time, and says when all of the first ones are on their way.
AUDITS = """
import os, sys
sys.path[:0] = {path!r}
import rpc
os.setgroups([])
os.setresgid(65534, 65534, 65534)
os.setresuid(65534, 65534, 65534)
client = rpc.Connection({socket!r})
for _ in range(64):
    client.request("audit", "orders")
print("asked", flush=True)
while True:
    client.read_reply()
    client.request("audit", "orders")
"""


def test_AuditsOfOneUserDoNotKeepOthersFromTheHistory(open_daemon):
    if os.getuid() != 0:
        raise NotShown("another user can be tried by root only")
    with open_daemon.connect() as client:
        client.next()
    text = AUDITS.format(path=sys.path, socket=str(open_daemon.socket))
    flood = subprocess.Popen(["/usr/bin/python3", "-B", "-c", text], stdout=subprocess.PIPE, text=True)
    try:
        assert flood.stdout.readline() == "asked\n"
        with open_daemon.connect() as client:
            for _ in range(20):  # BUSY would be an error
                assert client.call("explain", "orders", 1)["answer"] == "issued"
                assert client.call("gaps", "orders")["gaps"] == []
                assert client.call("audit", "orders")["good"]
    finally:
        flood.kill()
        flood.wait()


def test_SeqctlShowsWhatACallerMayAndWhy(make_daemon):
    daemon = make_daemon(daemon={"socket_mode": "0666"}, sequences={"orders": {}, "bills": {"deny": ["root"]}}).start()
    daemon.seqctl("next", "orders")
    lines = daemon.seqctl("rights").stdout.splitlines()
    assert lines[1] == "administer  yes: " + ("the user is root" if os.getuid() == 0 else "the daemon runs as this user")
    assert [line.split()[:2] for line in lines[2:]] == [["NAME", "TAKE"], ["orders", "yes"]]
    if os.getuid() == 0:
        shown = json.loads(daemon.seqctl("-o", "json", "rights", "bills", "orders").stdout)
        assert [(row["name"], row["take"]) for row in shown["sequences"]] == [("bills", False), ("orders", True)]
        assert daemon.seqctl("next", "bills", expect=1).stderr.split(": ", 2)[-1].strip().endswith(shown["sequences"][0]["why"])


def test_RightsOfMoreNamesThanOneRequestHolds(make_daemon):
    """The smallest request size that may be configured, and the longest names."""
    daemon = make_daemon(limits={"max_request_size": 1024}, sequences={"orders": {}}).start()
    names = [f"{number:04d}" + "n" * 120 for number in range(300)] + ["orders"]
    shown = json.loads(daemon.seqctl("-o", "json", "rights", *names).stdout)
    assert [row["name"] for row in shown["sequences"]] == names
