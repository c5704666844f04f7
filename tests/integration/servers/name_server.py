"""A name service on loopback for the tests of mongodb+srv://: it knows one name, whose SRV record leads to a port of this host. It may
fall silent, or know nothing. A process asks it where USES_IT runs it (root: port 53, and a file of its own as /etc/resolv.conf)."""

import os
import random
import socket
import struct
import threading
from pathlib import Path

from disks import NotShown

SRV, A = 33, 1
NO_ERROR, NO_NAME = 0, 3


def name_bytes(name: str) -> bytes:
    return b"".join(bytes([len(label)]) + label.encode() for label in name.split(".")) + b"\0"


class NameServer:
    """Answers for `name`, which has three labels or more, as a cluster of one server. A context manager."""

    def __init__(self, scratch: Path, name: str, port: int):
        self.name, self.port = name, port
        self.target = "server." + name.split(".", 1)[1]
        self.silent = False  # it drops what it is asked
        self.empty = False  # it has no name
        self.asked = 0
        self.resolv = scratch / "resolv.conf"
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def __enter__(self) -> "NameServer":
        address = f"127.{random.randrange(2, 255)}.{random.randrange(256)}.{random.randrange(1, 255)}"
        if os.geteuid() != 0:
            raise NotShown("a name server on port 53, and a resolv.conf of its own, need root")
        self._socket.bind((address, 53))
        self.resolv.write_text(f"nameserver {address}\noptions timeout:1 attempts:1\n")
        self._thread.start()
        return self

    def __exit__(self, *_) -> None:
        self._socket.close()

    def prefix(self) -> list:
        """What runs a program so that it asks this server."""
        return ["unshare", "--mount", "--propagation", "private", "sh", "-c", 'mount --bind "$1" /etc/resolv.conf && shift && exec "$@"', "sh",
                str(self.resolv)]

    def _serve(self) -> None:
        while True:
            try:
                asked, sender = self._socket.recvfrom(512)
                self.asked += 1
                if not self.silent:
                    self._socket.sendto(self._answer(asked), sender)
            except OSError:  # closed meanwhile
                return

    def _answer(self, asked: bytes) -> bytes:
        end = asked.index(b"\0", 12) + 5
        question = asked[12:end]
        kind = struct.unpack(">H", question[-4:-2])[0]
        name = question[:-4].lower()
        known = name in (name_bytes(self.name), name_bytes(self.target), name_bytes("_mongodb._tcp." + self.name))
        data = b""
        if kind == SRV and name == name_bytes("_mongodb._tcp." + self.name):
            data = struct.pack(">HHH", 0, 0, self.port) + name_bytes(self.target)
        elif kind == A and name == name_bytes(self.target):
            data = bytes([127, 0, 0, 1])
        if self.empty:
            known, data = False, b""
        head = asked[:2] + struct.pack(">HHHHH", 0x8180 | (NO_ERROR if known else NO_NAME), 1, 1 if data else 0, 0, 0)
        answer = b"\xc0\x0c" + struct.pack(">HHIH", kind, 1, 0, len(data)) + data if data else b""
        return head + question + answer
