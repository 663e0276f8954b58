"""Runner: checks what the caller gave, and drives runs to their end."""

from __future__ import annotations

import sys
from os import urandom

from modebox import _core, _outcome
from modebox._drive import LOOP, STEP, Drive
from modebox._functions import NO_FUNCTIONS, FunctionTable
from modebox._limits import Budget, limits_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    import asyncio
    from collections.abc import Iterator, Mapping
    from types import TracebackType
    from typing import Literal

    from modebox._functions import HostFunctions
    from modebox._limits import Limits
    from modebox._results import RunResult

    Mode = Literal["auto", "script", "function"]

_MODES = {"auto": 0, "script": 1, "function": 2}  # guest_mode in guest/abi.h
_FILENAME = "agent.ts"
_SEED_SIZE = 32
_LOOP_SLICE_NS = 200_000  # an event loop's thread computes no longer than this in one go,
_LEAST_LOOP_SLICE_NS = 20_000  # and less, the more runs are computing already
_SYNC_SLICE_NS = 10_000_000  # between two looks for signals


class Runner:
    """Runs programs. Runs may overlap, from any threads and event loops.

    A context manager, sync and async: leaving it closes the Runner.
    """

    def __init__(self, *, limits: Limits | Mapping[str, int | None] | None = None) -> None:
        """
        Args:
            limits: Limits of every run, where the run gives none of its own.

        Raises:
            TypeError, ValueError: An unknown limit, one that is no int, or one below its least.
        """
        self._limits = limits_of(limits)
        self._budget = Budget(self._limits)
        self._active: set[Drive] = set()
        self._stragglers: set[asyncio.Task[None]] = set()
        self._closed = False

    async def run(
        self,
        source: str,
        *,
        host_functions: HostFunctions | None = None,
        limits: Limits | Mapping[str, int | None] | None = None,
        mode: Mode | None = None,
        filename: str | None = None,
        seed: bytes | str | None = None,
        throw_on_error: bool = True,
    ) -> RunResult:
        """Runs a program.

        Host functions run on the caller's event loop, in copies of the caller's context. Cancelling the task
        that awaits this ends the program and cancels its host functions.

        Args:
            source: JavaScript, at most 16 MiB of UTF-8.
            host_functions: What the program may call: names to callables, plain or async; nested mappings are
                namespaces, so `{"bank": {"pay": pay}}` is `bank.pay(...)`.
            limits: Limits of this run; fields that are not given are the Runner's.
            mode: "script": a script with top-level await, whose value is that of its last statement;
                "function": the body of an async function; "auto", the default: a script unless a top-level
                `return` makes it a function.
            filename: Shown in stacks; "agent.ts".
            seed: 32 bytes, or 64 hexadecimal digits: makes Math.random reproducible. Random by default.
            throw_on_error: False gives a failed result instead of raising.

        Raises:
            RunError: The program failed; see `RunError.kind`.
            TypeError, ValueError: An argument is wrong; nothing was run.
            RuntimeError: The Runner is closed.
        """
        result = _outcome.refuse_source(_check_source(source))
        if result is None:
            functions = FunctionTable(host_functions) if host_functions is not None else NO_FUNCTIONS
            drive = self._begin(source, filename, functions, limits, mode, seed, _loop_slice_ns())
            try:
                if not drive.is_over:
                    await self._attend(drive, drive.steps())
                result = drive.result()
            finally:
                self._end(drive)
        if throw_on_error and result.error is not None:
            raise result.error
        return result

    def run_sync(
        self,
        source: str,
        *,
        host_functions: HostFunctions | None = None,
        limits: Limits | Mapping[str, int | None] | None = None,
        mode: Mode | None = None,
        filename: str | None = None,
        seed: bytes | str | None = None,
        throw_on_error: bool = True,
    ) -> RunResult:
        """Runs a program and waits for it.

        With plain host functions there is no event loop, and this works inside a running one; awaitables are
        awaited in an event loop of their own.

        Args:
            source, host_functions, limits, mode, filename, seed, throw_on_error: As of `run`.

        Raises:
            RunError: The program failed; see `RunError.kind`.
            TypeError, ValueError: An argument is wrong; nothing was run.
            RuntimeError: The Runner is closed; a host function is async and this thread runs an event loop.
        """
        result = _outcome.refuse_source(_check_source(source))
        if result is None:
            functions = FunctionTable(host_functions) if host_functions is not None else NO_FUNCTIONS
            is_async = functions.has_coroutine_function()
            if is_async:
                _check_no_running_loop()
            drive = self._begin(source, filename, functions, limits, mode, seed, _SYNC_SLICE_NS)
            try:
                if not drive.is_over:
                    self._drive_sync(drive, is_async)
                result = drive.result()
            finally:
                self._end(drive)
        if throw_on_error and result.error is not None:
            raise result.error
        return result

    def close(self) -> None:
        """Ends active runs with kind `Aborted`; later ones raise RuntimeError. Any thread, any state."""
        self._closed = True
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

    def _begin(
        self,
        source: str,
        filename: str | None,
        functions: FunctionTable,
        limits: Limits | Mapping[str, int | None] | None,
        mode: str | None,
        seed: bytes | str | None,
        slice_ns: int,
    ) -> Drive:
        if self._closed:
            raise RuntimeError("this Runner is closed")
        budget = self._budget if limits is None else Budget(limits_of(limits), self._limits)
        drive = Drive(
            source,
            _check_filename(filename),
            functions,
            _check_mode(mode),
            _check_seed(seed),
            budget,
            slice_ns,
        )
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
        asyncio.run(self._attend(drive, steps))

    async def _attend(self, drive: Drive, steps: Iterator[str]) -> None:
        from modebox._attend import attend

        await attend(drive, steps, self._stragglers)


def _loop_slice_ns() -> int:
    return max(_LEAST_LOOP_SLICE_NS, _LOOP_SLICE_NS // (1 + _core.runs_under_way()))


def _check_source(source: object) -> str:
    if not isinstance(source, str):
        raise TypeError(f"source must be a str, not {type(source).__name__}")
    return source


def _check_filename(filename: object) -> str:
    if filename is None:
        return _FILENAME
    if not isinstance(filename, str):
        raise TypeError(f"filename must be a str, not {type(filename).__name__}")
    if not filename or "\n" in filename:
        raise ValueError("filename must be one line of text")
    return filename


def _check_mode(mode: str | None) -> int:
    if mode is None:
        return 0
    if mode not in _MODES:
        raise ValueError(f"mode must be one of {', '.join(map(repr, _MODES))}, or None, not {mode!r}")
    return _MODES[mode]


def _check_seed(seed: bytes | str | None) -> bytes:
    if seed is None:
        return urandom(_SEED_SIZE)
    if isinstance(seed, str):
        try:
            seed = bytes.fromhex(seed) if len(seed) == 2 * _SEED_SIZE else b""
        except ValueError:
            seed = b""
    elif not isinstance(seed, bytes):
        raise TypeError(f"seed must be bytes or str, not {type(seed).__name__}")
    if len(seed) != _SEED_SIZE:
        raise ValueError("seed must be 32 bytes or 64 hexadecimal digits")
    return seed


def _check_no_running_loop() -> None:
    asyncio = sys.modules.get("asyncio")
    if asyncio is None:
        return
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise RuntimeError(
        "an event loop is running and a host function is async: await run(...) instead of run_sync(...)"
    )
