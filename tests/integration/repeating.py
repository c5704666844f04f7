"""A client with an identity that repeats what was not answered, one connection at a time, as the protocol asks."""

import os
from typing import Dict, List

import msgpack

from rpc import Closed, Connection, RpcError


class RepeatingClient:
    """Takes IDs of one sequence over any number of connections and daemons. What was not answered is asked again with the
    same number, and so gets the IDs that were issued for it, if they were."""

    def __init__(self, name: str = "orders"):
        self.name = name
        self.identity = os.urandom(16)
        self.number = 0
        self.open: Dict[int, list] = {}  # requests without an answer, by number
        self.ids: List[int] = []  # in the order of the requests
        self.errors: List[RpcError] = []

    def take(self, daemon, requests: int, count: int, batch: int = 8) -> bool:
        """Repeats what is open, then asks for `count` IDs as often as told. False when the connection ended before."""
        try:
            with daemon.connect() as connection:
                connection.call("hello", {"client": self.identity})
                self._answer(connection)
                while requests > 0:
                    for _ in range(min(batch, requests)):
                        self.number += 1
                        self.open[self.number] = [self.name, count]
                    requests -= batch
                    self._answer(connection)
            return True
        except (Closed, ConnectionRefusedError, ConnectionResetError, FileNotFoundError):
            return False

    def _answer(self, connection: Connection) -> None:
        connection.send(b"".join(msgpack.packb([0, number, "range", params]) for number, params in sorted(self.open.items())))
        for number in sorted(self.open):
            try:
                runs = connection.result(number)
                self.ids.extend(one for first, count, step in runs for one in range(first, first + count * step, step))
            except RpcError as error:  # issued nothing
                self.errors.append(error)
            del self.open[number]
        connection.notify("ack", self.number + 1)
