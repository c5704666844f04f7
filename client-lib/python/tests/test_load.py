"""10,000 calls in flight, and memory over many calls (CALLS=1000000: the long run)."""

import asyncio
import gc
import os
import signal
import sys
from pathlib import Path

import pytest

import seqd
from seqd import aio
from servers.patience import PATIENCE
from takers import twice_and_holes

CALLS = int(os.environ.get("CALLS", "100000"))
IN_FLIGHT = 10_000
LONG = 60.0 * PATIENCE


def memory_kib():
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    raise AssertionError("no VmRSS")


@pytest.mark.limit(60)
@pytest.mark.parametrize("kill", [False, True], ids=["thawed", "killed"])
def test_TenThousandCallsInFlight(daemon, kill):
    """The daemon is frozen while they are made, so all of them are in flight at once; then it goes on, or is killed and the next
    one answers."""
    async def run():
        async with aio.Client(daemon.socket, timeout=LONG) as client:
            await client.ping()
            daemon.process.send_signal(signal.SIGSTOP)
            calls = [asyncio.ensure_future(client.next("orders")) for _ in range(IN_FLIGHT)]
            session = client._connection._session  # pylint: disable=protected-access
            while session.in_flight() < IN_FLIGHT:
                await asyncio.sleep(0)
            assert not any(call.done() for call in calls)
            if kill:
                daemon.kill()
                daemon.start()
            else:
                daemon.process.send_signal(signal.SIGCONT)
            return await asyncio.gather(*calls)

    ids = asyncio.run(run())
    assert len(ids) == IN_FLIGHT and twice_and_holes(ids) == (0, 0)


def test_TenThousandCallsOfAPipeline(daemon):
    with seqd.Client(daemon.socket, timeout=LONG) as client:
        pipeline = client.pipeline()
        for _ in range(IN_FLIGHT):
            pipeline.next("orders")
        assert sorted(pipeline.execute()) == list(range(1, IN_FLIGHT + 1))


def rounds_of(kind, path):
    """A function that makes 1,000 calls of several sorts, with a client of that kind, and one that closes it."""
    if kind == "blocking":
        client = seqd.Client(path, timeout=LONG)

        def thousand():
            for _ in range(600):
                client.next("orders")
            pipeline = client.pipeline()
            for _ in range(399):
                pipeline.next("orders")
            pipeline.execute()
            with pytest.raises(seqd.NoMethod):
                client.call("destroy")

        return thousand, client.close
    loop = asyncio.new_event_loop()
    looped = aio.Client(path, timeout=LONG)

    async def calls():
        for _ in range(4):
            await asyncio.gather(*[looped.next("orders") for _ in range(200)])
        for _ in range(198):
            await looped.next("orders")
        cancelled = asyncio.ensure_future(looped.next("orders"))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        cancelled.cancel()
        await asyncio.wait([cancelled])
        with pytest.raises(seqd.NoMethod):
            await looped.call("destroy")

    def close():
        loop.run_until_complete(looped.close())
        loop.close()

    return lambda: loop.run_until_complete(calls()), close


@pytest.mark.limit(60 + CALLS / 5000)
@pytest.mark.parametrize("kind", ["blocking", "asyncio"])
def test_MemoryStaysFlat(daemon, kind):
    """Blocks of Python's allocator and resident memory after many calls are those after the first ones."""
    thousand, close = rounds_of(kind, daemon.socket)
    for _ in range(20):
        thousand()
    gc.collect()
    blocks, resident = sys.getallocatedblocks(), memory_kib()
    for _ in range(max(CALLS // 1000, 30)):
        thousand()
    gc.collect()
    more_blocks, more_resident = sys.getallocatedblocks() - blocks, memory_kib() - resident
    print(f"{kind}, {CALLS} calls: {more_blocks} blocks and {more_resident} KiB more")
    close()
    # A leak of one block or 64 bytes a call would be 100,000 blocks or 6 MiB.
    assert more_blocks < 1000 and more_resident < 4096


@pytest.mark.limit(60)
@pytest.mark.parametrize("kind", ["blocking", "asyncio"])
def test_ManyClientsLeaveNothingBehind(daemon, kind):
    def descriptors():
        return len(os.listdir("/proc/self/fd"))

    def once():
        thousand, close = rounds_of(kind, daemon.socket)
        del thousand
        close()
        with seqd.Client(daemon.socket) as client:
            client.next("orders")
        dropped = seqd.Client(daemon.socket)
        dropped.next("orders")

    for _ in range(3):
        once()
    gc.collect()
    before = descriptors()
    for _ in range(50):
        once()
    gc.collect()
    assert descriptors() <= before
