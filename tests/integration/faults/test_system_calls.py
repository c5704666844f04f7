"""Every system call of a life fails once: start, serve, stop, with strace making the n-th call of a kind fail, for every n.

The daemon may refuse to start, answer errors or end, but with a named exit code; and the next start in the same boot goes
on exactly where it was: the clients' IDs are without a hole and without a repeat.
"""

import re
import signal
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

import harness
from repeating import RepeatingClient

# 65, 69, 70, 74, 75, 78: what seqd(8) documents.
NAMED_EXITS = (0, 65, 69, 70, 74, 75, 78)
# A call that fails where libuv or the C++ library has no way to go on ends the process at once, which is a crash as any.
# SIGTERM ends a start that is still under way: SQLite waits up to 2 s for a lock that the kernel does not give.
CRASHED = (-signal.SIGABRT, 134, -signal.SIGTERM)
# The pipe by which libuv passes a signal on may be what failed: then the service manager kills.
SIGNAL_PIPE = ("read", "write")
UNTOLD_SECONDS = 3
STOP_SECONDS = 5
DEFAULTS = {"lease_min": 100, "lease_max": 400, "max_available": 2000, "max_unsynced": 150}
CALLS = [("pwrite64", "EIO"), ("fdatasync", "EIO"), ("fsync", "EIO"),
         ("pread64", "EIO"), ("fallocate", "ENOSPC"), ("ftruncate", "EIO"), ("openat", "EMFILE"), ("mmap", "ENOMEM"),
         ("flock", "ENOLCK"), ("newfstatat", "EIO"), ("fcntl", "EIO"), ("mkdir", "EROFS"), ("unlink", "EIO"),
         ("fstatfs", "EIO"), ("socket", "EMFILE"), ("bind", "EADDRINUSE"), ("listen", "EADDRINUSE"), ("accept4", "EMFILE"),
         ("epoll_ctl", "ENOMEM"), ("clone3", "EAGAIN"), ("getrandom", "EIO"), ("sendto", "EIO"), ("read", "EIO"), ("write", "EIO")]


class Life:
    """One state directory, over which lives with and without faults follow each other."""

    def __init__(self, daemon):
        self.daemon = daemon
        self.client = RepeatingClient()

    def live(self, *strace: str) -> int:
        """Start, serve, stop, with those options of strace; the exit code."""
        self.daemon.prefix = ["strace", "-D", "-f", "-qq", *strace]
        try:
            self.daemon.spawn()
            self.wait_ready()
            self.client.take(self.daemon, 24, 20)
            if self.daemon.running():
                self.daemon.process.send_signal(signal.SIGTERM)
            return self.wait_exit()
        except harness.Died as died:
            return died.code
        finally:
            self.daemon.prefix = []

    def wait_ready(self) -> None:
        """A daemon that could not tell that it is ready serves all the same: the service manager would start it again."""
        try:
            self.daemon.wait_ready(UNTOLD_SECONDS)
        except harness.Died:
            raise
        except AssertionError:
            assert self.daemon.running()

    def wait_exit(self) -> int:
        """A daemon that hangs is killed, as the service manager would; see SIGNAL_PIPE."""
        try:
            return self.daemon.wait_exit(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.daemon.kill()
            return -signal.SIGKILL

    def go_on(self) -> None:
        """A start without faults, which has to go on where it was; then it is killed, so that there is a rest available."""
        self.daemon.start()
        assert self.client.take(self.daemon, 3, 10)
        self.daemon.kill()

    def check(self) -> None:
        ids, self.client.ids = self.client.ids, []
        assert ids == list(range(ids[0], ids[0] + len(ids))), f"a hole or a repeat in {ids}:\n{self.daemon.stderr()}"
        if hasattr(self, "following"):
            assert ids[0] == self.following, f"{self.following} was next, {ids[0]} came:\n{self.daemon.stderr()}"
        self.following = ids[-1] + 1


def calls_of_a_life(life: Life, call: str, trace) -> range:
    """The numbers of the calls of that kind that a whole life makes, from where the program itself begins."""
    assert life.live("-o", str(trace), "-e", f"trace={call},openat") == 0
    begun = [line for line in trace.read_text().splitlines() if "resumed>" not in line]
    program = next(number for number, line in enumerate(begun) if "openat(" in line and "seqd.toml" in line)
    mine = [number for number, line in enumerate(begun) if re.match(rf"\d+ +{call}\(", line)]
    first = sum(1 for number in mine if number < program)
    return range(first + 1, len(mine) + 1)


def begin(make_daemon, name: str = "seqd") -> Life:
    life = Life(make_daemon(name, daemon={"state_log_size": "256KiB"}, defaults=DEFAULTS))
    life.go_on()
    life.check()
    return life


def fail(life: Life, call: str, error: str, when: str) -> int:
    """A life with that fault, and one without; returns the exit code of the first."""
    code = life.live("-o", "/dev/null", "-e", f"trace={call}", "-e", f"inject={call}:error={error}:when={when}")
    allowed = NAMED_EXITS + CRASHED + ((-signal.SIGKILL,) if call in SIGNAL_PIPE else ())
    assert code in allowed, f"{call} {when}: seqd ended with {code}:\n{life.daemon.stderr()}"
    life.go_on()
    try:
        life.check()
    except AssertionError as wrong:
        raise AssertionError(f"{call} number {when} failed with {error}, exit {code}: {wrong}") from None
    return code


def test_ADaemonThatRestsWakesUpOnceATick(make_daemon, scratch):
    trace = scratch / "trace"
    daemon = make_daemon("seqd")
    daemon.prefix = ["strace", "-D", "-qq", "-o", str(trace), "-e", "trace=epoll_wait,newfstatat"]
    daemon.start()
    connection = daemon.connect()
    assert connection.call("next", "orders") == 1

    def per_tick():
        """The waits between two looks at the witness, of which a tick has one."""
        parts = re.split(r'newfstatat\([^\n]*\.witness"[^\n]*', trace.read_text())[1:-1]
        return [len(re.findall(r"epoll_wait\(\d+, .*, \d+, [1-9]\d*\)", part)) for part in parts]

    late = time.monotonic() + 60
    while len(per_tick()) < 8:
        assert time.monotonic() < late and daemon.running()
        time.sleep(0.2)
    # Behind the first request there is something to do (a lease, the history), and some timers are for every few seconds.
    assert sorted(per_tick()[-5:])[2] == 1, per_tick()
    assert connection.call("next", "orders") == 2


@pytest.mark.limit(180)
@pytest.mark.parametrize("call,error", CALLS, ids=lambda value: value)
def test_NothingIsLostWhicheverCallFails(make_daemon, scratch, figures, call, error):
    # Most of a life is waiting, for strace above all: four of them at a time.
    lives = [begin(make_daemon, name) for name in ("seqd-0", "seqd-1", "seqd-2", "seqd-3")]
    numbers = calls_of_a_life(lives[0], call, scratch / "trace")
    assert len(numbers) > 0
    with ThreadPoolExecutor(len(lives)) as pool:
        ended = sum(pool.map(lambda life: sum(fail(life, call, error, str(number)) != 0
                                              for number in numbers[lives.index(life)::len(lives)]), lives))
    figures("system calls that failed", len(numbers), ended=ended, duplicates=0, unaccounted=0)


@pytest.mark.limit(120)
@pytest.mark.parametrize("call,error", [("fdatasync", "EIO"), ("fdatasync", "ENOSPC"), ("pwrite64", "EIO"), ("pwrite64", "ENOSPC"),
                                        ("fsync", "EIO"), ("fallocate", "ENOSPC")], ids=lambda value: value)
def test_NothingIsLostWhenACallFailsForGood(make_daemon, call, error):
    life = begin(make_daemon)
    for number in [*range(1, 16), 20, 30, 50]:
        fail(life, call, error, f"{number}+")
