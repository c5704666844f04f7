"""Clients that take IDs while a test does its worst: processes of their own, so that they do not wait for the test."""

import multiprocessing
import os
import re
import signal
import subprocess
from array import array
from pathlib import Path
from typing import List, Sequence

import harness
from accounting import read_ids
from rpc import Connection
from second_tries import is_from_outside
from servers.mongod import die_with_parent, wait_for
from servers.patience import PATIENCE, WaitedInVain


UNTIL_STOPPED = 3600


class RepeatingClients:
    """build/tools/kill_client: clients of libseqd that reconnect and repeat; what they received is in files. They take IDs until
    stop(), or for the seconds given."""

    def __init__(self, daemon: harness.Daemon, log: Path, *, name: str = "orders", clients: int = 4, depth: int = 16,
                 seconds: float = UNTIL_STOPPED):
        self.log = log
        log.parent.mkdir(parents=True, exist_ok=True)
        self.said = log.parent / f"said-by-{log.name}"
        self.output = open(self.said, "wb")  # pylint: disable=consider-using-with
        command = [harness.tool("kill_client"), "--socket", str(daemon.socket), "--name", name, "--clients", str(clients),
                   "--depth", str(depth), "--duration-s", str(seconds), "--grace-s", str(round(60 * PATIENCE)),
                   "--log", str(log)]
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=self.output, stderr=self.output,
                                        preexec_fn=die_with_parent)

    def running(self) -> bool:
        return self.process.poll() is None

    def received(self) -> int:
        """IDs, up to now."""
        return sum(path.stat().st_size for path in self.log.parent.glob(self.log.name + "*")) // 8

    def wait_for_more(self, ids: int) -> None:
        """Until they have received so many further ones."""
        wanted = self.received() + ids

        def received() -> bool:
            assert self.running(), f"kill_client ended with {self.process.poll()}: {self.said.read_text(errors='replace')[-2000:]}"
            return self.received() >= wanted

        wait_for("IDs of the clients", received)

    def stop(self, errors: Sequence[str] = ()) -> array:
        """No new requests; what is under way is taken."""
        if self.running():
            self.process.terminate()
        return self.finish(errors=errors)

    def finish(self, seconds: float = 90, errors: Sequence[str] = ()) -> array:
        """Waits for the clients' end, which must be a good one, and returns every ID they received. Only the errors named
        may have been answered."""
        code = self.process.wait(seconds * PATIENCE)
        self.output.close()
        said = self.said.read_text(errors="replace")
        answered = set(re.findall(r"^error (\w+) ", said, re.M))
        if answered and answered <= set(errors) and " missing 0 " in said:
            code = 0
        assert code == 0, f"kill_client ended with {code}: {said[-2000:]}"
        ids = array("q")
        for path in sorted(self.log.parent.glob(self.log.name + "*")):
            ids.extend(read_ids(path))
        return ids


class Process:
    """A Python function in a process of its own that returns its last words by a pipe. It ends with the test at the latest: a
    test that failed does not read the pipe, and the process would wait in its write for ever."""

    running: List["Process"] = []

    def __init__(self, function, *arguments):
        context = multiprocessing.get_context("fork")
        self.pipe, far = context.Pipe(duplex=False)

        def body():
            die_with_parent()
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            try:
                far.send((function(*arguments), None, False))
            except BaseException as error:  # pylint: disable=broad-except
                far.send((None, f"{type(error).__name__}: {error}", is_from_outside(error)))
            far.close()
            os._exit(0)

        self.process = context.Process(target=body, daemon=True)
        self.process.start()
        Process.running.append(self)
        far.close()

    def result(self, seconds: float = 120):
        if not self.pipe.poll(seconds * PATIENCE):
            raise WaitedInVain("a process of the test did not end in time")
        try:
            value, error, from_outside = self.pipe.recv()
        except EOFError:
            value, error, from_outside = None, "a process of the test ended without a word", False
        self.close()
        if from_outside:
            raise WaitedInVain(error)
        assert error is None, error
        return value

    def close(self) -> None:
        """Nothing of it is left, whatever it was doing."""
        if self in Process.running:
            Process.running.remove(self)
            self.process.kill()
            self.process.join()
            self.pipe.close()

    @staticmethod
    def end_all() -> None:
        for process in list(Process.running):
            process.close()


def take(socket_path: str, name: str, total: int, batch: int = 256, seconds: float = 60) -> array:
    """Takes `total` IDs with pipelined single requests."""
    ids = array("q")
    with Connection(socket_path, seconds) as client:
        while len(ids) < total:
            ids.extend(client.many(name, min(batch, total - len(ids))))
    return ids


def drain(daemon: harness.Daemon, name: str) -> List[int]:
    """What a freshly started daemon has available of a sequence, taken from it. The first request makes it claim what a
    clean stop left behind."""
    with daemon.connect(40) as client:
        ids: List[int] = [client.next(name, timeout_ms=30_000)]
        left = client.call("peek", name)["available"]
        while left > 0:
            part = min(left, 50_000)
            for first, count, step in client.call("range", name, part):
                ids.extend(range(first, first + count * step, step))
            left -= part
    return ids
