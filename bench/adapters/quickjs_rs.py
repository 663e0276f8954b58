"""quickjs-rs: each run is a context of its own. Its plain eval knows no top-level await."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

from quickjs_rs import JSError, Runtime, TimeoutError

from . import AsyncRun, Functions, Run

LANGUAGE = "js"


@contextmanager
def open_sync(timeout_ms: int) -> Iterator[Run]:
    with Runtime() as runtime:

        def run(source: str, functions: Functions) -> object:
            with runtime.new_context(timeout=timeout_ms / 1e3) as context:
                for name, function in functions.items():
                    context.register(name, function)
                return context.eval(source)

        yield run


@asynccontextmanager
async def open_async(timeout_ms: int, at_once: int | None = None) -> AsyncIterator[AsyncRun]:
    with Runtime() as runtime:

        async def run(source: str, functions: Functions) -> object:
            with runtime.new_context(timeout=timeout_ms / 1e3) as context:
                for name, function in functions.items():
                    context.register(name, function)
                return await context.eval_async(source)

        yield run


def ending(error: Exception) -> str | None:
    if isinstance(error, TimeoutError):
        return "timeout"
    if not isinstance(error, JSError):
        return None
    return "stack" if "stack" in error.message else "throw"
