"""What Amazon puts beside a program so that it finds credentials, on loopback: the metadata service of an instance (version 2), that of a
container, and STS. And a front of DynamoDB Local which believes no key that was not issued here: it computes every signature itself,
refuses expired keys, and notes who asked. Each of them can be told to misbehave.
"""

import contextlib
import hashlib
import hmac
import http.client
import json
import secrets
import threading
import time
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Dict, Iterator, List, NamedTuple, Optional

ROLE = "arn:aws:iam::123456789012:role/ids"
WEB_TOKEN = "header.payload.signature"
CONTAINER_TOKEN = "shown-to-the-container"
FAULTS = ("garbage", "huge", "redirect", "error", "close", "empty")


class Key(NamedTuple):
    id: str
    secret: str
    token: str
    expires: float

    def document(self, token_name: str, **more) -> bytes:
        return json.dumps({**more, "AccessKeyId": self.id, "SecretAccessKey": self.secret, token_name: self.token,
                           "Expiration": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(self.expires))}).encode()


class Account:
    """Issues keys and knows them. Used by the threads of both servers."""

    def __init__(self, seconds: float):
        self.seconds = seconds  # how long the next keys last
        self.lock = threading.Lock()
        self.keys: Dict[str, Key] = {}
        self.revoked: Dict[str, str] = {}  # by key: the error that the service answers

    def issue(self, source: str) -> Key:
        with self.lock:
            key = Key(f"ASIA{source}{len(self.keys):04}", secrets.token_hex(20), secrets.token_urlsafe(60), int(time.time() + self.seconds))
            self.keys[key.id] = key
            return key

    def revoke_all(self, error: str) -> None:
        with self.lock:
            self.revoked.update({key: error for key in self.keys})

    def fault_of(self, key: Optional[Key]) -> str:
        with self.lock:
            if key is None:
                return "UnrecognizedClientException"
            if time.time() >= key.expires:
                return "ExpiredTokenException"
            return self.revoked.get(key.id, "")

    def secrets(self) -> List[str]:
        with self.lock:
            return [text for key in self.keys.values() for text in (key.secret, key.token)]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def read_body(self) -> bytes:
        return self.rfile.read(int(self.headers.get("Content-Length", 0)))

    def say(self, status: int, body: bytes, kind: str = "application/json", **headers) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        with contextlib.suppress(OSError):  # who had enough of it
            self.wfile.write(body)


class CredentialHandler(Handler):
    """All sources by their paths."""

    def answer(self) -> None:
        body = self.read_body()
        server = self.server
        server.asked.append(f"{self.command} {self.path}")
        if server.fault:
            return self.misbehave(server.fault)
        if self.path == "/latest/api/token":
            return self.session_token()
        if self.path.startswith("/latest/meta-data/iam/security-credentials/"):
            return self.instance(self.path.rsplit("/", 1)[1])
        if self.path == "/container":
            if self.headers.get("Authorization") != CONTAINER_TOKEN:
                return self.say(401, b'{"code": "Unauthorized", "message": "show the token"}')
            return self.say(200, server.account.issue("ECS").document("Token", RoleArn=ROLE))
        if self.path == "/redirected":
            return self.say(200, server.account.issue("MOVED").document("Token", RoleArn=ROLE))
        if self.path == "/" and self.command == "POST":
            return self.sts(urllib.parse.parse_qs(body.decode()))
        return self.say(404, b"")

    do_GET = do_PUT = do_POST = answer

    def misbehave(self, fault: str) -> None:
        if fault == "hang":
            self.server.ends.wait(600)
            self.close_connection = True
        elif fault == "close":
            self.close_connection = True
        elif fault == "redirect":
            self.say(307, b"", Location=f"http://127.0.0.1:{self.server.server_port}/redirected")
        elif fault == "huge":
            self.say(200, b"x" * (8 << 20))
        else:
            self.say(*{"garbage": (200, b"\x00\xff<html>hunter2"), "empty": (200, b""), "error": (500, b"hunter2")}[fault])

    def session_token(self) -> None:
        seconds = self.headers.get("X-aws-ec2-metadata-token-ttl-seconds", "")
        if self.command != "PUT" or not seconds.isdigit() or not 1 <= int(seconds) <= 21600:
            return self.say(400, b"")
        self.server.session = secrets.token_urlsafe(40)
        return self.say(200, self.server.session.encode(), "text/plain")

    def instance(self, role: str) -> None:
        if self.headers.get("X-aws-ec2-metadata-token") != self.server.session or self.command != "GET":
            return self.say(401, b"")
        if not role:
            return self.say(200, b"ids", "text/plain")
        if role != "ids":
            return self.say(404, b"")
        return self.say(200, self.server.account.issue("IMDS").document("Token", Code="Success", Type="AWS-HMAC"))

    def sts(self, form: dict) -> None:
        wanted = {"Action": ["AssumeRoleWithWebIdentity"], "Version": ["2011-06-15"], "RoleArn": [ROLE], "WebIdentityToken": [WEB_TOKEN]}
        session = form.pop("RoleSessionName", [""])[0]
        if form != wanted or len(session) < 2:
            return self.say(400, json.dumps({"Error": {"Type": "Sender", "Code": "InvalidIdentityToken", "Message": "refused"}}).encode())
        key = self.server.account.issue("STS")
        if self.headers.get("Accept") != "application/json":
            return self.say(200, b"<AssumeRoleWithWebIdentityResponse/>", "text/xml")
        credentials = {"AccessKeyId": key.id, "SecretAccessKey": key.secret, "SessionToken": key.token, "Expiration": float(key.expires)}
        return self.say(200, json.dumps({"AssumeRoleWithWebIdentityResponse": {
            "AssumeRoleWithWebIdentityResult": {"Credentials": credentials}, "ResponseMetadata": {"RequestId": "1"}}}).encode())


class CredentialServer(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, account: Account):
        super().__init__(("127.0.0.1", 0), CredentialHandler)
        self.account = account
        self.asked: List[str] = []  # methods and paths
        self.session = ""           # the newest token of the instance metadata
        self.fault = ""             # what every answer is from now on
        self.ends = threading.Event()

    def url(self, path: str = "") -> str:
        return f"http://127.0.0.1:{self.server_port}{path}"

    def handle_error(self, request, client_address):
        """A client that closes in the middle is none of our business."""


def hashed(key: bytes, text: str) -> bytes:
    return hmac.new(key, text.encode(), hashlib.sha256).digest()


class FrontHandler(Handler):
    """A request for DynamoDB."""

    def do_POST(self) -> None:
        body = self.read_body()
        if len(body) < int(self.headers.get("Content-Length", 0)):
            return None  # of a daemon that was killed within it
        account, said = self.server.account, self.headers.get("Authorization", "")
        parts = dict(part.split("=", 1) for part in said.partition(" ")[2].split(", ") if "=" in part)
        key = account.keys.get(parts.get("Credential", "").split("/")[0])
        fault = account.fault_of(key)
        if key and parts.get("Signature") != self.signature(key, parts, body):
            self.server.badly_signed.append(said)
            fault = "InvalidSignatureException"
        if fault:
            self.server.refused.append(fault)
            return self.say(400, json.dumps({"__type": f"com.amazonaws.dynamodb.v20120810#{fault}", "message": "refused"}).encode())
        self.server.served.append(key.id)
        return self.pass_on(body)

    def signature(self, key: Key, parts: dict, body: bytes) -> str:
        """As Amazon describes it. The session token has to be there, and signed."""
        signed = parts["SignedHeaders"].split(";")
        if self.headers.get("X-Amz-Security-Token") != key.token or "x-amz-security-token" not in signed:
            return "no session token"
        lines = "".join(f"{name}:{' '.join(self.headers.get(name, '').split())}\n" for name in signed)
        request = "\n".join(["POST", self.path, "", lines, ";".join(signed), hashlib.sha256(body).hexdigest()])
        scope = parts["Credential"].split("/")[1:]
        text = "\n".join(["AWS4-HMAC-SHA256", self.headers["X-Amz-Date"], "/".join(scope), hashlib.sha256(request.encode()).hexdigest()])
        signing = b"AWS4" + key.secret.encode()
        for part in scope:
            signing = hashed(signing, part)
        return hashed(signing, text).hex()

    def pass_on(self, body: bytes) -> None:
        """With the account's one name: to DynamoDB Local an access key is the name of a database."""
        target = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=60)
        with contextlib.closing(target):
            target.request("POST", "/", body, {
                "X-Amz-Target": self.headers["X-Amz-Target"], "X-Amz-Date": self.headers["X-Amz-Date"],
                "Content-Type": self.headers["Content-Type"], "Authorization": self.server.authorization})
            reply = target.getresponse()
            self.say(reply.status, reply.read(), "application/x-amz-json-1.0")


class Front(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, account: Account, port: int, authorization: str):
        super().__init__(("127.0.0.1", 0), FrontHandler)
        self.account, self.port, self.authorization = account, port, authorization
        self.served: List[str] = []        # the access key of each request that was passed on
        self.refused: List[str] = []       # the error of each that was not
        self.badly_signed: List[str] = []  # what it was authorized by

    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, request, client_address):
        """A client that closes in the middle is none of our business."""


class Amazon(NamedTuple):
    account: Account
    sources: CredentialServer
    front: Front


@contextlib.contextmanager
def amazon(port: int, authorization: str, seconds: float) -> Iterator[Amazon]:
    """Both servers, for the DynamoDB Local on `port`; keys last for so many seconds."""
    account = Account(seconds)
    servers = Amazon(account, CredentialServer(account), Front(account, port, authorization))
    for server in (servers.sources, servers.front):
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    try:
        yield servers
    finally:
        servers.sources.ends.set()
        for server in (servers.sources, servers.front):
            server.shutdown()
            server.server_close()
