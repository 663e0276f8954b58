"""quickjs-rs: each run is a context of its own. Its plain eval knows no top-level await."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

from quickjs_rs import Runtime

from . import AsyncRun, Functions, Run

LANGUAGE = "js"
TIMEOUT_SECONDS = 60.0


@contextmanager
def open_sync() -> Iterator[Run]:
    with Runtime() as runtime:

        def run(source: str, functions: Functions) -> object:
            with runtime.new_context(timeout=TIMEOUT_SECONDS) as context:
                for name, function in functions.items():
                    context.register(name, function)
                return context.eval(source)

        yield run


@asynccontextmanager
async def open_async() -> AsyncIterator[AsyncRun]:
    with Runtime() as runtime:

        async def run(source: str, functions: Functions) -> object:
            with runtime.new_context(timeout=TIMEOUT_SECONDS) as context:
                for name, function in functions.items():
                    context.register(name, function)
                return await context.eval_async(source)

        yield run
