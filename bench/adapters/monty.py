"""pydantic-monty: programs in a subset of Python, in worker processes; each run is a session of its own.

It has no limits by default, so it gets those that modebox has.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

from pydantic_monty import AsyncMonty, Monty, ResourceLimits

from . import AsyncRun, Functions, Run

LANGUAGE = "monty"
LIMITS: ResourceLimits = {"max_memory": 64 << 20, "max_feed_duration_secs": 30.0, "max_suspensions": 2000}


@contextmanager
def open_sync() -> Iterator[Run]:
    with Monty() as pool:

        def run(source: str, functions: Functions) -> object:
            with pool.checkout(limits=LIMITS) as session:
                return session.feed_run(source, external_lookup=dict(functions))

        yield run


@asynccontextmanager
async def open_async() -> AsyncIterator[AsyncRun]:
    async with AsyncMonty() as pool:

        async def run(source: str, functions: Functions) -> object:
            async with pool.checkout(limits=LIMITS) as session:
                return await session.feed_run(source, external_lookup=dict(functions))

        yield run
