"""Both clients with the same blocking methods, so that one test serves both."""

import asyncio

import seqd
import seqd.aio


class Looped:
    """The asyncio client, whose loop runs while a method waits."""

    def __init__(self, path, **options):
        self.loop = asyncio.new_event_loop()
        self.client = seqd.aio.Client(path, **options)

    def __getattr__(self, method):
        return lambda *arguments, **options: self.loop.run_until_complete(getattr(self.client, method)(*arguments, **options))

    def records(self, *arguments, **options):
        async def run():
            return [record async for record in self.client.records(*arguments, **options)]

        return self.loop.run_until_complete(run())

    def pipelined(self, method, *arguments, times):
        """So many calls at once; their results or errors in order."""
        async def run():
            calls = [getattr(self.client, method)(*arguments) for _ in range(times)]
            return await asyncio.gather(*calls, return_exceptions=True)

        return self.loop.run_until_complete(run())

    def close(self):
        if not self.loop.is_closed():
            self.loop.run_until_complete(self.client.close())
            self.loop.close()


class Blocking(seqd.Client):
    """The blocking client."""

    def pipelined(self, method, *arguments, times):
        """So many calls at once; their results or errors in order."""
        pipeline = self.pipeline()
        for _ in range(times):
            getattr(pipeline, method)(*arguments)
        return pipeline.execute(return_exceptions=True)


KINDS = {"blocking": Blocking, "asyncio": Looped}
