"""One module for each interface that the bench drives.

Each has LANGUAGE, the language of its programs, and open_sync and open_async, context managers that give a
function which runs one program in a fresh state: run(source, functions) -> value. It can be imported only
in the peer's own environment.
"""

from __future__ import annotations

import importlib
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from typing import Any, Protocol, cast

Functions = Mapping[str, Callable[..., Any]]
Run = Callable[[str, Functions], object]
AsyncRun = Callable[[str, Functions], Awaitable[object]]


class Adapter(Protocol):
    """What each module here provides."""

    LANGUAGE: str

    def open_sync(self) -> AbstractContextManager[Run]: ...

    def open_async(self) -> AbstractAsyncContextManager[AsyncRun]: ...

    def run_until(self, source: str, timeout_ms: int) -> None:
        """Runs an endless program to its limit; only for adapters with ``stop`` rows."""


def load(name: str) -> Adapter:
    """The adapter of that name."""
    return cast(Adapter, importlib.import_module(f"bench.adapters.{name}"))
