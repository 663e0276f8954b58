"""One module for each interface that the bench drives.

Each has LANGUAGE, the language of its programs, and open_sync and open_async, context managers that give a
function which runs one program in a fresh state: run(source, functions) -> value. ending says how a run that
raised ended. A module can be imported only in the peer's own environment.
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

    def open_sync(self, timeout_ms: int) -> AbstractContextManager[Run]:
        """Each run has that limit of time."""

    def open_async(
        self, timeout_ms: int, at_once: int | None = None
    ) -> AbstractAsyncContextManager[AsyncRun]:
        """So many runs must be able to go on at once; None leaves that to the interface's defaults."""

    def ending(self, error: Exception) -> str | None:
        """``timeout``, ``stack`` or ``throw``; None for all else."""


def load(name: str) -> Adapter:
    """The adapter of that name."""
    return cast(Adapter, importlib.import_module(f"bench.adapters.{name}"))
