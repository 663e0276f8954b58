"""Drives a run from an asyncio event loop: tasks for awaitables, an executor for long computing, one timer.

This is the only module that imports asyncio; it is imported when a run first needs an event loop.
"""

from __future__ import annotations

import asyncio
import sys
from time import monotonic_ns

from modebox import _core
from modebox._drive import AWAIT, BREATHE, STEP, WAIT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Coroutine, Iterator
    from contextvars import Context
    from typing import Any

    from modebox._drive import Drive

_SLICE_NS = 10_000_000
_GRACE_S = 0.01  # for cancelled host functions to clean up before the run is over


async def attend(drive: Drive, steps: Iterator[str], stragglers: set[asyncio.Task[None]]) -> None:
    """Drives to the end.

    Host functions that go on after they were cancelled are added to stragglers, and taken out when they are over.
    """
    attendant = _Attendant(drive)
    try:
        for request in steps:
            if request is AWAIT and drive.started is not None:
                attendant.start(*drive.started)
            elif request is WAIT:
                await attendant.wait()
            elif request is STEP:
                await attendant.step()
            elif request is BREATHE:
                await asyncio.sleep(0)
    finally:
        await attendant.leave(stragglers)


class _Attendant:
    __slots__ = ("_drive", "_loop", "_tasks", "_timer", "_unstarted", "_waiter")

    def __init__(self, drive: Drive) -> None:
        self._drive = drive
        self._loop = asyncio.get_running_loop()
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._unstarted: dict[int, Awaitable[object]] = {}
        self._waiter: asyncio.Future[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        drive.breathes = True
        drive.on_stop = self._wake_from_anywhere

    # ---- host calls

    def start(self, call_id: int, index: int, awaitable: Awaitable[object], context: Context) -> None:
        """Awaits in a task of its own; with eager tasks (3.12) what does not suspend is over when this returns."""
        self._unstarted[call_id] = awaitable
        task = _new_task(self._answer(call_id, index, awaitable), self._loop, context)
        if not task.done():
            self._tasks[call_id] = task

    async def _answer(self, call_id: int, index: int, awaitable: Awaitable[object]) -> None:
        del self._unstarted[call_id]
        try:
            value = await awaitable
        except BaseException as error:
            self._drive.fail(call_id, index, error)
            if not isinstance(error, (Exception, asyncio.CancelledError)):
                raise
        else:
            self._drive.deliver(call_id, index, value)
        finally:
            self._tasks.pop(call_id, None)
            self._wake()

    # ---- waiting

    async def wait(self) -> None:
        """Until something was delivered, a step is over, the deadline has passed, or the drive was stopped."""
        if self._timer is None:
            left_s = max(0, self._drive.deadline_ns - monotonic_ns()) / 1e9
            self._timer = self._loop.call_later(left_s, self._ring)
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
        try:
            self._loop.call_soon_threadsafe(self._wake)
        except RuntimeError:  # the loop is closed
            pass

    async def step(self) -> None:
        """Computes on a thread of the loop's executor."""
        future = self._loop.run_in_executor(None, self._drive.step, _SLICE_NS)
        future.add_done_callback(self._wake)
        while not future.done():
            await self.wait()
            if not future.done() and self._overdue() and self._step_here():
                return
        future.result()

    def _overdue(self) -> bool:
        return monotonic_ns() >= self._drive.deadline_ns

    def _step_here(self) -> bool:
        """Ends a run whose time passed while it waited for a thread. False: a thread has it."""
        try:
            self._drive.step(1)
        except _core.Busy:
            return False
        return True

    # ---- the end

    async def leave(self, stragglers: set[asyncio.Task[None]]) -> None:
        """Cancels what still runs, and waits for it a little."""
        self._drive.on_stop = None
        if self._timer is not None:
            self._timer.cancel()
        if not self._tasks:
            return
        tasks = set(self._tasks.values())
        for task in tasks:
            task.cancel()
        for awaitable in self._unstarted.values():
            _drop(awaitable)
        try:
            await asyncio.wait(tasks, timeout=_GRACE_S)
        finally:
            for task in tasks:
                if not task.done():
                    stragglers.add(task)
                    task.add_done_callback(stragglers.discard)


def _new_task(coroutine: Coroutine[Any, Any, None], loop: asyncio.AbstractEventLoop, context: Context) -> asyncio.Task[None]:
    if sys.version_info >= (3, 12):
        return asyncio.Task(coroutine, loop=loop, context=context, eager_start=True)
    if sys.version_info >= (3, 11):
        return asyncio.Task(coroutine, loop=loop, context=context)
    return context.run(_task_in_context, coroutine, loop)


def _task_in_context(coroutine: Coroutine[Any, Any, None], loop: asyncio.AbstractEventLoop) -> asyncio.Task[None]:
    return asyncio.Task(coroutine, loop=loop)


def _drop(awaitable: Awaitable[object]) -> None:
    """What was cancelled before it began: its task never came to awaiting it."""
    if asyncio.iscoroutine(awaitable):
        awaitable.close()
    elif asyncio.isfuture(awaitable):
        awaitable.cancel()
