"""A seqctl that runs while a test reads it, through a pipe or a terminal, and a daemon that answers what no real one would."""

import fcntl
import os
import pty
import re
import socket
import struct
import subprocess
import termios
import threading
import time

import msgpack

import harness
from servers.mongod import die_with_parent
from servers.patience import PROGRAM_SECONDS, WaitedInVain

HELLO = {"server": "seqd", "version": "0.1.0", "protocol": 1, "known": False, "instance": "i", "connection": "c",
         "limits": {"frame": 65536, "depth": 8, "name": 128, "count": 1000, "pipeline": 100, "unacknowledged": 100}}


def environment_of(socket_path, **more):
    environment = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "LC_ALL", "LC_CTYPE")}
    return {**environment, "SEQD_SOCKET": str(socket_path), "TERM": "xterm", "LANG": "C.UTF-8", **more}


class Watching:
    """A seqctl that is read while it runs. `terminal`: rows and columns; else a pipe."""

    def __init__(self, socket_path, *arguments, terminal=None, **environment):
        if terminal:
            self.source, writer = pty.openpty()
            fcntl.ioctl(writer, termios.TIOCSWINSZ, struct.pack("HHHH", *terminal, 0, 0))
        else:
            self.source, writer = os.pipe()
        patience = [] if "-t" in arguments else ["-t", "5"]  # by itself a command that watches waits a second for each answer
        self.process = subprocess.Popen([str(harness.SEQCTL), *patience, *arguments], env=environment_of(socket_path, **environment),
                                        stdin=subprocess.DEVNULL, stdout=writer, stderr=subprocess.PIPE, preexec_fn=die_with_parent)
        os.close(writer)
        self.everything = b""
        self.unread = b""  # what no wait has seen

    def read(self, seconds=PROGRAM_SECONDS):
        """Some more of what it prints; False at its end."""
        if not harness.readable(seconds, self.source):
            raise WaitedInVain(f"nothing more came after {self.everything[-2000:]!r}")
        try:
            part = os.read(self.source, 65536)
        except OSError:  # of a terminal whose last writer has gone
            part = b""
        self.everything += part
        self.unread += part
        return bool(part)

    def wait_for(self, pattern, meanwhile=lambda: None, seconds=PROGRAM_SECONDS):
        """Until what it prints from here on has the pattern; forgets what came up to there."""
        end = time.monotonic() + seconds
        while True:
            found = re.search(pattern, self.unread)
            if found:
                self.unread = self.unread[found.end():]
                return found
            if time.monotonic() > end:
                raise WaitedInVain(f"no {pattern!r} in {self.unread[-3000:]!r}")
            meanwhile()
            assert self.read(seconds), f"it ended without {pattern!r}: {self.everything[-3000:]!r}"

    def end(self, number=None):
        """Its exit code, after that signal; everything that it printed is in `everything`, and what it said is returned with it."""
        if number is not None:
            self.process.send_signal(number)
        while self.read():
            pass
        _, said = self.process.communicate(timeout=PROGRAM_SECONDS)
        return self.process.returncode, said

    def close(self):
        self.process.kill()
        self.process.communicate()
        os.close(self.source)


class FakeDaemon(threading.Thread):
    """Answers with what it is told to, as no real daemon would."""

    def __init__(self, path, results):
        super().__init__(daemon=True)
        self.results = results
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.listener.bind(str(path))
        self.listener.listen()
        self.start()

    def run(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            with connection:
                self.serve(connection)

    def serve(self, connection):
        unpacker = msgpack.Unpacker(raw=False, strict_map_key=False)
        while part := connection.recv(65536):
            unpacker.feed(part)
            for message in unpacker:
                if message[0] == 0:
                    connection.sendall(msgpack.packb([1, message[1], None, self.results.get(message[2])], use_bin_type=False))

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.join(PROGRAM_SECONDS)
