"""A server that says READY=1 to a notification socket, started and waited for as systemd would."""

import os
import subprocess
import sys
from pathlib import Path

from harness import readable
from notifications import Notifications
from servers.mongod import die_with_parent


class Notified:
    """The process and its end. It dies with the thread that started it."""

    def __init__(self, command: list, directory: Path, seconds: float = 20):
        path = directory / f"notify-{Path(command[0]).name}"
        self.notifications = Notifications(path)
        with open(directory / f"{Path(command[0]).name}.log", "ab") as log:
            self.process = subprocess.Popen(command, env={**os.environ, "NOTIFY_SOCKET": str(path)}, stdout=log, stderr=log,
                                            stdin=subprocess.DEVNULL, preexec_fn=die_with_parent)
        ended = os.pidfd_open(self.process.pid)
        while not self.notifications.find("READY=1"):
            if self.notifications.event not in readable(seconds, self.notifications.event, ended):
                self.close()
                sys.exit(f"{command[0]} did not become ready:\n{Path(log.name).read_text(errors='replace')[-2000:]}")
        os.close(ended)

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        self.notifications.close()
