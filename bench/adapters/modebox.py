"""modebox, this version and the earlier one: the same interface."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import cache
from inspect import signature
from typing import Any

import modebox

from . import AsyncRun, Functions, Run

LANGUAGE = "js"
ENDINGS = {"Timeout": "timeout", "StackOverflow": "stack", "Uncaught": "throw"}

# As many runs at once as the largest row has.
OPTIONS: dict[str, Any] = (
    {"max_instances": 1000} if "max_instances" in signature(modebox.Runner).parameters else {}
)


@cache
def runner_of(timeout_ms: int) -> modebox.Runner:
    return modebox.Runner(limits={"timeout_ms": timeout_ms}, **OPTIONS)


@contextmanager
def open_sync(timeout_ms: int) -> Iterator[Run]:
    runner = runner_of(timeout_ms)

    def run(source: str, functions: Functions) -> object:
        return runner.run_sync(source, host_functions=functions).value

    yield run


@asynccontextmanager
async def open_async(timeout_ms: int, at_once: int | None = None) -> AsyncIterator[AsyncRun]:
    runner = runner_of(timeout_ms)

    async def run(source: str, functions: Functions) -> object:
        return (await runner.run(source, host_functions=functions)).value

    yield run


def ending(error: Exception) -> str | None:
    return ENDINGS.get(error.kind) if isinstance(error, modebox.RunError) else None
