"""An event loop's side of the core's workers: hands runs over, and hears when they are through."""

from __future__ import annotations

import asyncio
import atexit
from contextlib import suppress
from weakref import WeakKeyDictionary

from modebox import _core


class Port:
    """Where the runs of one event loop come back."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.completions = _core.Completions()
        self._loop = loop
        self._expected: dict[_core.Run, asyncio.Future[None]] = {}
        loop.add_reader(self.completions.fileno(), self._take)

    def submit(self, run: _core.Run) -> asyncio.Future[None]:
        """Hands a run over. The future is done when the run waits, or has ended."""
        through = self._loop.create_future()
        run.submit(self.completions)
        self._expected[run] = through
        return through

    def withdraw(self, run: _core.Run) -> None:
        """Takes a run back, wherever it is; waits for a slice that is under way."""
        self._expected.pop(run, None)
        run.withdraw()

    def _take(self) -> None:
        for run in self.completions.take():
            through = self._expected.pop(run, None)
            if through is not None:
                settle(through)


def settle(future: asyncio.Future[None]) -> None:
    """Sets the result, unless there is one."""
    with suppress(asyncio.InvalidStateError):  # also where a signal handler cancelled it just now
        future.set_result(None)


_ports: WeakKeyDictionary[asyncio.AbstractEventLoop, Port] = WeakKeyDictionary()


def port_of(loop: asyncio.AbstractEventLoop) -> Port:
    """The loop's port; made when it is first asked for."""
    port = _ports.get(loop)
    if port is None:
        port = _ports[loop] = Port(loop)
    return port


atexit.register(_core.stop_workers)
