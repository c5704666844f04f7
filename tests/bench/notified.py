"""A server that says READY=1 to a notification socket, started and waited for as systemd would."""

import os
import select
import socket
import subprocess
import sys
from pathlib import Path

from servers.mongod import die_with_parent


class Notified:
    """The process and its end. It dies with the thread that started it."""

    def __init__(self, command: list, directory: Path, seconds: float = 20):
        path = directory / f"notify-{Path(command[0]).name}"
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as notify:
            notify.bind(str(path))
            with open(directory / f"{Path(command[0]).name}.log", "ab") as log:
                self.process = subprocess.Popen(command, env={**os.environ, "NOTIFY_SOCKET": str(path)}, stdout=log, stderr=log,
                                                stdin=subprocess.DEVNULL, preexec_fn=die_with_parent)
            ended = os.pidfd_open(self.process.pid)
            while True:
                readable = select.select([notify, ended], [], [], seconds)[0]
                if notify in readable and b"READY=1" in notify.recv(8192):
                    break
                if notify not in readable:
                    self.close()
                    sys.exit(f"{command[0]} did not become ready; see {log.name}")
            os.close(ended)

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
