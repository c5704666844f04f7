"""Amazon's own DynamoDB Local for the tests: the folder $DYNAMODB_LOCAL, else what Maven fetches.

It is fetched once into build/dynamodb/ by mvn, as dynamodb/pom.xml says, and every file is verified by dynamodb/SHA256SUMS
before any of it is used. It serves the tests only; nothing that is shipped contains it. The server keeps its data in memory,
listens on a free port of loopback, is ended by its process id and dies with the thread that started it.

It checks no signature: an access key of letters and digits only chooses the database, so each has tables of its own.
"""

import contextlib
import http.client
import json
import os
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any, Iterator, Optional

try:
    from .maven_files import find_maven_files
    from .mongod import die_with_parent, free_port, scratch_directory
    from .mongod_binary import PROJECT, ServerNotAvailable
    from .patience import PATIENCE
except ImportError:  # run as a script
    from maven_files import find_maven_files
    from mongod import die_with_parent, free_port, scratch_directory
    from mongod_binary import PROJECT, ServerNotAvailable
    from patience import PATIENCE

FOLDER = PROJECT / "build" / "dynamodb"
RECIPE = Path(__file__).resolve().parent / "dynamodb"
START_SECONDS = 60.0
IDLE_SECONDS = 10.0  # the server closes a connection that nobody used for longer than this


def find_dynamodb(folder: Path = FOLDER) -> Path:
    """The folder with the server's files. Fetches them when there are none; several processes may ask at once."""
    chosen = os.environ.get("DYNAMODB_LOCAL")
    if chosen:
        return Path(chosen)
    return find_maven_files(RECIPE, folder, "the test server: DynamoDB Local 2.5.3 (51 MB, once)",
                            "Set DYNAMODB_LOCAL to a folder with DynamoDB Local of your own")


class DynamoError(Exception):
    """The service refused a call. `type` is the name of its error."""

    def __init__(self, status: int, body: dict):
        super().__init__(f"{status}: {body}")
        self.type = body.get("__type", "").rsplit("#", 1)[-1]


class DynamoCaller:
    """Calls of one account, as any program makes them; not for several threads at once."""

    def __init__(self, port: int, access_key: str = "seqdtest"):
        self.port = port
        self.authorization = (f"AWS4-HMAC-SHA256 Credential={access_key}/20260101/us-east-1/dynamodb/aws4_request, "
                              "SignedHeaders=host;x-amz-date, Signature=0")
        self._connection: Optional[http.client.HTTPConnection] = None
        self._used = 0.0

    def call(self, operation: str, body: dict) -> dict:
        if time.monotonic() - self._used > IDLE_SECONDS:
            self.close()
        if self._connection is None:
            self._connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20 * PATIENCE)
        try:
            self._connection.request("POST", "/", json.dumps(body), {
                "X-Amz-Target": f"DynamoDB_20120810.{operation}", "X-Amz-Date": "20260101T000000Z",
                "Content-Type": "application/x-amz-json-1.0", "Authorization": self.authorization})
            reply = self._connection.getresponse()
            answer = json.loads(reply.read())
            self._used = time.monotonic()
        except BaseException:
            self.close()
            raise
        if reply.status != 200:
            raise DynamoError(reply.status, answer)
        return answer

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def create_table(self, table: str, key: str) -> None:
        self.call("CreateTable", {
            "TableName": table, "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [{"AttributeName": key, "AttributeType": "S"}],
            "KeySchema": [{"AttributeName": key, "KeyType": "HASH"}]})

    def item(self, table: str, key: dict) -> Any:
        return self.call("GetItem", {"TableName": table, "Key": key, "ConsistentRead": True}).get("Item")


class DynamoServer:
    """One server process. What it holds ends with it."""

    def __init__(self) -> None:
        self.directory = scratch_directory("dynamodb-")
        self.port = free_port()
        self.process: Optional[subprocess.Popen] = None

    def spawn(self) -> None:
        files = find_dynamodb()
        command = ["java", "-Xmx512m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", f"-Djava.library.path={files}", "-cp",
                   f"{files}/*", "com.amazonaws.services.dynamodbv2.local.main.ServerRunner", "-inMemory", "-port",
                   str(self.port)]
        try:
            with open(self.directory / "log", "ab") as log:
                self.process = subprocess.Popen(command, cwd=self.directory, stdin=subprocess.DEVNULL, stdout=log,
                                                stderr=log, preexec_fn=die_with_parent)
        except OSError as error:
            raise ServerNotAvailable(f"java: {error.strerror}; install openjdk-17-jre-headless") from error

    def wait(self) -> None:
        """Until it answers."""
        end = time.monotonic() + START_SECONDS * PATIENCE
        while time.monotonic() < end:
            if self.process.poll() is not None:
                self.port = free_port()  # somebody else took it meanwhile
                self.spawn()
            with contextlib.suppress(OSError, http.client.HTTPException, ValueError):
                self.caller().call("ListTables", {})
                return
            time.sleep(0.05)
        raise ServerNotAvailable(f"DynamoDB Local does not answer:\n{self.log_tail()}")

    def start(self) -> "DynamoServer":
        self.spawn()
        self.wait()
        return self

    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def caller(self, access_key: str = "seqdtest") -> DynamoCaller:
        return DynamoCaller(self.port, access_key)

    def log_tail(self, size: int = 3000) -> str:
        path = self.directory / "log"
        return path.read_text(errors="replace")[-size:] if path.exists() else ""

    def close(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.directory, ignore_errors=True)


@contextlib.contextmanager
def dynamodb() -> Iterator[DynamoServer]:
    server = DynamoServer()
    try:
        yield server.start()
    finally:
        server.close()
