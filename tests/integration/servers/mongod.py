"""Real MongoDB servers for the tests: alone, a replica set of three with authentication, and one with TLS and authentication.

Every server keeps its data in a scratch directory that goes with it, listens on a free port of loopback, is ended by
its process id and dies with the thread that started it (so start servers on the main thread).
"""

import contextlib
import ctypes
import fcntl
import os
import random
import resource
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any, Iterator, Optional
from urllib.parse import quote

import pymongo
import pymongo.errors

try:
    from .certificates import make_certificates
    from .mongod_binary import PROJECT, ServerNotAvailable, find_mongod
    from .patience import PATIENCE
except ImportError:  # run as a script
    from certificates import make_certificates
    from mongod_binary import PROJECT, ServerNotAvailable, find_mongod
    from patience import PATIENCE

START_SECONDS = 30.0
PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)


def die_with_parent() -> None:
    """Runs in the child before exec: the kernel kills it when the thread that started it ends."""
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def be_a_server() -> None:
    """The same, with as many files as the machine allows: a login shell's 1,024 are few for a mongod with many clients."""
    die_with_parent()
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


_claimed_ports = []  # locks, held until the process ends


def free_port() -> int:
    """A port that is this process's until it ends: a server that was killed finds it free again. It is below those that
    the kernel gives to outgoing connections, and no other process of the tests is given it."""
    locks = PROJECT / "build" / "test" / "ports"
    locks.mkdir(parents=True, exist_ok=True)
    while True:
        port = random.randrange(12000, 32000)
        lock = open(locks / str(port), "ab")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", port))
        except OSError:
            lock.close()
            continue
        _claimed_ports.append(lock)
        return port


def wait_for(what: str, condition, seconds: float = START_SECONDS) -> Any:
    """Polls until the condition is true and returns its value; fails with the last error. The condition asks for servers of the tests or
    for work that takes time; what seqd must say or write is for expect_soon() to ask."""
    end = time.monotonic() + seconds * PATIENCE
    error: Optional[Exception] = None
    while time.monotonic() < end:
        try:
            value = condition()
            if value:
                return value
        except pymongo.errors.PyMongoError as failed:
            error = failed
        time.sleep(0.02)
    raise ServerNotAvailable(f"{what}: not within {seconds * PATIENCE:.0f} s" + (f" ({error})" if error else ""))


def expect_soon(what: str, condition, seconds: float = START_SECONDS) -> Any:
    """As wait_for(), of what seqd itself says or writes: that it does not come is a finding, which is never tried again."""
    end = time.monotonic() + seconds * PATIENCE
    while not (value := condition()):
        assert time.monotonic() < end, f"{what}: not within {seconds * PATIENCE:.0f} s"
        time.sleep(0.02)
    return value


def scratch_directory(prefix: str) -> Path:
    root = PROJECT / "build" / "test"
    root.mkdir(parents=True, exist_ok=True)
    return Path(tempfile.mkdtemp(prefix=prefix, dir=root))


class Mongod:
    """One server process. `start` may be called again after `kill` or `stop`: port and data stay."""

    def __init__(self, *, replica_set: str = "", tls: bool = False, auth: bool = False, name: str = "mongod"):
        self.directory = scratch_directory(f"{name}-")
        self.port = free_port()
        self.replica_set = replica_set
        self.certificates = make_certificates(self.directory / "tls") if tls else None
        self.user = "seqd@test" if auth else ""  # both need percent-encoding in a URI
        self.key = ""  # by which the members of a replica set with authentication know each other
        self.password = "p:ss/w@rd%" if auth else ""
        self.process: Optional[subprocess.Popen] = None
        self._client: Optional[pymongo.MongoClient] = None

    # --- life -----------------------------------------------------------------------------------------------------
    def start(self, wait: bool = True) -> "Mongod":
        for _ in range(3):
            self._spawn()
            if not wait:
                return self
            try:
                wait_for(f"mongod on port {self.port}", self._answers)
                break
            except ServerNotAvailable:
                if self.process is not None and self.process.poll() is None:
                    raise
                self.port = free_port()  # somebody else took it meanwhile
        else:
            raise ServerNotAvailable(f"mongod does not start:\n{self.log_tail()}")
        if self.user and not self.replica_set and not (self.directory / "user-made").exists():
            self.make_user()
        return self

    def _spawn(self) -> None:
        data = self.directory / "data"
        data.mkdir(exist_ok=True)
        command = [str(find_mongod()), "--dbpath", str(data), "--port", str(self.port), "--bind_ip", "127.0.0.1",
                   "--nounixsocket", "--wiredTigerCacheSizeGB", "0.25", "--oplogSize", "64",
                   "--setParameter", "enableTestCommands=1",
                   "--setParameter", "diagnosticDataCollectionEnabled=false"]
        if self.replica_set:
            command += ["--replSet", self.replica_set]
        if self.certificates:
            command += ["--tlsMode", "requireTLS", "--tlsCertificateKeyFile", str(self.certificates.server),
                        "--tlsCAFile", str(self.certificates.authority), "--tlsAllowConnectionsWithoutCertificates"]
        if self.user:
            command += ["--auth"]
        if self.key:
            key = self.directory / "key"
            key.touch(0o600)
            key.write_text(self.key)
            command += ["--keyFile", str(key)]
        self._forget_client()
        with open(self.directory / "log", "ab") as log:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                            preexec_fn=be_a_server)

    def _answers(self) -> bool:
        if self.process is not None and self.process.poll() is not None:
            raise ServerNotAvailable(f"mongod ended with {self.process.returncode}:\n{self.log_tail()}")
        with contextlib.closing(self._raw_client(2000)) as client:
            return bool(client.admin.command("ping")["ok"])

    def is_writable(self) -> bool:
        """Asked without a user: whether writes can be sent to it."""
        with contextlib.closing(self._raw_client(2000)) as client:
            return bool(client.admin.command("hello").get("isWritablePrimary"))

    def initiate(self, configuration: dict) -> None:
        with contextlib.closing(self._raw_client(10000)) as client:  # the localhost exception allows it
            client.admin.command("replSetInitiate", configuration)

    def make_user(self) -> None:
        with contextlib.closing(self._raw_client(5000)) as client:  # the localhost exception allows the first user
            client.admin.command("createUser", self.user, pwd=self.password, roles=["root"])
        with contextlib.closing(pymongo.MongoClient(self.uri())) as client:
            client.admin.command("createUser", "reader", pwd="reader", roles=["readAnyDatabase"])
        (self.directory / "user-made").touch()

    def stop(self, sign: int = signal.SIGTERM) -> None:
        """Ends the process and waits for it. The data stays."""
        self._forget_client()
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(sign)
            self.process.send_signal(signal.SIGCONT)
            self.process.wait(60 * PATIENCE)

    def kill(self) -> None:
        self.stop(signal.SIGKILL)

    def restart(self, sign: int = signal.SIGTERM) -> None:
        self.stop(sign)
        self.start()

    def suspend(self) -> None:
        self.process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        self.process.send_signal(signal.SIGCONT)

    def close(self) -> None:
        """Ends the process and removes the data."""
        self.kill()
        shutil.rmtree(self.directory, ignore_errors=True)

    def running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def log_tail(self, size: int = 3000) -> str:
        path = self.directory / "log"
        return path.read_text(errors="replace")[-size:] if path.exists() else ""

    # --- access ---------------------------------------------------------------------------------------------------
    def user_info(self) -> str:
        return f"{quote(self.user, safe='')}:{quote(self.password, safe='')}@" if self.user else ""

    def uri(self, *, credentials: bool = True) -> str:
        user = self.user_info() if credentials else ""
        options = []
        if self.certificates:
            options += ["tls=true", f"tlsCAFile={self.certificates.authority}"]
        if self.user and credentials:
            options += ["authSource=admin"]
        return f"mongodb://{user}127.0.0.1:{self.port}/" + ("?" + "&".join(options) if options else "")

    def _raw_client(self, timeout_ms: int) -> pymongo.MongoClient:
        return pymongo.MongoClient(self.uri(credentials=False), directConnection=True,
                                   serverSelectionTimeoutMS=timeout_ms)

    def client(self) -> pymongo.MongoClient:
        """A client of this one server, also when it is a secondary."""
        if self._client is None:
            self._client = pymongo.MongoClient(self.uri(), directConnection=True, serverSelectionTimeoutMS=5000)
        return self._client

    def _forget_client(self) -> None:
        if self._client is not None:
            self._client.close()
            self._client = None

    @contextlib.contextmanager
    def fail_point(self, name: str, data: Optional[dict] = None, mode: Any = "alwaysOn") -> Iterator[None]:
        """Sets one of the server's own fail points and lifts it at the end. Mode: "alwaysOn" or {"times": n}."""
        self.client().admin.command("configureFailPoint", name, mode=mode, data=data or {})
        try:
            yield
        finally:
            if self.running():
                self.client().admin.command("configureFailPoint", name, mode="off")


class ReplicaSet:
    """Three servers: a new primary stands a little later than `election_ms` after the old one is gone, and also when a machine stood
    still for so long."""

    def __init__(self, name: str = "rs0", size: int = 3, auth: bool = False, election_ms: int = 2000):
        self.election_ms = election_ms
        self.name = name
        self.nodes = [Mongod(replica_set=name, name=name, auth=auth) for _ in range(size)]
        if auth:
            key = secrets.token_hex(32)
            for node in self.nodes:
                node.key = key

    def start(self) -> "ReplicaSet":
        for node in self.nodes:
            node.start(wait=False)
        for node in self.nodes:
            wait_for(f"mongod on port {node.port}", node._answers)
        members = [{"_id": i, "host": f"127.0.0.1:{node.port}"} for i, node in enumerate(self.nodes)]
        self.nodes[0].initiate({"_id": self.name, "members": members,
                                "settings": {"electionTimeoutMillis": self.election_ms, "heartbeatIntervalMillis": 200}})
        if self.nodes[0].user:
            wait_for("a first primary", lambda: next((node for node in self.nodes if node.is_writable()), None)).make_user()
        self.wait_until_healthy()
        return self

    def uri(self) -> str:
        hosts = ",".join(f"127.0.0.1:{node.port}" for node in self.nodes)
        first = self.nodes[0]
        return f"mongodb://{first.user_info()}{hosts}/?replicaSet={self.name}" + ("&authSource=admin" if first.user else "")

    def client(self, **options) -> pymongo.MongoClient:
        return pymongo.MongoClient(self.uri(), serverSelectionTimeoutMS=10000, **options)

    def end_transactions(self) -> None:
        self.primary().client().admin.command("killAllSessions", [])

    def primary(self) -> Mongod:
        """Waits for a primary that writes can be sent to."""
        def find() -> Optional[Mongod]:
            for node in self.nodes:
                if node.running():
                    with contextlib.suppress(pymongo.errors.PyMongoError):
                        if node.client().admin.command("hello").get("isWritablePrimary"):
                            return node
            return None
        return wait_for("a primary", find)

    def secondaries(self) -> list:
        primary = self.primary()
        return [node for node in self.nodes if node is not primary]

    def wait_until_healthy(self) -> None:
        """Until there is a primary and every other member is a secondary that answers."""
        def healthy() -> bool:
            states = self.primary().client().admin.command("replSetGetStatus")["members"]
            return sorted(member["state"] for member in states) == [1] + [2] * (len(self.nodes) - 1)
        wait_for("all members of the replica set", healthy)

    def step_down(self, seconds: int = 5) -> None:
        def stepped() -> bool:
            self.primary().client().admin.command("replSetStepDown", seconds, secondaryCatchUpPeriodSecs=2)
            return True
        wait_for("a secondary that can take over", stepped)  # under load none has caught up at times

    def kill_primary(self) -> Mongod:
        """Kills the primary with SIGKILL and returns it; `start` brings it back."""
        node = self.primary()
        node.kill()
        return node

    def restart_dead(self) -> None:
        for node in self.nodes:
            if not node.running():
                node.start(wait=False)

    def close(self) -> None:
        for node in self.nodes:
            node.close()


@contextlib.contextmanager
def standalone(**options) -> Iterator[Mongod]:
    server = Mongod(**options)
    try:
        yield server.start()
    finally:
        server.close()


@contextlib.contextmanager
def replica_set(**options) -> Iterator[ReplicaSet]:
    servers = ReplicaSet(**options)
    try:
        yield servers.start()
    finally:
        servers.close()
