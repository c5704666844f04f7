"""Ordinary MessagePack-RPC clients of other languages' packages, unmodified: Python's pynvim, and Neovim itself (Vim script, C);
and the smallest client of PROTOCOL.md."""

import json
import os
import re
import socket
import subprocess

import harness
from servers.patience import PROGRAM_SECONDS

PYNVIM = """
import json, sys
from pynvim.msgpack_rpc import socket_session, ErrorResponse
session = socket_session(sys.argv[1])
session.error_wrapper = lambda error: ErrorResponse(error[1])  # as pynvim.attach does
out = {"ids": [session.request("next", "orders") for _ in range(5)], "range": session.request("range", "orders", 3)}
try:
    session.request("next", "not a name")
except ErrorResponse as error:
    out["error"] = str(error)
out["after"] = session.request("next", "orders")
print(json.dumps(out))
"""

NEOVIM = """
let channel = sockconnect('pipe', $SOCKET, {'rpc': v:true})
let out = {'ids': [], 'types': []}
for i in range(5)
  let id = rpcrequest(channel, 'next', 'orders')
  call add(out.ids, id)
  call add(out.types, type(id))
endfor
let out.range = rpcrequest(channel, 'range', 'orders', 3)
try
  call rpcrequest(channel, 'next', 'not a name')
catch
  let out.error = v:exception
endtry
let out.after = rpcrequest(channel, 'next', 'orders')
call writefile([json_encode(out)], $RESULT)
qall!
"""


def check(out: dict) -> None:
    assert out["ids"] == [1, 2, 3, 4, 5]
    assert out["range"] == [[6, 3, 1]]
    assert "BAD_REQUEST: " in out["error"], out["error"]
    assert out["after"] == 9


def test_PynvimTakesIdsAndShowsTheError(daemon):
    done = subprocess.run(["/usr/bin/python3", "-c", PYNVIM, str(daemon.socket)], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=PROGRAM_SECONDS, check=False)
    assert done.returncode == 0, done.stderr
    check(json.loads(done.stdout))


def test_NeovimTakesIdsAndShowsTheError(daemon, scratch):
    script, result = scratch / "script.vim", scratch / "result.json"
    script.write_text(NEOVIM)
    done = subprocess.run(["nvim", "--headless", "-u", "NONE", "-i", "NONE", "-n", "-S", str(script)],
                          env={"PATH": "/usr/bin:/bin", "HOME": str(scratch), "XDG_RUNTIME_DIR": str(scratch), "TERM": "dumb",
                               "SOCKET": str(daemon.socket), "RESULT": str(result)},
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PROGRAM_SECONDS, check=False)
    assert result.exists(), done.stdout + done.stderr
    out = json.loads(result.read_text())
    assert out.pop("types") == [0] * 5  # v:t_number
    check(out)


def test_TheSmallestClientOfTheProtocolTriesOnceMore(daemon, scratch):
    document = (harness.PROJECT / "protocol/PROTOCOL.md").read_text()
    program = re.search(r"```python\n(.*?)```", document, re.DOTALL).group(1) + '\nprint(next_id("orders"))\n'

    def start(path):
        return subprocess.Popen(["/usr/bin/python3", "-c", program], env={**os.environ, "SEQD_SOCKET": str(path)},
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)

    assert start(daemon.socket).communicate(timeout=PROGRAM_SECONDS)[0] == "1\n"
    path = daemon.short / "front"
    with socket.socket(socket.AF_UNIX) as front:
        front.bind(str(path))
        front.listen()
        front.settimeout(PROGRAM_SECONDS)
        client = start(path)
        with front.accept()[0] as lost:  # the daemon carries the request out, and the reply is lost
            assert lost.recv(4096)
            assert daemon.connect().next() == 2
        with front.accept()[0] as again, socket.socket(socket.AF_UNIX) as behind:
            behind.connect(str(daemon.socket))
            behind.sendall(again.recv(4096))
            again.sendall(behind.recv(4096))
        assert client.communicate(timeout=PROGRAM_SECONDS)[0] == "3\n"
