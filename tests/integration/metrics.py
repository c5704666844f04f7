"""Reading the metrics of a daemon: HTTP over its socket or its port, and the text as a dict."""

import re
import socket
from typing import Dict, Optional, Tuple

from servers.patience import PATIENCE

SAMPLE = re.compile(r'^(\w+)(?:\{(.*)\})? (\S+)$')
LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"(?:,|$)')


class Reply:
    def __init__(self, data: bytes):
        head, _, body = data.partition(b"\r\n\r\n")
        lines = head.decode().split("\r\n")
        self.status = int(lines[0].split()[1])
        self.headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
        self.text = (dechunked(body) if self.headers.get("transfer-encoding") == "chunked" else body).decode()


def dechunked(body: bytes) -> bytes:
    out = b""
    while True:
        size, _, rest = body.partition(b"\r\n")
        length = int(size, 16)
        assert rest[length:length + 2] == b"\r\n", "a chunk ends with a line"
        if length == 0:
            assert rest == b"\r\n", "nothing follows the last chunk"
            return out
        out += rest[:length]
        body = rest[length + 2:]


def exchange(place, request: bytes) -> bytes:
    """Sends the request and reads to the end of the connection. `place`: the path of a socket, or a port of loopback."""
    unix = not isinstance(place, int)
    with socket.socket(socket.AF_UNIX if unix else socket.AF_INET, socket.SOCK_STREAM) as connection:
        connection.settimeout(10 * PATIENCE)
        connection.connect(str(place) if unix else ("127.0.0.1", place))
        connection.sendall(request)
        data = b""
        while piece := connection.recv(1 << 16):
            data += piece
        return data


def get(place, target: str = "/metrics", accept: Optional[str] = None) -> Reply:
    header = f"Accept: {accept}\r\n" if accept else ""
    return Reply(exchange(place, f"GET {target} HTTP/1.1\r\nHost: localhost\r\n{header}\r\n".encode()))


def scrape(place) -> Dict[Tuple, float]:
    """Every sample: (name, label=value, ...) -> value."""
    reply = get(place)
    assert reply.status == 200
    samples = {}
    for line in reply.text.splitlines():
        if line.startswith("#"):
            continue
        match = SAMPLE.match(line)
        assert match, f"not a sample: {line!r}"
        labels = LABEL.findall(match.group(2) or "")
        key = (match.group(1), *(f"{name}={value}" for name, value in labels))
        assert key not in samples, f"twice: {line!r}"
        samples[key] = float(match.group(3))
    return samples


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
