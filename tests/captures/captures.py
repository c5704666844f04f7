#!/usr/bin/python3
"""`make captures`: the output of seqctl in daemon/doc/OPERATING.md, made again on a real terminal (tmux), of a daemon with a load.

Each block of the document that begins with "$ seqctl" and is in SHOWN gets what the command prints now. The daemon has its usual
paths, in a mount namespace of its own (root): what this host has there is neither read nor changed. With --print nothing is written.

usage: captures.py SEQD SEQCTL [--print]
"""

import contextlib
import os
import re
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "integration"))
# pylint: disable=wrong-import-position
from rpc import Connection, RpcError
from servers.mongod import die_with_parent, wait_for

DOCUMENT = ROOT / "daemon" / "doc" / "OPERATING.md"
SOCKET = Path("/run/seqd.sock")
CONFIGURATION = "[sequence.few]\nmax_value = 3\n"
PRIVATE = """
mount -t tmpfs -o mode=0755 tmpfs /run && mkdir -m 0700 /run/seqd
mount -t tmpfs -o mode=0755 tmpfs /var/lib && mkdir -m 0700 /var/lib/seqd && mount --bind "$STATE" /var/lib/seqd
exec "$@"
"""
# A command of the document, and after how many seconds it is read while it runs; None: at its end.
SHOWN = {"seqctl health; echo $?": None, "seqctl top": 12, "seqctl stat -n 5": None, "seqctl watch -n 3 orders few invoices": None,
         "seqctl clients": None, "seqctl latency -n 300": None, "seqctl doctor": None}
DRAIN_SECONDS = 20
MOST_SECONDS = 30


class Load:
    """Programs that take IDs in bursts, as a day at a shop does: some are larger than others."""

    def __init__(self) -> None:
        self.ended = threading.Event()
        with Connection(str(SOCKET)) as first:
            for name in ("people", "tickets", "few", "few", "few"):
                first.call("next", name)
        self.threads = [threading.Thread(target=self.take, args=one) for one in (("orders", 90, 0.08), ("invoices", 1, 0.024))]
        self.threads.append(threading.Timer(DRAIN_SECONDS, self.drain))
        for thread in self.threads:
            thread.start()

    def drain(self) -> None:
        """While `stat` runs: a gap, and an error."""
        with Connection(str(SOCKET)) as connection:
            connection.call("drain", "invoices")
            with contextlib.suppress(RpcError):
                connection.call("next", "few")

    def take(self, name: str, most: int, pause_s: float) -> None:
        with Connection(str(SOCKET)) as connection:
            number = 0
            while not self.ended.wait(pause_s):
                number += 1
                connection.call("range", name, 1 + number * 37 % most)

    def end(self) -> None:
        self.ended.set()
        for thread in self.threads:
            thread.join()


class Terminal:
    def __init__(self, directory: Path):
        self.tmux = ["tmux", "-f", "/dev/null", "-S", str(directory / "tmux")]
        self.call("new-session", "-d", "-x", "190", "-y", "50", "env", "PS1=", "TERM=screen-256color", "LC_ALL=C.UTF-8", "bash", "--norc")

    def call(self, *words: str) -> str:
        return subprocess.run([*self.tmux, *words], check=True, capture_output=True, text=True, timeout=MOST_SECONDS).stdout

    def shows(self) -> str:
        return "\n".join(line.rstrip() for line in self.call("capture-pane", "-p", "-J").splitlines()).strip("\n")

    def run(self, command: str, seconds) -> str:
        self.call("send-keys", "clear; " + command + ("" if seconds else "; tmux wait-for -S done"), "Enter")
        if seconds is None:
            self.call("wait-for", "done")
            return self.shows()
        threading.Event().wait(seconds)
        text = self.shows()
        self.call("send-keys", "C-c")
        return text

    def close(self) -> None:
        self.call("kill-server")


def replaced(document: str, command: str, output: str) -> str:
    """The block of that command with another output."""
    block = re.compile(r"^    \$ " + re.escape(command) + r"\n(?:    .*\n)*", re.MULTILINE)
    text = "".join(f"    {line}".rstrip() + "\n" for line in [f"$ {command}", *output.splitlines()])
    made, count = block.subn(lambda _: text, document)
    if count != 1:
        sys.exit(f"captures: {DOCUMENT.name} has {count} blocks of: {command}")
    return made


def inside(seqd: str, seqctl: str, only_print: bool) -> None:
    directory = Path(os.environ["STATE"]).parent
    configuration = directory / "seqd.toml"
    configuration.write_text(CONFIGURATION)
    os.environ["PATH"] = f"{Path(seqctl).parent}:{os.environ['PATH']}"
    with open(directory / "seqd.log", "wb") as log:
        daemon = subprocess.Popen([seqd, "--config", str(configuration)], stdin=subprocess.DEVNULL, stderr=log, preexec_fn=die_with_parent)
    try:
        wait_for("the daemon", SOCKET.exists)
        load, terminal = Load(), Terminal(directory)
        try:
            load.ended.wait(5)  # a runway has a rate to begin with
            document = DOCUMENT.read_text(encoding="utf-8")
            for command, seconds in SHOWN.items():
                output = terminal.run(command, seconds)
                print(f"$ {command}\n{output}\n", flush=True)
                document = replaced(document, command, output)
        finally:
            terminal.close()
            load.end()
    finally:
        daemon.terminate()
        daemon.wait()
    if not only_print:
        DOCUMENT.write_text(document, encoding="utf-8")


def main() -> None:
    if "STATE" in os.environ:
        inside(sys.argv[1], sys.argv[2], "--print" in sys.argv)
        return
    (ROOT / "build").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="captures-", dir=ROOT / "build") as place:
        state = Path(place) / "state"
        state.mkdir(mode=0o700)
        words = [str(Path(word).resolve()) if Path(word).exists() else word for word in sys.argv]
        done = subprocess.run(["unshare", "--mount", "--propagation", "private", "sh", "-ec", PRIVATE, "sh", sys.executable, "-B", *words],
                              env={**os.environ, "STATE": str(state)}, check=False)
        sys.exit(done.returncode)


if __name__ == "__main__":
    main()
