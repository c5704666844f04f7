"""Whether a fault disturbs those whom it does not concern. A machine that is busy delays everything, so no wait is judged by itself:

- a control, the same requests to a daemon that has no fault, runs beside: what delays it within the same seconds excuses a wait. Both wait
  for the disk now and then, and seldom at the same moment;
- the fault is repeated in rounds: what a fault does it does in every round, and what the machine does in one.

The measure has tests of its own (test_disturbance.py).
"""

import contextlib
import multiprocessing
import time
from typing import Callable, Dict, List, NamedTuple, Sequence, Tuple

from clients import Process
from harness import Daemon
from rpc import Connection
from servers.mongod import wait_for

LONG_SECONDS = 0.5  # a shorter wait disturbs nobody
NOTED_SECONDS = 0.05  # shorter ones are not remembered
TIMES_THE_CONTROL = 3.0
NEAR_SECONDS = 5.0


class Wait(NamedTuple):
    begin: float
    end: float

    def seconds(self) -> float:
        return self.end - self.begin

    def meets(self, begin: float, end: float) -> bool:
        return self.begin < end and begin < self.end


def is_excused(wait: Wait, control: Sequence[Wait]) -> bool:
    """Whether the control had to wait at about that time, and not much less."""
    longest = max((one.seconds() for one in control if one.meets(wait.begin - NEAR_SECONDS, wait.end + NEAR_SECONDS)), default=0.0)
    return wait.seconds() <= TIMES_THE_CONTROL * longest


def disturbed_rounds(waits: Sequence[Wait], control: Sequence[Wait], rounds: Sequence[Tuple[float, float]],
                     long_seconds: float = LONG_SECONDS) -> int:
    """In how many of the rounds there was a long wait that the control does not excuse."""
    long_waits = [wait for wait in waits if wait.seconds() > long_seconds and not is_excused(wait, control)]
    return sum(any(wait.meets(begin, end) for wait in long_waits) for begin, end in rounds)


def assert_undisturbed(name: str, waits: Sequence[Wait], control: Sequence[Wait], rounds: Sequence[Tuple[float, float]],
                       long_seconds: float = LONG_SECONDS) -> None:
    """Of one round alone nothing can be said but by the control; of several, most have to be free."""
    disturbed = disturbed_rounds(waits, control, rounds, long_seconds)
    assert disturbed <= (len(rounds) - 1) // 2, (
        f"{name} was disturbed in {disturbed} of {len(rounds)} rounds: it waited "
        f"{max(wait.seconds() for wait in waits):.3f} s, the control {max((one.seconds() for one in control), default=0.0):.3f} s at most")


def timed(call: Callable, *arguments) -> Wait:
    begin = time.monotonic()
    call(*arguments)
    return Wait(begin, time.monotonic())


def watch(socket_path: str, name: str, batch: int, count, stop):
    """Takes IDs, a few with each request, until it is stopped: the IDs, and the waits that were not short."""
    ids: List[int] = []
    waits: List[Wait] = []
    with Connection(socket_path, 60) as client:
        while not stop.is_set():
            begin = time.monotonic()
            ids.extend(client.many(name, batch))
            end = time.monotonic()
            if end - begin > NOTED_SECONDS:
                waits.append(Wait(begin, end))
            count.value = len(ids)
    return ids, waits


class Measure:
    """What was measured up to now, and when the rounds were."""

    def __init__(self, long_seconds: float = LONG_SECONDS) -> None:
        self.long_seconds = long_seconds
        self.waits: Dict[str, List[Wait]] = {}
        self.control: List[Wait] = []
        self.rounds: List[Tuple[float, float]] = []

    @contextlib.contextmanager
    def round(self):
        begin = time.monotonic()
        yield
        self.add_round(begin)

    def add_round(self, begin: float) -> None:
        """One that began then and ends now."""
        self.rounds.append((begin, time.monotonic()))

    def judge(self) -> None:
        assert self.rounds and self.waits
        for name, waits in self.waits.items():
            assert_undisturbed(name, waits, self.control, self.rounds, self.long_seconds)


class Watchers:
    """Clients that take IDs beside a fault, by name, and a control that does the same with a daemon of its own."""

    def __init__(self, measure: Measure, targets: Dict[str, Tuple[Daemon, str]], control: Daemon, batch: int = 1):
        self.measure = measure
        self.stop = multiprocessing.Event()
        everybody = {**targets, "control": (control, "control")}
        self.counts = {name: multiprocessing.Value("q", 0) for name in everybody}
        self.processes = {name: Process(watch, str(daemon.socket), sequence, batch, self.counts[name], self.stop)
                          for name, (daemon, sequence) in everybody.items()}
        self.wait_for_ids(1)

    def wait_for_ids(self, more: int) -> None:
        """Until each of them took so many further ones."""
        wanted = {name: count.value + more for name, count in self.counts.items()}
        for name, count in self.counts.items():
            def taken(name=name, count=count) -> bool:
                assert self.processes[name].process.is_alive(), f"{name} ended: {self.processes[name].result()}"
                return count.value >= wanted[name]

            wait_for(f"IDs of {name}", taken)

    def finish(self) -> Dict[str, List[int]]:
        """Ends them, after a hundred IDs more: the IDs of each."""
        self.wait_for_ids(100)
        self.stop.set()
        taken = {}
        for name, process in self.processes.items():
            taken[name], waits = process.result()
            if name == "control":
                self.measure.control += waits
            else:
                self.measure.waits.setdefault(name, []).extend(waits)
        taken.pop("control")
        return taken
