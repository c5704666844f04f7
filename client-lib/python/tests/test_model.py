"""The scripts of tests/clients/model.json: what a caller may see, whatever the daemon does. The blocking client by threads, the
asyncio one by tasks."""

import asyncio
import json
import os
import queue
import subprocess
import sys
import tempfile
import threading

import pytest

import seqd
from harness import PROJECT
from seqd import aio
from servers.patience import PATIENCE
from test_threads_fork import in_child

CLIENTS = PROJECT / "tests" / "clients"
SCRIPTS = json.loads((CLIENTS / "model.json").read_text())["scripts"]
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


def calling(method, parameters, timeout):
    """The name, arguments and options of the client's method."""
    arguments = [filled(one) for one in parameters]
    options = {"timeout": timeout}
    if method == "insert_unique":
        return "insert", arguments[:-1], {**options, "unique": arguments[-1]}
    return {"range": "next_many"}.get(method, method), arguments, options


def outcome_of(result):
    if isinstance(result, list):
        return "ids " + ",".join(map(str, result))
    return f"text {result}" if isinstance(result, str) else f"id {result}"


class Threads:
    """Calls of the blocking client, each in a thread."""

    can = {"fork"}

    def __init__(self, path):
        self.client = seqd.Client(path, timeout=LONG)
        self.calls = {}
        self.outcomes = {}

    def call(self, method, parameters, timeout):
        name, arguments, options = calling(method, parameters, timeout)
        try:
            return outcome_of(getattr(self.client, name)(*arguments, **options))
        except seqd.SeqdError as error:
            return f"error {error.code}"

    def start(self, name, timeout, method, *parameters):
        def run():
            self.outcomes[name] = self.call(method, parameters, timeout)

        self.calls[name] = threading.Thread(target=run)
        self.calls[name].start()

    def wait_for(self, name):
        self.calls[name].join(LONG)
        assert not self.calls[name].is_alive(), f"the call {name} does not end"

    def fork(self, name, timeout, method, *parameters):
        self.outcomes[name] = in_child(lambda: self.call(method, parameters, timeout))()

    def close(self):
        self.client.close()


class Tasks:
    """Calls of the asyncio client, whose loop runs in a thread."""

    can = {"cancel"}

    def __init__(self, path):
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever)
        self.thread.start()
        self.client = aio.Client(path, timeout=LONG)
        self.calls = {}
        self.outcomes = {}

    def start(self, name, timeout, method, *parameters):
        method, arguments, options = calling(method, parameters, timeout)

        async def run():
            try:
                self.outcomes[name] = outcome_of(await getattr(self.client, method)(*arguments, **options))
            except seqd.SeqdError as error:
                self.outcomes[name] = f"error {error.code}"
            except asyncio.CancelledError:
                self.outcomes[name] = "error CANCELLED"

        self.calls[name] = asyncio.run_coroutine_threadsafe(run(), self.loop)

    def wait_for(self, name):
        self.calls[name].result(LONG)

    def cancel(self, name):
        """Of the task within, so that its own outcome is seen."""
        def all_tasks():
            for task in asyncio.all_tasks(self.loop):
                task.cancel()

        self.loop.call_soon_threadsafe(all_tasks)

    def close(self):
        asyncio.run_coroutine_threadsafe(self.client.close(), self.loop).result(LONG)

    def end(self):
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(LONG)
        self.loop.close()


class Daemon:
    """The scripted daemon, and what it says."""

    def __init__(self, path, name):
        self.process = subprocess.Popen([sys.executable, "-B", CLIENTS / "scripted_daemon.py", path, name], stdin=subprocess.PIPE,
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


@pytest.mark.parametrize("kind", [Threads, Tasks])
@pytest.mark.parametrize("script", SCRIPTS, ids=[script["name"] for script in SCRIPTS])
def test_ACallerSeesWhatTheModelAllows(script, kind):
    needs = set(script.get("needs", ()))
    kinds = [one for one in (Threads, Tasks) if needs <= one.can]
    assert kinds, "no client of Python can do what the script needs"
    if kind not in kinds:
        return
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        path = os.path.join(folder, "s")
        daemon = Daemon(path, script["name"])
        client = kind(path)
        try:
            for word, *rest in script["client"]:
                if word in ("start", "fork"):
                    timeout = script.get("timeouts", {}).get(rest[0])
                    getattr(client, word)(rest[0], LONG if timeout is None else timeout / 1000, *rest[1:])
                else:
                    {"await": client.wait_for, "until": daemon.until, "tell": daemon.tell, "close": client.close,
                     "cancel": getattr(client, "cancel", None)}[word](*rest)
        finally:
            client.close()
            getattr(client, "end", lambda: None)()
            said = daemon.end()
    assert daemon.process.returncode == 0, said
    assert set(client.outcomes) == set(script["outcomes"])
    for name, allowed in script["outcomes"].items():
        assert client.outcomes[name] in allowed, f"{name}: {said}"
    for method, allowed in script.get("sent", {}).items():
        assert sum(line.startswith("taken ") and line.endswith(f" {method}") for line in said) in allowed, said
