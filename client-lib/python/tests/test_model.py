"""The scripts of tests/clients/model.json: what a caller may see, whatever the daemon does. The blocking client by threads, the
asyncio one by tasks."""

import asyncio
import sys
import threading

import pytest

import seqd
from harness import PROJECT
from seqd import aio
from test_threads_fork import in_child

sys.path.insert(0, str(PROJECT / "tests" / "clients"))

# pylint: disable=wrong-import-position
from carrying import LONG, NAMES, SCRIPTS, carry_out, filled, outcome_of  # noqa: E402


def calling(method, parameters, timeout):
    """The name, arguments and options of the client's method."""
    arguments = [filled(one) for one in parameters]
    options = {"timeout": timeout}
    if method == "insert_unique":
        return "insert", arguments[:-1], {**options, "unique": arguments[-1]}
    return {"range": "next_many"}.get(method, method), arguments, options


class Threads:
    """Calls of the blocking client, each in a thread."""

    can = {"fork", "timeouts", "closing"}

    def __init__(self, path, timeouts):
        self.timeouts = timeouts
        self.client = seqd.Client(path, timeout=LONG)
        self.calls = {}
        self.outcomes = {}

    def call(self, name, method, parameters):
        function, arguments, options = calling(method, parameters, self.timeouts.get(name, LONG))
        try:
            return outcome_of(getattr(self.client, function)(*arguments, **options))
        except seqd.SeqdError as error:
            return f"error {error.code}"

    def start(self, name, method, *parameters):
        def run():
            self.outcomes[name] = self.call(name, method, parameters)

        self.calls[name] = threading.Thread(target=run)
        self.calls[name].start()

    def wait_for(self, name):
        self.calls[name].join(LONG)
        assert not self.calls[name].is_alive(), f"the call {name} does not end"

    def fork(self, name, method, *parameters):
        self.outcomes[name] = in_child(lambda: self.call(name, method, parameters))()

    def close(self):
        self.client.close()

    end = close


class Tasks:
    """Calls of the asyncio client, whose loop runs in a thread."""

    can = {"cancel", "timeouts", "closing"}

    def __init__(self, path, timeouts):
        self.timeouts = timeouts
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever)
        self.thread.start()
        self.client = aio.Client(path, timeout=LONG)
        self.calls = {}
        self.outcomes = {}

    def start(self, name, method, *parameters):
        function, arguments, options = calling(method, parameters, self.timeouts.get(name, LONG))

        async def run():
            try:
                self.outcomes[name] = outcome_of(await getattr(self.client, function)(*arguments, **options))
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
        self.close()
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(LONG)
        self.loop.close()


@pytest.mark.parametrize("script", SCRIPTS, ids=NAMES)
def test_ACallerSeesWhatTheModelAllows(script):
    assert sum(carry_out(script, kind) for kind in (Threads, Tasks)) > 0, "no client of Python can do what the script needs"
