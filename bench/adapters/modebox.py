"""modebox, this version and the earlier one: the same interface."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

import modebox

from . import AsyncRun, Functions, Run

LANGUAGE = "js"


@contextmanager
def open_sync() -> Iterator[Run]:
    def run(source: str, functions: Functions) -> object:
        return modebox.run_sync(source, host_functions=functions).value

    yield run


@asynccontextmanager
async def open_async() -> AsyncIterator[AsyncRun]:
    async def run(source: str, functions: Functions) -> object:
        return (await modebox.run(source, host_functions=functions)).value

    yield run


def run_until(source: str, timeout_ms: int) -> None:
    result = modebox.run_sync(source, limits={"timeout_ms": timeout_ms}, throw_on_error=False)
    if result.error is None or result.error.kind != "Timeout":
        raise ValueError(f"not stopped: {result}")
