"""Clients of this package that take IDs in threads of the test's process until they are told to stop."""

import asyncio
import threading

import seqd
from seqd import aio
from servers.mongod import wait_for
from servers.patience import PATIENCE

TIMEOUT = 60.0 * PATIENCE  # of a call: a daemon that starts on a busy machine


class Takers:
    """`threads` threads share one blocking client, and `tasks` tasks one asyncio client. Every third call takes several IDs.
    `ids` is complete after stop(), which raises the first error that any call had."""

    def __init__(self, path, name="orders", threads=4, tasks=16):
        self.path, self.name, self.tasks = path, name, tasks
        self.received = [[] for _ in range(threads + 1)]
        self.errors = []
        self.stopping = threading.Event()
        self.client = seqd.Client(path, timeout=TIMEOUT)
        targets = [(self._blocking, which) for which in range(threads)] + ([(self._asyncio, threads)] if tasks else [])
        self.threads = [threading.Thread(target=self._guard, args=target) for target in targets]
        for thread in self.threads:
            thread.start()

    def _guard(self, work, which):
        try:
            work(self.received[which])
        except BaseException as error:  # pylint: disable=broad-except
            self.errors.append(error)

    def _blocking(self, ids):
        turn = 0
        while not self.stopping.is_set():
            turn += 1
            if turn % 3 == 0:
                ids.extend(self.client.next_many(self.name, 5))
            else:
                ids.append(self.client.next(self.name))

    def _asyncio(self, ids):
        async def task(client):
            turn = 0
            while not self.stopping.is_set():
                turn += 1
                if turn % 3 == 0:
                    ids.extend(await client.next_many(self.name, 5))
                else:
                    ids.append(await client.next(self.name))

        async def run():
            async with aio.Client(self.path, timeout=TIMEOUT) as client:
                await asyncio.gather(*[task(client) for _ in range(self.tasks)])

        asyncio.run(run())

    def count(self):
        return sum(map(len, self.received))

    def wait_for_more(self, ids):
        """Until every client has received more, and all together so many."""
        before = [len(one) for one in self.received]

        def received():
            if self.errors:
                raise self.errors[0]
            more = [len(one) - old for one, old in zip(self.received, before)]
            return sum(more) >= ids and (not self.tasks or more[-1] > 0) and sum(more[:-1]) > 0

        wait_for("IDs of the clients", received)

    def stop(self):
        self.stopping.set()
        for thread in self.threads:
            thread.join(TIMEOUT + 20)
            assert not thread.is_alive(), "a call does not end"
        self.client.close()
        if self.errors:
            raise self.errors[0]
        return [number for ids in self.received for number in ids]


def twice_and_holes(ids, first=1):
    """How many IDs came twice, and how many below the highest never came."""
    different = set(ids)
    return len(ids) - len(different), max(different) - first + 1 - len(different)
