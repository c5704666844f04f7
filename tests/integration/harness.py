"""Runs build/seqd for the tests: a daemon with a configuration, state and socket of its own, started, waited for and killed.

Waiting is always for an event: READY=1 on a notification socket as systemd would get it, a descriptor that becomes
readable, a process that ends. A daemon dies with the thread that started it, so start daemons on the main thread.
"""

import os
import re
import select
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any, Dict, List, Optional, Sequence

import block_pages
from notifications import Notifications
from rpc import Connection
from servers.mongod import die_with_parent
from servers.patience import PATIENCE, WaitedInVain

PROJECT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("BUILD", PROJECT / "build")).resolve()
SEQD = Path(os.environ.get("SEQD_BIN", BUILD / "seqd")).resolve()
SEQCTL = Path(os.environ.get("SEQCTL_BIN", BUILD / "seqctl")).resolve()
TOOLS = Path(os.environ.get("SEQD_TOOLS", BUILD / "tools")).resolve()
SCRATCH = PROJECT / "build" / "test"

READY_SECONDS = 20.0  # with a sanitizer or valgrind a start takes a while
STOP_SECONDS = 20.0
SENT = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)  # the signals by which tests end a daemon
BAD_END = re.compile(r"CHECK failed|[Aa]ssertion|Sanitizer|runtime error: |terminate called")
TRY_AGAIN = 75


def tool(name: str) -> str:
    """The path of a test tool. That it is missing fails the test; nothing is skipped."""
    path = TOOLS / name
    assert os.access(path, os.X_OK), f"{path} is missing: make {path}"
    return str(path)


def readable(seconds: float, *sources: Any) -> List[Any]:
    """Those of the sources (descriptors or what has a fileno) that can be read from within the time. Unlike select.select
    it does not mind descriptors above 1023."""
    poll = select.poll()
    by_number = {source if isinstance(source, int) else source.fileno(): source for source in sources}
    for number in by_number:
        poll.register(number, select.POLLIN)
    return [by_number[number] for number, _ in poll.poll(max(0.0, seconds) * 1000)]


def toml(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, list):
        return "[" + ", ".join(toml(one) for one in value) + "]"
    return '"' + str(value).replace("\\", "\\\\").replace('"', '\\"') + '"'


def table(name: str, options: Dict[str, Any]) -> str:
    return f"[{name}]\n" + "".join(f"{key} = {toml(value)}\n" for key, value in options.items()) + "\n"


def write_at_once(path: Path, text: str) -> None:
    """Who reads the file meanwhile finds what was there before or all of this."""
    aside = path.with_name(path.name + ".new")
    aside.write_text(text)
    aside.replace(path)


def copy_state(state: Path, to: Path) -> None:
    """A copy of a state directory that may be in use: the temporary files of its history come and go meanwhile."""
    def copy_if_there(source: str, target: str) -> None:
        try:
            shutil.copy2(source, target)
        except FileNotFoundError:
            assert Path(source).name.startswith("history.db-"), source

    shutil.copytree(state, to, copy_function=copy_if_there)


class Died(AssertionError):
    """The daemon ended when it should have become ready."""

    def __init__(self, code: int, stderr: str):
        super().__init__(f"seqd ended with {code} before it was ready:\n{stderr}")
        self.code = code
        self.stderr = stderr


class Daemon:
    """One seqd. Its state, configuration and socket stay over any number of starts."""

    def __init__(self, scratch: Path, name: str = "seqd", *, daemon: Optional[dict] = None, limits: Optional[dict] = None,
                 stores: Optional[Dict[str, dict]] = None, defaults: Optional[dict] = None,
                 sequences: Optional[Dict[str, dict]] = None, state: Optional[Path] = None,
                 prefix: Sequence[str] = (), environment: Optional[Dict[str, str]] = None):
        self.name = name
        self.directory = scratch / name
        self.directory.mkdir(parents=True, exist_ok=True)
        self.state = state or self.directory / "state"
        self.state.mkdir(exist_ok=True)
        # A Unix socket's path has at most 107 bytes, a clone's path may have more; and the witness belongs on a tmpfs.
        self.short = Path(tempfile.mkdtemp(prefix="seqd-test-", dir="/dev/shm"))
        self.socket = self.short / "seqd.sock"
        self.witness = self.short / "witness"
        self.witness.mkdir()
        self.config_file = self.directory / "seqd.toml"
        self.stderr_file = self.directory / "stderr"
        self.prefix = list(prefix)
        self.environment = environment or {}
        self.program = SEQD
        self.preexec = None  # runs in the child before exec, for limits
        self.process: Optional[subprocess.Popen] = None
        self.ends: List[Optional[int]] = []  # of its former lives
        self.notifications = Notifications(self.short / "notify")
        self.configure(daemon=daemon, limits=limits, stores=stores, defaults=defaults, sequences=sequences)

    # --- configuration --------------------------------------------------------------------------------------------
    def configure(self, *, daemon: Optional[dict] = None, limits: Optional[dict] = None,
                  stores: Optional[Dict[str, dict]] = None, defaults: Optional[dict] = None,
                  sequences: Optional[Dict[str, dict]] = None) -> None:
        """Writes the configuration file; a running daemon knows it after a reload."""
        if any(store["type"] != "sqlite" for store in (stores or {}).values()):
            # As long as a server on a busy machine may take, which the daemon cannot know. What waits for a disk that fails does not.
            defaults = {"wait_timeout": "30s", **(defaults or {})}
        own = {"socket": self.socket, "state_dir": self.state, "witness_dir": self.witness}
        text = table("daemon", {**own, **(daemon or {})})
        if limits:
            text += table("limits", limits)
        for name, options in (stores or {"default": {"type": "sqlite"}}).items():
            text += table(f"store.{name}", options)
        if defaults:
            text += table("sequence_defaults", defaults)
        for name, options in (sequences or {}).items():
            text += table(f'sequence."{name}"', options)
        self.config_file.write_text(text)

    # --- life -----------------------------------------------------------------------------------------------------
    def spawn(self) -> "Daemon":
        """Starts the process and does not wait."""
        self.notifications.clear()
        if self.process is not None:
            self.ends.append(self.process.poll())
        environment = {**os.environ, "NOTIFY_SOCKET": str(self.notifications.path), **self.environment}
        for key in ("JOURNAL_STREAM", "LISTEN_FDS", "LISTEN_PID", "WATCHDOG_USEC"):
            environment.pop(key, None)

        def in_child() -> None:
            die_with_parent()
            if self.preexec:
                self.preexec()

        with open(self.stderr_file, "ab") as stderr:
            self.process = subprocess.Popen([*self.prefix, str(self.program), "--config", str(self.config_file)], env=environment,
                                            stdin=subprocess.DEVNULL, stdout=stderr, stderr=stderr, preexec_fn=in_child)
        return self

    def wait_ready(self, seconds: float = READY_SECONDS) -> "Daemon":
        self.wait_notification("READY=1", seconds)
        return self

    def wait_notification(self, wanted: str, seconds: float = READY_SECONDS) -> str:
        """Waits for a line of a notification; fails when the daemon ends first."""
        seconds *= PATIENCE
        end = time.monotonic() + seconds
        pid = os.pidfd_open(self.process.pid)
        try:
            while True:
                found = self.notifications.find(wanted)
                if found:
                    return found
                events = readable(end - time.monotonic(), self.notifications.event, pid)
                if not events:
                    raise WaitedInVain(f"no {wanted} within {seconds} s:\n{self.stderr()}")
                if self.notifications.event not in events:
                    raise Died(self.process.wait(), self.stderr())
        finally:
            os.close(pid)

    def start(self) -> "Daemon":
        return self.spawn().wait_ready()

    def wait_exit(self, seconds: float = STOP_SECONDS) -> int:
        return self.process.wait(seconds * PATIENCE)

    def terminate(self, expect: int = 0) -> None:
        """An orderly stop: SIGTERM, and the process ends with 0."""
        self.process.send_signal(signal.SIGTERM)
        code = self.wait_exit()
        assert code == expect, f"seqd ended with {code} after SIGTERM:\n{self.stderr()}"

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def restart(self) -> "Daemon":
        self.terminate()
        return self.start()

    def running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def ended_badly(self) -> bool:
        """Whether one of its lives ended by a signal that no test sends, by an assertion or by a sanitizer."""
        ends = self.ends + ([self.process.poll()] if self.process is not None else [])
        # What ran it for a test, as strace does, says the signal in its own way.
        signals = [-end if end < 0 else end - 128 for end in ends if end is not None and (end < 0 or end > 128)]
        return any(one not in SENT for one in signals) or BAD_END.search(self.stderr(-1)) is not None

    def close(self) -> None:
        if self.running():
            self.kill()
        self.notifications.close()
        for key in block_pages.keys(self.witness):
            block_pages.remove(key)
        shutil.rmtree(self.short, ignore_errors=True)

    # --- looking at it --------------------------------------------------------------------------------------------
    def stderr(self, size: int = 4000) -> str:
        """The last `size` characters of it; -1: all."""
        text = self.stderr_file.read_text(errors="replace") if self.stderr_file.exists() else ""
        return text if size < 0 else text[-size:]

    def connect(self, seconds: float = 10.0) -> Connection:
        return Connection(str(self.socket), seconds)

    def memory_kib(self, field: str = "VmRSS") -> int:
        for line in Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith(field + ":"):
                return int(line.split()[1])
        raise AssertionError(f"/proc/{self.process.pid}/status has no {field}")

    def seqctl(self, *arguments: str, expect: Optional[int] = 0, seconds: float = 20.0) -> subprocess.CompletedProcess:
        # Its own patience is that of an idle machine. The daemon is told that of drain and decommission, which may wait for its end.
        patience = [] if {"-t", "--timeout", "drain", "decommission", "wait"} & set(arguments) else ["-t", "60"]
        done = subprocess.run([str(SEQCTL), *patience, *arguments], env={**os.environ, "SEQD_SOCKET": str(self.socket)},
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=seconds * PATIENCE,
                              check=False)
        said = f"seqctl {' '.join(arguments)} ended with {done.returncode}:\n{done.stdout}{done.stderr}"
        if expect == 0 and done.returncode == TRY_AGAIN and "UNAVAILABLE: " in done.stdout + done.stderr:
            raise WaitedInVain(said)
        assert expect is None or done.returncode == expect, said
        return done
