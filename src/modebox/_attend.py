"""Drives a run from an asyncio event loop: tasks for awaitables, an executor for long computing, one timer.

This and `_workers` are the only modules that import asyncio, and are imported when a run first needs a loop.
"""

from __future__ import annotations

import asyncio
import sys
from contextlib import suppress
from functools import partial
from inspect import CORO_CREATED, getcoroutinestate
from logging import getLogger
from time import monotonic_ns
from types import CoroutineType

from modebox import _queue
from modebox._callables import code_of
from modebox._context import serve_in
from modebox._drive import BREATHE, STEP, WAIT
from modebox._workers import port_of, settle

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Iterator
    from contextvars import Context
    from typing import Any

    from modebox._drive import Drive

_LEAST_S = 0.001  # of a timer
_LISTEN_S = 0.02  # between two looks for log entries, where somebody listens
_GRACE_S = 0.01  # for cancelled host functions to clean up before the run is over


async def wait_for_turn(queue: _queue.Queue) -> bool:
    """Lines up; whether the run was admitted, or else the queue was closed."""
    loop = asyncio.get_running_loop()
    settled = loop.create_future()
    ticket = queue.line_up(partial(_call_in, loop, settle, settled))
    try:
        if ticket.state == _queue.WAITING:
            await settled
    except BaseException:
        queue.give_up(ticket)
        raise
    return ticket.state == _queue.ADMITTED


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
    __slots__ = ("_answer", "_drive", "_loop", "_tasks", "_timer", "_waiter")

    def __init__(self, drive: Drive) -> None:
        self._drive = drive
        self._answer = drive.answer
        self._loop = asyncio.get_running_loop()
        self._tasks: dict[int, tuple[asyncio.Task[None], Awaitable[object]]] = {}
        self._waiter: asyncio.Future[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        drive.spawn = self._spawn
        drive.on_stop = self._wake_from_anywhere

    # ---- host calls

    def _spawn(self, call: tuple[int, str], awaitable: Awaitable[object], context: Context) -> None:
        """Awaits in a task; where tasks are eager (3.12), what does not suspend is over when this returns."""
        task = _new_task(self._serve(call, awaitable), self._loop, context)
        if not task.done():
            self._tasks[call[0]] = task, awaitable

    async def _serve(self, call: tuple[int, str], awaitable: Awaitable[object]) -> None:
        serve_in((call,))
        try:
            value = await awaitable
        except BaseException as error:  # what has to leave run() is raised there, by the drive
            self._answer(call[0], None, error)
        else:
            self._answer(call[0], value, None)
        finally:
            if self._tasks.pop(call[0], None) is not None:
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
        if self._waiter is not None:
            settle(self._waiter)

    def _wake_from_anywhere(self) -> None:
        _call_in(self._loop, self._wake)

    async def step(self) -> None:
        """Computes on the core's workers."""
        drive, port = self._drive, port_of(self._loop)
        through = drive.submit(port)
        through.add_done_callback(self._wake)
        listening = self._loop.call_later(_LISTEN_S, settle, through) if drive.is_heard else None
        try:
            while not through.done() and not self._is_overdue():
                await self.wait()
        finally:
            drive.withdraw(port)
            if listening is not None:
                listening.cancel()
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
        running, self._tasks = self._tasks, {}
        self._answer = _ignore_answer
        for task, _ in running.values():
            task.cancel()
        try:
            await asyncio.wait([task for task, _ in running.values()], timeout=_GRACE_S)
        finally:
            for call_id, (task, awaitable) in running.items():
                if not task.done():
                    self._leave_behind(call_id, task, stragglers)
                elif isinstance(awaitable, CoroutineType):
                    self._close(call_id, awaitable)

    def _close(self, call_id: int, coroutine: CoroutineType[Any, Any, Any]) -> None:
        """Of a task that is over: the coroutine is too, unless it was cancelled before it began."""
        if getcoroutinestate(coroutine) != CORO_CREATED:
            return
        if coroutine.cr_code is code_of(self._drive.function_of(call_id)):
            self._drive.leave_untouched(call_id)
        coroutine.close()

    def _leave_behind(
        self, call_id: int, task: asyncio.Task[None], stragglers: set[asyncio.Task[None]]
    ) -> None:
        stragglers.add(task)
        task.add_done_callback(stragglers.discard)
        name = self._drive.name_of(call_id)
        getLogger("modebox").warning("host function %s goes on although its call was cancelled", name)


def _ignore_answer(call_id: int, value: object, error: BaseException | None) -> None:
    """The run is over: but KeyboardInterrupt and SystemExit are for everybody."""
    if error is not None and not isinstance(error, (Exception, asyncio.CancelledError)):
        raise error


def _call_in(loop: asyncio.AbstractEventLoop, function: Callable[..., object], *arguments: object) -> None:
    """From any thread."""
    with suppress(RuntimeError):  # the loop is closed
        loop.call_soon_threadsafe(function, *arguments)


if sys.version_info >= (3, 12):

    def _new_task(
        coroutine: Coroutine[Any, Any, None], loop: asyncio.AbstractEventLoop, context: Context
    ) -> asyncio.Task[None]:
        return asyncio.Task(coroutine, loop=loop, context=context, eager_start=True)

elif sys.version_info >= (3, 11):

    def _new_task(
        coroutine: Coroutine[Any, Any, None], loop: asyncio.AbstractEventLoop, context: Context
    ) -> asyncio.Task[None]:
        return asyncio.Task(coroutine, loop=loop, context=context)

else:

    def _new_task(
        coroutine: Coroutine[Any, Any, None], loop: asyncio.AbstractEventLoop, context: Context
    ) -> asyncio.Task[None]:
        return context.run(loop.create_task, coroutine)
