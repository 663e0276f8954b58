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
