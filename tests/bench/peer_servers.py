"""The servers of the peers: Redis and PostgreSQL on Unix sockets, as Debian ships them; and CosId, which is a program."""

import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from harness import PROJECT
from notified import Notified
from servers.maven_files import find_maven_files
from servers.mongod import ServerNotAvailable, die_with_parent, wait_for

CALL_SECONDS = 60  # of a program that prepares a peer
STOP_SECONDS = 20


def call(command: list) -> str:
    """Its output. That it fails or hangs is an error with its words."""
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              timeout=CALL_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        sys.exit(f"bench: {error}")
    if done.returncode != 0:
        sys.exit(f"bench: {' '.join(map(str, command))} failed:\n{done.stdout[-2000:]}")
    return done.stdout.strip()


def start_redis(directory: Path) -> Notified:
    socket = directory / "redis.sock"
    redis = Notified(["redis-server", "--port", "0", "--unixsocket", str(socket), "--save", "", "--appendonly", "no",
                      "--dir", str(directory), "--supervised", "systemd"], directory)
    redis.socket = socket
    return redis


class Postgresql:
    """A temporary cluster with the settings that it is shipped with. It refuses to run as root, so then it runs as another
    user, with the right to pass through the folders of root."""

    def __init__(self, directory: Path):
        self.programs = Path(call(["pg_config", "--bindir"]))
        self.data = directory / "postgresql"
        self.log = directory / "postgresql.log"
        # A Unix socket's path has at most 107 bytes, a clone's path may have more.
        self.socket = Path(tempfile.mkdtemp(prefix="seqd-bench-", dir="/dev/shm"))
        self.process = None
        self.data.mkdir()
        self.user = self._unprivileged_user()

    def _unprivileged_user(self) -> list:
        """The beginning of a command that runs as it; empty when this process is not root."""
        if os.geteuid() != 0:
            return []
        name = "postgres" if "postgres" in {user.pw_name for user in pwd.getpwall()} else "nobody"
        for folder in (self.data, self.socket):
            shutil.chown(folder, name)
        return ["setpriv", f"--reuid={name}", f"--regid={pwd.getpwnam(name).pw_gid}", "--clear-groups",
                "--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search", "--pdeathsig=KILL"]

    def start(self) -> "Postgresql":
        call([*self.user, self.programs / "initdb", "-D", self.data, "-U", "postgres", "--auth=trust", "--encoding=UTF8",
              "--locale=C"])
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen([*self.user, self.programs / "postgres", "-D", self.data, "-k", self.socket,
                                             "-c", "listen_addresses="], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                            preexec_fn=die_with_parent)
        wait_for("PostgreSQL", self._answers)
        call([self.programs / "psql", "-h", self.socket, "-U", "postgres", "-c",
              "CREATE SEQUENCE orders_1; CREATE SEQUENCE orders_100 CACHE 100"])
        return self

    def _answers(self) -> bool:
        if self.process.poll() is not None:
            raise ServerNotAvailable(f"PostgreSQL ended with {self.process.returncode}:\n{self.log.read_text()[-2000:]}")
        return subprocess.run([self.programs / "pg_isready", "-q", "-h", self.socket], timeout=CALL_SECONDS,
                              check=False).returncode == 0

    def pids(self) -> list:
        """The postmaster and its processes of now."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text(encoding="ascii")
        return [self.process.pid, *map(int, children.split())]

    def close(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGQUIT)  # ends at once, and its processes with it
            try:
                self.process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        shutil.rmtree(self.socket, ignore_errors=True)


class CosId:
    """CosId in a JVM of its own, which takes IDs for a while and ends."""

    RECIPE = Path(__file__).resolve().parent / "peers" / "cosid"

    def __init__(self, directory: Path):
        files = find_maven_files(self.RECIPE, PROJECT / "build" / "cosid", "CosId and the driver of MongoDB (8 MB, once)",
                                 "The bench needs Maven Central once")
        self.path = f"{directory / 'cosid'}:{files}/*"
        call(["javac", "-d", directory / "cosid", "-cp", f"{files}/*", self.RECIPE / "CosIdPeer.java"])

    def command(self, uri: str, step: int, seconds: float, threads: int) -> list:
        return ["java", "-cp", self.path, "CosIdPeer", uri, str(step), str(seconds), str(threads)]
