"""Carries out the scripts of model.json with a client of Python, or one that Python can call."""

import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

from servers.patience import PATIENCE

HERE = Path(__file__).resolve().parent
SCRIPTS = json.loads((HERE / "model.json").read_text())["scripts"]
NAMES = [script["name"] for script in SCRIPTS]
LONG = 30.0 * PATIENCE


def filled(value):
    """The parameter that a script stands for."""
    if isinstance(value, dict):
        if "$text" in value:
            return "x" * value["$text"]
        if "$levels" in value:
            made = []
            for _ in range(value["$levels"] - 1):
                made = [made]
            return made
        return {key: filled(one) for key, one in value.items()}
    return value


def outcome_of(result):
    if isinstance(result, list):
        return "ids " + ",".join(map(str, result))
    return f"text {result}" if isinstance(result, str) else f"id {result}"


class ScriptedDaemon:
    """The scripted daemon, and what it says."""

    def __init__(self, path, name):
        self.process = subprocess.Popen([sys.executable, "-B", HERE / "scripted_daemon.py", path, name], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        self.lines = queue.Queue()
        self.said = []
        self.reader = threading.Thread(target=self._read)
        self.reader.start()
        self.until("listening")

    def _read(self):
        for line in self.process.stdout:
            self.lines.put(line.strip())
        self.lines.put(None)

    def until(self, event):
        while not any(f"{line} ".startswith(f"{event} ") for line in self.said):
            line = self.lines.get(timeout=LONG)
            assert line is not None and not line.startswith("broken"), f"waiting for {event}: {line}, after {self.said}"
            self.said.append(line)

    def tell(self, event):
        self.process.stdin.write(f"{event}\n")
        self.process.stdin.flush()

    def end(self):
        """What it said in all."""
        self.process.stdin.close()
        self.process.wait(LONG)
        self.reader.join(LONG)
        while (line := self.lines.get()) is not None:
            self.said.append(line)
        self.process.stdout.close()
        return self.said


def carry_out(script, kind):
    """kind: makes a client of a path, with `can` (what of `needs` it can do), `outcomes`, and the steps as methods. False: it lacks what
    the script needs."""
    if not set(script.get("needs", ())) <= kind.can:
        return False
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        path = os.path.join(folder, "s")
        daemon = ScriptedDaemon(path, script["name"])
        client = kind(path, {name: timeout / 1000 for name, timeout in script.get("timeouts", {}).items()})
        try:
            for word, *rest in script["client"]:
                getattr(daemon if word in ("until", "tell") else client, word.replace("await", "wait_for"))(*rest)
        finally:
            client.end()
            said = daemon.end()
    assert daemon.process.returncode == 0, said
    assert set(client.outcomes) == set(script["outcomes"])
    for name, allowed in script["outcomes"].items():
        assert client.outcomes[name] in allowed, f"{name}: {said}"
    for method, allowed in script.get("sent", {}).items():
        assert sum(line.startswith("taken ") and line.endswith(f" {method}") for line in said) in allowed, said
    return True
