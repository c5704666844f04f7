"""The notification socket of a service, read all the time as systemd reads it: one that is not read blocks the sender."""

import collections
import os
import socket
import threading
from pathlib import Path
from typing import Optional

from servers.patience import PATIENCE, WaitedInVain

MARK = b"X_MARK=1"  # our own: everything sent before it has been read


class Notifications:
    """What a service says to NOTIFY_SOCKET, line by line. `event` is readable when there is something new."""

    def __init__(self, path: Path):
        self.path = path
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)
        self.socket.bind(str(path))
        self.event = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self.lines = collections.deque()
        self.marked = threading.Event()
        self.thread = threading.Thread(target=self._read, daemon=True)
        self.thread.start()

    def _read(self) -> None:
        while True:
            data = self.socket.recv(8192)
            if not data:  # an empty datagram: our own, at the end
                return
            if data == MARK:
                self.marked.set()
                continue
            self.lines.extend(data.decode().splitlines())
            os.eventfd_write(self.event, 1)

    def clear(self) -> None:
        """Forgets all that was sent up to this moment, also what is still on its way."""
        self.marked.clear()
        self._send(MARK)
        if not self.marked.wait(20 * PATIENCE):
            raise WaitedInVain("the notification socket is not read any more")
        self.lines.clear()
        try:
            os.eventfd_read(self.event)
        except BlockingIOError:
            pass

    def find(self, beginning: str) -> Optional[str]:
        """The next line that begins so; it and those before it are taken away."""
        try:
            os.eventfd_read(self.event)
        except BlockingIOError:
            pass
        while self.lines:
            line = self.lines.popleft()
            if line.startswith(beginning):
                return line
        return None

    def _send(self, data: bytes) -> None:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
            sender.sendto(data, str(self.path))

    def close(self) -> None:
        self._send(b"")
        self.thread.join(20 * PATIENCE)
        self.socket.close()
        os.close(self.event)
