"""Runner: checks what the caller gave, and drives runs to their end."""

from __future__ import annotations

import sys
from os import sysconf

from modebox import _core, _outcome
from modebox._context import is_in_host_function
from modebox._drive import LOOP, STEP, Drive
from modebox._limits import Budget, limits_of
from modebox._options import Program, budget_of
from modebox._queue import Queue

TYPE_CHECKING = False
if TYPE_CHECKING:
    import asyncio
    from collections.abc import Iterator, Mapping
    from datetime import datetime
    from types import TracebackType
    from typing import Any

    from modebox._functions import HostFunctions
    from modebox._limits import Limits
    from modebox._options import Mode, OnCall, OnLog
    from modebox._results import RunResult

_LOOP_SLICE_NS = 200_000  # an event loop's thread computes no longer than this in one go,
_LEAST_LOOP_SLICE_NS = 20_000  # and less, the more runs are computing already
_SYNC_SLICE_NS = 10_000_000  # between two looks for signals


_MEMORY_PER_RUN = 4 * 1024 * 1024  # few runs come near to their limit at the same time
_LEAST_INSTANCES = 64


class Runner:
    """Runs programs. Runs may overlap, from any threads and event loops.

    A context manager, sync and async: leaving it closes the Runner.
    """

    def __init__(
        self,
        *,
        limits: Limits | Mapping[str, int | None] | None = None,
        max_instances: int | None = None,
        metering: bool | None = None,
        cache_dir: object = None,
    ) -> None:
        """
        Args:
            limits: Limits of every run, where the run gives none of its own.
            max_instances: How many runs at once; more wait for their turn, in order, and that wait does not
                count in `timeout_ms`. By default one for each 4 MiB of the machine's memory, at least 64. A
                run inside a host function does not wait, nor does `run_sync` in a thread whose event loop is
                running: they would hold up the runs that they wait for.
            metering, cache_dir: Change nothing: fuel is always metered, and nothing is compiled.

        Raises:
            TypeError, ValueError: An unknown limit, one that is no int, or one below its least; max_instances
                is no int of at least 1.
        """
        self._budget = Budget(limits_of(limits))
        self._queue = Queue(_check_max_instances(max_instances))
        self._active: set[Drive] = set()
        self._stragglers: set[asyncio.Task[Any]] = set()
        self._closed = False

    async def run(
        self,
        source: str | None = None,
        *,
        host_functions: HostFunctions | None = None,
        limits: Limits | Mapping[str, int | None] | None = None,
        seed: bytes | str | None = None,
        virtual_time: bool | float | datetime | None = None,
        mode: Mode | None = None,
        filename: str | None = None,
        on_log: OnLog | None = None,
        on_call: OnCall | None = None,
        throw_on_error: bool = True,
    ) -> RunResult:
        """Runs a program.

        Host functions run on the caller's event loop, in copies of the caller's context. Cancelling the task
        that awaits this ends the program and cancels its host functions.

        Args:
            source: JavaScript, at most 16 MiB of UTF-8.
            host_functions: What the program may call: names to callables, plain or async; nested mappings are
                namespaces, so `{"bank": {"pay": pay}}` is `bank.pay(...)`. Keyword-only parameters are read
                from a trailing plain object: `def send(to, *, cc=None)` is `send(to, {cc: ...})`.
            limits: Limits of this run; fields that are not given are the Runner's.
            seed: 32 bytes, or 64 hexadecimal digits: makes Math.random reproducible. Random by default.
            virtual_time: What the program's clock shows at first: milliseconds since 1970, a datetime (a
                naive one is UTC), or True for the real time. Host calls then take no time on that clock. By
                default, and with False, it starts at the real time and follows it. With the same source,
                seed, virtual_time and results of host functions, value, logs and fuel are the same
                everywhere.
            mode: "script": a script with top-level await, whose value is that of its last statement;
                "function": the body of an async function; "auto", the default: a script unless a top-level
                `return` makes it a function.
            filename: Shown in stacks; "agent.ts".
            on_log: Called with each log entry while the run goes on, in order; the result has them too.
            on_call: Called with the function's name and the call's id before each host call.
                An exception from on_log or on_call ends the run and is raised.
            throw_on_error: False gives a failed result instead of raising.

        Raises:
            RunError: The program failed; see `RunError.kind`.
            TypeError, ValueError: An argument is wrong; nothing was run.
            RuntimeError: The Runner is closed.
        """
        program = Program(
            source,
            host_functions,
            budget_of(limits, self._budget),
            seed,
            virtual_time,
            mode,
            filename,
            on_log,
            on_call,
        )
        result = self._refuse(program)
        if result is None:
            is_queued = not is_in_host_function()
            if is_queued and not self._queue.enter() and not await self._wait_for_turn():
                result = _outcome.refuse_queued()
            else:
                try:
                    result = await self._run(program)
                finally:
                    if is_queued:
                        self._queue.leave()
        if throw_on_error and result.error is not None:
            raise result.error
        return result

    def run_sync(
        self,
        source: str | None = None,
        *,
        host_functions: HostFunctions | None = None,
        limits: Limits | Mapping[str, int | None] | None = None,
        seed: bytes | str | None = None,
        virtual_time: bool | float | datetime | None = None,
        mode: Mode | None = None,
        filename: str | None = None,
        on_log: OnLog | None = None,
        on_call: OnCall | None = None,
        throw_on_error: bool = True,
    ) -> RunResult:
        """Runs a program and waits for it.

        With plain host functions there is no event loop, and this works inside a running one; awaitables are
        awaited in an event loop of their own.

        Args:
            source, host_functions, limits, seed, virtual_time, mode, filename, on_log, on_call,
                throw_on_error: As of `run`.

        Raises:
            RunError: The program failed; see `RunError.kind`.
            TypeError, ValueError: An argument is wrong; nothing was run.
            RuntimeError: The Runner is closed; a host function is async and this thread runs an event loop.
        """
        program = Program(
            source,
            host_functions,
            budget_of(limits, self._budget),
            seed,
            virtual_time,
            mode,
            filename,
            on_log,
            on_call,
        )
        result = self._refuse(program)
        if result is None:
            is_async = program.functions.has_coroutine_function()
            if is_async:
                _check_no_running_loop()
            is_queued = not is_in_host_function() and not _has_running_loop()
            if is_queued and not self._queue.enter() and not self._queue.wait():
                result = _outcome.refuse_queued()
            else:
                try:
                    result = self._run_sync(program, is_async)
                finally:
                    if is_queued:
                        self._queue.leave()
        if throw_on_error and result.error is not None:
            raise result.error
        return result

    def close(self) -> None:
        """Ends active and waiting runs with kind `Aborted`; later ones raise RuntimeError. Any thread."""
        self._closed = True
        self._queue.close()
        for drive in list(self._active):
            drive.stop()

    def __enter__(self) -> Runner:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> Runner:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Also waits for host functions that go on although they were cancelled."""
        self.close()
        if self._stragglers:
            import asyncio

            loop = asyncio.get_running_loop()
            tasks = [task for task in self._stragglers if task.get_loop() is loop]
            if tasks:
                await asyncio.wait(tasks)

    # ---- one run

    def _refuse(self, program: Program) -> RunResult | None:
        if self._closed:
            raise RuntimeError("this Runner is closed")
        return _outcome.refuse_source(program.source)

    async def _wait_for_turn(self) -> bool:
        from modebox._attend import wait_for_turn

        return await wait_for_turn(self._queue)

    async def _run(self, program: Program) -> RunResult:
        drive = self._begin(program, _loop_slice_ns())
        try:
            if not drive.is_over:
                await self._attend(drive, drive.steps())
            return drive.result()
        finally:
            self._end(drive)

    def _run_sync(self, program: Program, is_async: bool) -> RunResult:
        drive = self._begin(program, _SYNC_SLICE_NS)
        try:
            if not drive.is_over:
                self._drive_sync(drive, is_async)
            return drive.result()
        finally:
            self._end(drive)

    def _begin(self, program: Program, slice_ns: int) -> Drive:
        drive = Drive(program, slice_ns)
        self._active.add(drive)
        if self._closed:
            drive.stop()
        return drive

    def _end(self, drive: Drive) -> None:
        self._active.discard(drive)
        drive.end()

    def _drive_sync(self, drive: Drive, is_async: bool) -> None:
        steps = drive.steps()
        if is_async:
            return self._attend_in_new_loop(drive, steps)
        for request in steps:
            if request is STEP:
                drive.step(_SYNC_SLICE_NS)
            elif request is LOOP:
                return self._attend_in_new_loop(drive, steps)

    def _attend_in_new_loop(self, drive: Drive, steps: Iterator[str]) -> None:
        import asyncio

        _check_no_running_loop()
        try:
            asyncio.run(self._attend(drive, steps))
        except asyncio.CancelledError:  # by Ctrl-C, before asyncio counted on it
            raise KeyboardInterrupt from None

    async def _attend(self, drive: Drive, steps: Iterator[str]) -> None:
        from modebox._attend import attend

        await attend(drive, steps, self._stragglers)


def _loop_slice_ns() -> int:
    return max(_LEAST_LOOP_SLICE_NS, _LOOP_SLICE_NS // (1 + _core.runs_under_way()))


def _check_max_instances(given: object) -> int:
    if given is None:
        memory = sysconf("SC_PHYS_PAGES") * sysconf("SC_PAGE_SIZE")
        return max(_LEAST_INSTANCES, memory // _MEMORY_PER_RUN)
    if not isinstance(given, int) or isinstance(given, bool):
        raise TypeError(f"max_instances must be an int of at least 1, or None, not {type(given).__name__}")
    if given < 1:
        raise ValueError(f"max_instances must be at least 1, not {given}")
    return given


def _has_running_loop() -> bool:
    asyncio = sys.modules.get("asyncio")
    return asyncio is not None and asyncio._get_running_loop() is not None


def _check_no_running_loop() -> None:
    if _has_running_loop():
        raise RuntimeError(
            "an event loop is running and a host function is async: await run(...) instead of run_sync(...)"
        )
