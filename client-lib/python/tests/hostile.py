"""A server that misbehaves as a test tells it: each connection gets the next of its acts."""

import socket
import threading

import msgpack

from servers.patience import PATIENCE

HELLO = {"server": "seqd", "version": "0.1.0", "protocol": 1, "known": False, "instance": "i", "connection": "c",
         "limits": {"frame": 65536, "depth": 8, "name": 128, "count": 100000, "pipeline": 4096, "unacknowledged": 16384}}


class Line:
    """One accepted connection, read and written message by message."""

    def __init__(self, connection):
        self.socket = connection
        self.unpacker = msgpack.Unpacker()

    def read(self):
        """The next message of the client; None at the end."""
        while True:
            for message in self.unpacker:
                return message
            try:
                data = self.socket.recv(65536)
            except OSError:
                return None
            if not data:
                return None
            self.unpacker.feed(data)

    def request(self):
        """The next request, without acknowledgements."""
        while True:
            message = self.read()
            if message is None or message[0] == 0:
                return message

    def write(self, data):
        try:
            self.socket.sendall(data)
            return True
        except OSError:
            return False

    def say(self, number, result=None, error=None):
        return self.write(msgpack.packb([1, number, error, result]))

    def greet(self, **changes):
        """Answers the hello."""
        assert self.request()[2] == "hello"
        self.say(0, {**HELLO, **changes})

    def until_closed(self):
        while self.read() is not None:
            pass


class Server:
    """acts: functions of a Line, one a connection; the last one serves all further connections. A connection is closed when
    its act ends."""

    def __init__(self, path, *acts):
        self.path = path
        self.acts = list(acts)
        self.connections = 0
        self.lines = []
        self.failures = []
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(path))
        self.listener.listen(64)
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    def _serve(self):
        threads = []
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                break
            act = self.acts[min(self.connections, len(self.acts) - 1)]
            self.connections += 1
            self.lines.append(connection)
            threads.append(threading.Thread(target=self._perform, args=(act, connection), daemon=True))
            threads[-1].start()
        for thread in threads:
            thread.join(20 * PATIENCE)

    def _perform(self, act, connection):
        try:
            act(Line(connection))
        except Exception as error:  # pylint: disable=broad-except
            self.failures.append(error)
        finally:
            connection.close()

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        for line in self.lines:
            try:
                line.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass  # it is closed
        self.thread.join(20 * PATIENCE)


def honest(line):
    """Answers every request with its own number."""
    line.greet()
    while (request := line.request()) is not None:
        line.say(request[1], request[1])
