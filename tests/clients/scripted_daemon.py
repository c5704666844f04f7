"""A daemon that does what a script of model.json says, for the tests of all clients.

usage: scripted_daemon.py SOCKET NAME     NAME: of the script

Each accepted connection carries out the next list of `daemon`; the last one serves all further connections. Its steps:

    hello [LIMIT=N...]       reads the hello and answers it, with these limits in place of LIMITS
    refuse CODE              reads the hello and answers with the error
    take N                   reads until N requests were taken on this connection
    answer K id N            replies to the K-th request of this connection
    answer K text T          the same; `runs F C S ...`: runs of a range; `error FAULT CODE`: an error
    half K                   the first half of a reply to it
    raw HEX                  bytes
    wait EVENT               until the test tells EVENT
    vanish                   nobody listens any more, and the connection ends
    cut                      the connection ends
    idle                     reads until the client closes; follows the last step by itself

It prints a line for each event: `listening`, `connected N`, `taken N METHOD` (N counts over all connections), `closed N`. Lines on
standard input are events that the test tells; at its end the daemon ends. What no client may ever do ends it with a line
`broken: WHY` and exit code 1; see Rules.
"""

import json
import os
import socket
import sys
import threading
from pathlib import Path

import msgpack

MODEL = Path(__file__).resolve().parent / "model.json"
LIMITS = {"frame": 65536, "depth": 8, "name": 128, "count": 100000, "pipeline": 4096, "unacknowledged": 16384}
HELLO = {"server": "seqd", "version": "0.2.0", "protocol": 1, "known": False, "instance": "i"}
NUMBERED = ("next", "next_text", "range", "insert")


class Broken(Exception):
    """The client did what no client may do."""


def depth_of(value):
    if isinstance(value, dict):
        return 1 + max((depth_of(one) for one in value.values()), default=0)
    if isinstance(value, list):
        return 1 + max((depth_of(one) for one in value), default=0)
    return 0


class Rules:
    """What holds for every client in every script (PROTOCOL.md sections 2, 3 and 5). With the lock of the daemon.

    The numbers of an identity increase; one that is sent again is the same request, and only one that may be repeated. What
    was acknowledged is never sent again, and no more is unacknowledged than the daemon remembers. No message is above the
    limits that the hello of its connection named.
    """

    def __init__(self):
        # By identity: "highest", "floor"; "requests": what each number was; "refused": those that may be sent again, as the daemon
        # stops; of inserts "aside" and "inserts".
        self.identities = {}

    def hello(self, options):
        identity = bytes(options.get("client") or b"")
        if len(identity) != 16:
            raise Broken("a hello without an identity of 16 bytes")
        return self.identities.setdefault(identity, {"highest": 0, "requests": {}, "floor": 1, "refused": set(), "aside": 0, "inserts": []})

    def message(self, size, message, limits):
        if size > limits["frame"]:
            raise Broken(f"a message of {size} bytes, above the limit frame {limits['frame']}")
        if depth_of(message) > limits["depth"]:
            raise Broken(f"a message of {depth_of(message)} levels, above the limit depth {limits['depth']}")

    def request(self, client, number, method, params, limits):
        if method not in NUMBERED:
            return
        if method == "insert" and number - client["floor"] >= limits["unacknowledged"]:
            self.insert_aside(client, number, params)
            return
        if number < client["floor"]:
            raise Broken(f"request {number} is below the acknowledged {client['floor']}")
        if number - client["floor"] >= limits["unacknowledged"]:
            raise Broken(f"request {number} is {number - client['floor']} above the acknowledged one")
        options = params[-1] if isinstance(params[-1], dict) else {}
        what = (method, params[:-1] if options else params, options.get("unique"))
        known = client["requests"].get(number)
        if known is None and number <= client["highest"]:
            raise Broken(f"request {number} came after {client['highest']}")
        if known is not None and known != what:
            raise Broken(f"request {number} was {known} and is {what}")
        if known is not None and method == "insert" and not options.get("unique") and number not in client["refused"]:
            raise Broken("an insert without a unique field was sent twice")
        client["requests"][number] = what
        client["refused"].discard(number)
        client["highest"] = max(client["highest"], number)

    def insert_aside(self, client, number, params):
        """Numbers of inserts only have to increase: a client may take them from elsewhere, and new ones for repeats."""
        if number <= client["aside"]:
            raise Broken(f"insert {number} came after {client['aside']}")
        client["aside"] = number
        options = params[-1]
        if not options.get("unique") and params[:-1] in client["inserts"] and not client["refused"]:
            raise Broken("an insert without a unique field was sent twice")
        client["inserts"].append(params[:-1])
        client["refused"].clear()

    def stopping(self, client, number):
        client["refused"].add(number)

    def ack(self, client, below):
        client["floor"] = max(client["floor"], below)


class Line:
    """One connection, and the steps of its list."""

    def __init__(self, daemon, connection, number):
        self.daemon, self.connection, self.number = daemon, connection, number
        self.unpacker = msgpack.Unpacker(raw=False, strict_map_key=False, max_buffer_size=1 << 26)
        self.end = 0
        self.client = None
        self.limits = dict(LIMITS)
        self.requests = []

    def read(self):
        """The next message; None at the end."""
        while True:
            try:
                message = self.unpacker.unpack()
            except msgpack.OutOfData:
                data = b""
                try:
                    data = self.connection.recv(65536)
                except OSError:
                    pass
                if not data:
                    return None
                self.unpacker.feed(data)
                continue
            size, self.end = self.unpacker.tell() - self.end, self.unpacker.tell()
            self.daemon.rules.message(size, message, self.limits)
            return message

    def read_request(self):
        """The next request; acknowledgements before it are heard. None at the end."""
        while (message := self.read()) is not None:
            with self.daemon.lock:
                if message[0] == 2 and message[1] == "ack":
                    self.daemon.rules.ack(self.client, message[2][0])
                    continue
                _, number, method, params = message
                self.daemon.rules.request(self.client, number, method, params, self.limits)
                self.requests.append((number, method))
                self.daemon.taken += 1
                self.daemon.say(f"taken {self.daemon.taken} {method}")
            return message
        return None

    def read_hello(self):
        message = self.read()
        if message is None:
            return None
        if message[0] != 0 or message[2] != "hello":
            raise Broken(f"{message[2]} before the hello")
        with self.daemon.lock:
            self.client = self.daemon.rules.hello(message[3][0])
        return message[1]

    def write(self, data):
        try:
            self.connection.sendall(data)
        except OSError:
            pass  # the client has closed

    def reply(self, which, kind, *rest):
        number, _ = self.requests[int(which) - 1]
        if kind == "error":
            if rest[1] == "STOPPING":
                with self.daemon.lock:
                    self.daemon.rules.stopping(self.client, number)
            return msgpack.packb([1, number, [int(rest[0]), f"{rest[1]}: as the script says"], None])
        if kind == "id":
            return msgpack.packb([1, number, None, int(rest[0])])
        if kind == "text":
            return msgpack.packb([1, number, None, rest[0]])
        runs = [[int(one) for one in rest[at:at + 3]] for at in range(0, len(rest), 3)]
        return msgpack.packb([1, number, None, runs])

    def carry_out(self, steps):
        for step in [*steps, "idle"]:
            word, *rest = step.split()
            if word in ("hello", "refuse"):
                number = self.read_hello()
                if number is None:
                    return
                if word == "hello":
                    self.limits.update((limit, int(value)) for limit, value in (one.split("=") for one in rest))
                    answer = {**HELLO, "connection": f"c{self.number}", "limits": self.limits}
                    self.write(msgpack.packb([1, number, None, answer]))
                else:
                    self.write(msgpack.packb([1, number, [0, f"{rest[0]}: as the script says"], None]))
            elif word == "take":
                while len(self.requests) < int(rest[0]):
                    if self.read_request() is None:
                        return
            elif word == "answer":
                self.write(self.reply(*rest))
            elif word == "half":
                reply = self.reply(rest[0], "id", "4611686018427387904")
                self.write(reply[:len(reply) // 2])
            elif word == "raw":
                self.write(bytes.fromhex(rest[0]))
            elif word == "wait":
                self.daemon.event(rest[0]).wait()
            elif word == "vanish":
                self.daemon.vanish()
                return
            elif word == "cut":
                return
            elif word == "idle":
                while (self.read() if self.client is None else self.read_request()) is not None:
                    pass
            else:
                raise Broken(f"no such step: {step}")


class Daemon:
    def __init__(self, path, script):
        self.path, self.script = path, script
        self.output = threading.Lock()  # of standard output
        self.lock = threading.Lock()  # of what follows
        self.rules = Rules()
        self.taken = 0
        self.events = {}
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(path)
        self.listener.listen(64)
        self.say("listening")

    def say(self, line):
        with self.output:
            sys.stdout.write(f"{line}\n")
            sys.stdout.flush()

    def event(self, name):
        return self.events.setdefault(name, threading.Event())

    def vanish(self):
        os.unlink(self.path)
        self.listener.close()

    def serve(self):
        number = 0
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            number += 1
            lists = self.script["daemon"]
            line = Line(self, connection, number)
            self.say(f"connected {number}")
            threading.Thread(target=self.perform, args=(line, lists[min(number, len(lists)) - 1]), daemon=True).start()

    def perform(self, line, steps):
        try:
            line.carry_out(steps)
        except Exception as why:  # pylint: disable=broad-except
            self.say(f"broken: {why if isinstance(why, Broken) else repr(why)}")
            os._exit(1)
        line.connection.close()
        self.say(f"closed {line.number}")


def main(path, name):
    (script,) = (one for one in json.loads(MODEL.read_text())["scripts"] if one["name"] == name)
    daemon = Daemon(path, script)
    threading.Thread(target=daemon.serve, daemon=True).start()
    for line in sys.stdin:
        daemon.event(line.strip()).set()


if __name__ == "__main__":
    main(*sys.argv[1:])
