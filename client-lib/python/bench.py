"""Speed of the client beside redis-py on a real redis-server, in one run; prints calls a second, the ratio of both (above 1: seqd is
faster), and the processor time of the client, which says more on a busy machine.

usage: bench.py [--seconds N] [--rounds N]     needs redis-server, python3-redis and a built seqd (SEQD_BIN, or build/seqd),
beside which is libseqd.so

Each side of a row has one process, this one, and one server, over Unix sockets. The sides take turns round by round, first
one and then the other, so that both see the same machine; a figure is the median of the rounds. Redis keeps nothing on disk;
seqd writes its log.
"""

import argparse
import asyncio
import ctypes
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "src"))
# pylint: disable=wrong-import-position
import redis  # noqa: E402
import redis.asyncio  # noqa: E402

import seqd  # noqa: E402
import seqd.aio  # noqa: E402

AT_ONCE = 100
THREADS = 8


class Server:
    """A server process with a directory of its own, which goes with it."""

    def __init__(self, command, socket_path):
        self.socket = socket_path
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        end = time.monotonic() + 30
        while not socket_path.exists():
            if self.process.poll() is not None or time.monotonic() > end:
                raise SystemExit(f"{command[0]} did not start")
            time.sleep(0.01)

    def stop(self):
        self.process.terminate()
        self.process.wait(30)


SEQD = Path(os.environ.get("SEQD_BIN", HERE.parents[1] / "build" / "seqd")).resolve()


def start_seqd(directory):
    binary = str(SEQD)
    (directory / "seqd.toml").write_text('[sequence."blocks"]\nblocks = true\n')
    for name in ("state", "witness"):
        (directory / name).mkdir()
    path = directory / "seqd.sock"
    return Server([binary, "--config", str(directory / "seqd.toml"), "--socket", str(path), "--state-dir",
                   str(directory / "state"), "--witness-dir", str(directory / "witness")], path)


def start_redis(directory):
    path = directory / "redis.sock"
    return Server(["redis-server", "--port", "0", "--unixsocket", str(path), "--save", "", "--appendonly", "no", "--dir",
                   str(directory)], path)


# --- one side of a row: does about `seconds` of work and returns the calls it made
def until(seconds, once, calls):
    end = time.perf_counter() + seconds
    begin = time.perf_counter()
    done = 0
    while time.perf_counter() < end:
        once()
        done += calls
    return done / (time.perf_counter() - begin)


async def until_async(seconds, once, calls):
    end = time.perf_counter() + seconds
    begin = time.perf_counter()
    done = 0
    while time.perf_counter() < end:
        await once()
        done += calls
    return done / (time.perf_counter() - begin)


def in_threads(seconds, once):
    """`once` called by THREADS threads at a time."""
    counts = [0] * THREADS
    end = time.perf_counter() + seconds

    def work(which):
        while time.perf_counter() < end:
            once()
            counts[which] += 1

    begin = time.perf_counter()
    threads = [threading.Thread(target=work, args=(which,)) for which in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(counts) / (time.perf_counter() - begin)


def blocking_rows(ours, theirs, seconds):
    def our_pipeline():
        pipeline = ours.pipeline()
        for _ in range(AT_ONCE):
            pipeline.next("orders")
        pipeline.execute()

    def their_pipeline():
        pipeline = theirs.pipeline(transaction=False)
        for _ in range(AT_ONCE):
            pipeline.incr("orders")
        pipeline.execute()

    yield ("one at a time", lambda: until(seconds, lambda: ours.next("orders"), 1),
           lambda: until(seconds, lambda: theirs.incr("orders"), 1))
    yield (f"{AT_ONCE} at once, pipeline()", lambda: until(seconds, our_pipeline, AT_ONCE),
           lambda: until(seconds, their_pipeline, AT_ONCE))
    yield (f"{THREADS} threads on one client", lambda: in_threads(seconds, lambda: ours.next("orders")),
           lambda: in_threads(seconds, lambda: theirs.incr("orders")))


def block_rows(ours, theirs, seconds):
    """One call of time for many that are counted: reading the clock takes a third of such a call."""
    take = ours.next

    def hundred():
        for _ in range(AT_ONCE):
            take("blocks")

    yield ("blocks, one at a time", lambda: until(seconds, hundred, AT_ONCE), lambda: until(seconds, lambda: theirs.incr("orders"), 1))
    yield (f"blocks, {THREADS} threads on one client", lambda: AT_ONCE * in_threads(seconds, hundred),
           lambda: in_threads(seconds, lambda: theirs.incr("orders")))


def asyncio_rows(ours, theirs, seconds, run):
    async def our_tasks():
        await asyncio.gather(*[ours.next("orders") for _ in range(AT_ONCE)])

    async def their_tasks():
        await asyncio.gather(*[theirs.incr("orders") for _ in range(AT_ONCE)])

    async def our_pipeline():
        pipeline = ours.pipeline()
        for _ in range(AT_ONCE):
            pipeline.next("orders")
        await pipeline.execute()

    async def their_pipeline():
        pipeline = theirs.pipeline(transaction=False)
        for _ in range(AT_ONCE):
            pipeline.incr("orders")
        await pipeline.execute()

    async def our_one():
        await ours.next("orders")

    async def their_one():
        await theirs.incr("orders")

    yield ("asyncio, one at a time", lambda: run(until_async(seconds, our_one, 1)), lambda: run(until_async(seconds, their_one, 1)))
    yield (f"asyncio, {AT_ONCE} tasks at once", lambda: run(until_async(seconds, our_tasks, AT_ONCE)),
           lambda: run(until_async(seconds, their_tasks, AT_ONCE)))
    yield (f"asyncio, {AT_ONCE} at once, pipeline()", lambda: run(until_async(seconds, our_pipeline, AT_ONCE)),
           lambda: run(until_async(seconds, their_pipeline, AT_ONCE)))


def measure(title, ours, theirs, rounds):
    ours(), theirs()  # connections, caches
    figures, processor = ([], []), ([], [])
    for number in range(rounds):
        for which in ((0, 1), (1, 0))[number % 2]:
            wall, cpu = time.perf_counter(), time.process_time()
            rate = (ours, theirs)[which]()
            calls = rate * (time.perf_counter() - wall)
            figures[which].append(rate)
            processor[which].append((time.process_time() - cpu) / calls * 1e6)
    ratio = statistics.median(one / other for one, other in zip(*figures))
    print(f"{title:32} {statistics.median(figures[0]):>9,.0f} {statistics.median(figures[1]):>9,.0f} {ratio:>6.2f}"
          f" {statistics.median(processor[0]):>8.2f} {statistics.median(processor[1]):>8.2f}", flush=True)


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--seconds", type=float, default=0.5, help="of each side in a round")
    arguments.add_argument("--rounds", type=int, default=7)
    chosen = arguments.parse_args()
    directory = Path(tempfile.mkdtemp(prefix="seqd-bench-", dir="/dev/shm"))
    servers = []
    try:
        servers.append(start_seqd(directory))
        servers.append(start_redis(directory))
        print(f"Python {sys.version.split()[0]}, seqd {seqd.__version__}, redis-py {redis.__version__}; calls a second, and the "
              "client's processor time for a call in us")
        print(f"{'':32} {'seqd':>9} {'redis-py':>9} {'ratio':>6} {'seqd us':>8} {'redis us':>8}")
        with seqd.Client(servers[0].socket) as ours, redis.Redis(unix_socket_path=str(servers[1].socket)) as theirs:
            for title, left, right in blocking_rows(ours, theirs, chosen.seconds):
                measure(title, left, right, chosen.rounds)
            ctypes.CDLL(str(SEQD.parent / "libseqd.so"))  # what the client then finds by its name
            with seqd.Client(servers[0].socket, blocks=True) as blocks:
                for title, left, right in block_rows(blocks, theirs, chosen.seconds):
                    measure(title, left, right, chosen.rounds)
        loop = asyncio.new_event_loop()
        our_client = seqd.aio.Client(servers[0].socket)
        their_client = redis.asyncio.Redis(unix_socket_path=str(servers[1].socket))
        for title, left, right in asyncio_rows(our_client, their_client, chosen.seconds, loop.run_until_complete):
            measure(title, left, right, chosen.rounds)
        loop.run_until_complete(our_client.close())
        loop.run_until_complete(their_client.connection_pool.disconnect())
        loop.close()
    finally:
        for server in servers:
            server.stop()
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    main()
