"""pydantic-monty: programs in a subset of Python, in worker processes; each run is a session of its own.

It has no limits by default, so it gets those that modebox has.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

from pydantic_monty import AsyncMonty, Monty, MontyRuntimeError, ResourceLimits

from . import AsyncRun, Functions, Run

LANGUAGE = "monty"
ENDINGS = {TimeoutError: "timeout", RecursionError: "stack", ValueError: "throw"}


def limits_of(timeout_ms: int) -> ResourceLimits:
    return {"max_memory": 64 << 20, "max_feed_duration_secs": timeout_ms / 1e3, "max_suspensions": 2000}


@contextmanager
def open_sync(timeout_ms: int) -> Iterator[Run]:
    limits = limits_of(timeout_ms)
    with Monty() as pool:

        def run(source: str, functions: Functions) -> object:
            with pool.checkout(limits=limits) as session:
                return session.feed_run(source, external_lookup=dict(functions))

        yield run


@asynccontextmanager
async def open_async(timeout_ms: int, at_once: int | None = None) -> AsyncIterator[AsyncRun]:
    limits = limits_of(timeout_ms)
    async with AsyncMonty(max_processes=at_once) as pool:

        async def run(source: str, functions: Functions) -> object:
            async with pool.checkout(limits=limits) as session:
                return await session.feed_run(source, external_lookup=dict(functions))

        yield run


def ending(error: Exception) -> str | None:
    return ENDINGS.get(type(error.exception())) if isinstance(error, MontyRuntimeError) else None
