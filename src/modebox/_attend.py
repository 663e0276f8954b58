"""Drives a run from an asyncio event loop: tasks for awaitables, an executor for long computing, one timer.

This is the only module that imports asyncio; it is imported when a run first needs an event loop.
"""

from __future__ import annotations

import asyncio
import sys
from contextlib import suppress
from time import monotonic_ns
from types import CoroutineType

from modebox._drive import BREATHE, STEP, WAIT
from modebox._workers import port_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Coroutine, Iterator
    from contextvars import Context
    from typing import Any

    from modebox._drive import Drive

    _Serving = Coroutine[Any, Any, None]

_LEAST_S = 0.001  # of a timer
_GRACE_S = 0.01  # for cancelled host functions to clean up before the run is over


async def attend(drive: Drive, steps: Iterator[str], stragglers: set[asyncio.Task[None]]) -> None:
    """Drives to the end.

    Host functions that go on after they were cancelled are added to stragglers, and taken out at their end.
    """
    attendant = _Attendant(drive)
    try:
        for request in steps:
            if request is WAIT:
                await attendant.wait()
            elif request is STEP:
                await attendant.step()
            elif request is BREATHE:
                await asyncio.sleep(0)
    finally:
        await attendant.leave(stragglers)


class _Attendant:
    __slots__ = ("_drive", "_loop", "_tasks", "_timer", "_waiter")

    def __init__(self, drive: Drive) -> None:
        self._drive = drive
        self._loop = asyncio.get_running_loop()
        self._tasks: dict[int, tuple[asyncio.Task[None], Awaitable[object]]] = {}
        self._waiter: asyncio.Future[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        drive.spawn = self._spawn
        drive.on_stop = self._wake_from_anywhere

    # ---- host calls

    def _spawn(self, call_id: int, index: int, awaitable: Awaitable[object], context: Context) -> None:
        """Awaits in a task; where tasks are eager (3.12), what does not suspend is over when this returns."""
        task = _new_task(self._serve(call_id, index, awaitable), self._loop, context)
        if not task.done():
            self._tasks[call_id] = task, awaitable

    async def _serve(self, call_id: int, index: int, awaitable: Awaitable[object]) -> None:
        try:
            value = await awaitable
        except (Exception, asyncio.CancelledError) as error:
            self._drive.answer(call_id, index, None, error)
        except BaseException as error:  # leaves run(), and the loop
            self._drive.answer(call_id, index, None, error)
            raise
        else:
            self._drive.answer(call_id, index, value, None)
        finally:
            if self._tasks.pop(call_id, None) is not None:
                self._wake()

    # ---- waiting

    async def wait(self) -> None:
        """Until a call was answered, a step is over, the deadline has passed, or the drive was stopped."""
        if self._timer is None:
            left_ns = self._drive.deadline_ns - monotonic_ns()
            self._timer = self._loop.call_later(max(left_ns / 1e9, _LEAST_S), self._ring)
        self._waiter = self._loop.create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None

    def _ring(self) -> None:
        self._timer = None
        self._wake()

    def _wake(self, _: object = None) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _wake_from_anywhere(self) -> None:
        with suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(self._wake)

    async def step(self) -> None:
        """Computes on the core's workers."""
        drive, port = self._drive, port_of(self._loop)
        through = drive.submit(port)
        through.add_done_callback(self._wake)
        try:
            while not through.done() and not self._is_overdue():
                await self.wait()
        finally:
            drive.withdraw(port)
        if not drive.is_over and self._is_overdue():
            drive.time_out()  # no worker came to it

    def _is_overdue(self) -> bool:
        return monotonic_ns() >= self._drive.deadline_ns

    # ---- the end

    async def leave(self, stragglers: set[asyncio.Task[None]]) -> None:
        """Cancels what still runs, and waits for it a little."""
        self._drive.on_stop = None
        if self._timer is not None:
            self._timer.cancel()
        if not self._tasks:
            return
        running = list(self._tasks.values())
        for task, _ in running:
            task.cancel()
        try:
            await asyncio.wait([task for task, _ in running], timeout=_GRACE_S)
        finally:
            for task, awaitable in running:
                if not task.done():
                    stragglers.add(task)
                    task.add_done_callback(stragglers.discard)
                elif isinstance(awaitable, CoroutineType):
                    awaitable.close()  # cancelled before it began


if sys.version_info >= (3, 12):

    def _new_task(
        coroutine: _Serving, loop: asyncio.AbstractEventLoop, context: Context
    ) -> asyncio.Task[None]:
        return asyncio.Task(coroutine, loop=loop, context=context, eager_start=True)

elif sys.version_info >= (3, 11):

    def _new_task(
        coroutine: _Serving, loop: asyncio.AbstractEventLoop, context: Context
    ) -> asyncio.Task[None]:
        return asyncio.Task(coroutine, loop=loop, context=context)

else:

    def _new_task(
        coroutine: _Serving, loop: asyncio.AbstractEventLoop, context: Context
    ) -> asyncio.Task[None]:
        return context.run(loop.create_task, coroutine)
