"""One run from its start to its result: which host call comes next, what settles when, and what ends it.

A Drive never blocks and knows no event loop. `Drive.steps` gives one request after the other to whoever
drives it, `_runner` or `_attend`, and goes on when the request was met.
"""

from __future__ import annotations

import sys
from contextvars import copy_context
from time import monotonic_ns, time_ns

from modebox import _core
from modebox._calls import ENDED, INDEX, NOTES, CallTrace
from modebox._context import serve_in
from modebox._errors import chain_of, fields_of
from modebox._outcome import (
    LIMIT_ABORTED,
    LIMIT_TIMEOUT,
    WAITING,
    YIELDED,
    Ending,
    dropped_entries_of,
    ending_of,
    entries_of,
    internal_ending,
    limit_ending,
    result_of,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from asyncio import Future
    from collections.abc import Awaitable, Callable, Iterator
    from contextvars import Context
    from typing import Any, TypeGuard

    from modebox._options import Program
    from modebox._results import LogEntry, RunResult
    from modebox._workers import Port

    Call = tuple[int, str]  # its id, its function's name
    Awaited = tuple[Call, Awaitable[object], Context]

# Requests.
STEP = "step"  # call Drive.step, or submit and withdraw: the program is computing
LOOP = "loop"  # go on in an event loop, with Drive.spawn set: a host function gave an awaitable
WAIT = "wait"  # come back when a call was answered, the deadline has passed, or the drive was stopped
BREATHE = "breathe"  # let the event loop run once

_BREATH_NS = 500_000
_PLAIN = frozenset((type(None), bool, int, float, str, bytes, list, dict, tuple))
_ITERABLE_COROUTINE = 0x100  # inspect.CO_ITERABLE_COROUTINE


class Drive:
    """One run. It belongs to one thread at a time; only `stop` may come from another.

    Attributes:
        spawn: Takes a call, what its function gave to be awaited, and the context to do it in; calls `answer`
            when it is over, perhaps at once. None: there is no event loop yet.
        deadline_ns: When the run's time is over, as monotonic_ns().
        on_stop: Called by `stop`, on any thread, to wake up whoever drives.
    """

    __slots__ = (
        "_begun",
        "_budget",
        "_context",
        "_ending",
        "_functions",
        "_logs",
        "_names",
        "_on_call",
        "_on_log",
        "_program",
        "_raised",
        "_ready",
        "_run",
        "_running",
        "_serving",
        "_slice_ns",
        "_started_ns",
        "_status",
        "_stopped",
        "_untouched",
        "deadline_ns",
        "on_stop",
        "spawn",
    )

    def __init__(self, program: Program, slice_ns: int) -> None:
        """Runs the program for a first slice. slice_ns is also the length of slices after a settled call."""
        self._program = program
        self._functions = program.functions.functions
        self._names = program.functions.names
        self._budget = program.budget
        self._on_log = program.on_log
        self._on_call = program.on_call
        self._slice_ns = slice_ns
        self._context = copy_context()
        self._serving: list[tuple[int, str] | None] = [None]
        if self._names:
            self._context.run(serve_in, self._serving)
        self._ready: list[tuple[int, object, BaseException | None]] = []
        self._raised: dict[int, BaseException] = {}
        self._begun: list[int] = []
        self._untouched: set[int] = set()
        self._logs: list[LogEntry] = []
        self._running = 0
        self._ending: Ending | None = None
        self._stopped = False
        self.spawn: Callable[[Call, Awaitable[object], Context], object] | None = None
        self.on_stop: Callable[[], object] | None = None
        self._started_ns = monotonic_ns()
        self.deadline_ns = self._started_ns + self._budget.timeout_ns
        self._run = _begin(program, slice_ns)
        self._status = self._run.status

    # ---- driving

    @property
    def is_over(self) -> bool:
        """Whether nothing is left to do but `result`."""
        return self._ending is not None or self._status not in (WAITING, YIELDED)

    @property
    def is_heard(self) -> bool:
        """Whether somebody listens to the program's log entries as they come."""
        return self._on_log is not None

    def steps(self) -> Iterator[str]:
        """Requests, up to the end of the run.

        Raises:
            BaseException: What on_log or on_call raised; what a host function raised that is no Exception:
                KeyboardInterrupt, SystemExit.
        """
        try:
            yield from self._steps()
        except _core.MalformedError:
            self._ending = internal_ending("malformed arguments")

    def _steps(self) -> Iterator[str]:
        run, ready = self._run, self._ready
        pause_ns = self._next_pause()
        while self._ending is None:
            if self._on_log is not None:
                self._tell_logs(entries_of(run))
            if self._status != WAITING:
                if self._status != YIELDED:
                    return
                yield STEP
            elif self._stopped or (now_ns := monotonic_ns()) >= pause_ns:
                self._end_if_due()
                if self._ending is None:
                    yield BREATHE
                pause_ns = self._next_pause()
            elif ready:
                self._settle(*ready.pop(0))
            elif self._running == self._budget.max_concurrency or (call := run.next_call()) is None:
                yield WAIT
                pause_ns = self._next_pause()
            else:
                awaited = self._make(*call, now_ns)
                if awaited is not None:
                    if self.spawn is None:
                        yield from self._ask_for_loop(awaited[1])
                        pause_ns = self._next_pause()
                    assert self.spawn is not None
                    self._running += 1
                    self.spawn(*awaited)

    def step(self, slice_ns: int) -> None:
        """Lets the program compute for about slice_ns. Any thread, but one at a time.

        Raises:
            _core.BusyError: Another thread does it.
        """
        self._status = self._run.step(slice_ns)

    def submit(self, port: Port) -> Future[None]:
        """Lets the program compute on the core's workers. The future is done when they are through."""
        return port.submit(self._run)

    def withdraw(self, port: Port) -> None:
        """After submit: takes the program back, wherever it is."""
        port.withdraw(self._run)
        self._status = self._run.status

    def answer(self, call_id: int, value: object, error: BaseException | None) -> None:
        """A call that was awaited has returned, or raised."""
        if error is not None:
            self._raised[call_id] = error
        self._begun[(call_id - 1) * NOTES + ENDED] = monotonic_ns()
        self._running -= 1
        self._ready.append((call_id, value, error))

    def leave_untouched(self, call_id: int) -> None:
        """A call that is cancelled before any of its function's code ran."""
        self._untouched.add(call_id)

    def name_of(self, call_id: int) -> str:
        """The name of the function that a call is to."""
        return self._names[self._begun[(call_id - 1) * NOTES + INDEX]]

    def function_of(self, call_id: int) -> Callable[..., Any]:
        """The function that a call is to, as the caller gave it."""
        return self._program.functions.given[self._begun[(call_id - 1) * NOTES + INDEX]]

    def time_out(self) -> None:
        """Ends the run at its deadline, where the core is not the one to do it."""
        self._ending = limit_ending(LIMIT_TIMEOUT, self._budget.limits)

    def stop(self) -> None:
        """Ends the run with kind Aborted, soon. Any thread."""
        self._stopped = True
        self._run.abort()
        if self.on_stop is not None:
            self.on_stop()

    def _next_pause(self) -> int:
        """When to look up: at the deadline, or for the event loop's sake before it."""
        if self.spawn is None:
            return self.deadline_ns
        return min(self.deadline_ns, monotonic_ns() + _BREATH_NS)

    def _end_if_due(self) -> None:
        """The core sees neither while the program waits."""
        if self._stopped:
            self._ending = limit_ending(LIMIT_ABORTED, self._budget.limits)
        elif monotonic_ns() >= self.deadline_ns:
            self.time_out()

    # ---- host calls

    def _make(self, call_id: int, index: int, arguments: list[Any], now_ns: int) -> Awaited | None:
        """Calls a host function and settles the call, unless it gives what is to be awaited first."""
        if self._on_call is not None:
            _tell(self._on_call, self._names[index], call_id)
        context = self._context.copy()
        self._serving[0] = call = call_id, self._names[index]
        try:
            value = context.run(_apply, self._functions[index], arguments)
        except BaseException as error:
            self._begun += index, now_ns, monotonic_ns()
            self._settle_error(call_id, error)
            return None
        finally:
            self._serving[0] = None
        if type(value) not in _PLAIN and _is_awaitable(value):
            self._begun += index, now_ns, 0
            return call, value, context
        ended_ns = monotonic_ns()
        self._begun += index, now_ns, ended_ns
        if ended_ns >= self.deadline_ns:  # it blocked for too long
            self.time_out()
        else:
            self._settle(call_id, value, None)
        return None

    def _ask_for_loop(self, awaitable: Awaitable[object]) -> Iterator[str]:
        try:
            yield LOOP
        finally:
            if self.spawn is None:  # there will be none
                _close(awaitable)

    def _settle(self, call_id: int, value: object, error: BaseException | None) -> None:
        if error is None:
            try:
                self._status = self._run.settle(call_id, value, self._slice_ns)
                return
            except _core.RefusedError as refused:
                error = TypeError(f"{self.name_of(call_id)}: {refused}")
            except Exception as raised:  # by the value's own code, when it was read
                error = raised
        self._settle_error(call_id, error)

    def _settle_error(self, call_id: int, error: BaseException) -> None:
        if not isinstance(error, Exception) and not _is_cancelled(error):
            raise error
        self._raised[call_id] = error
        try:
            try:
                self._status = self._run.settle_error(call_id, chain_of(error), self._slice_ns)
            except _core.RefusedError:  # its causes are circular, or too large: it goes without
                self._status = self._run.settle_error(call_id, fields_of(error), self._slice_ns)
        except _core.RefusedError:
            self._ending = Ending(
                "Unserializable", "TypeError", "an error is larger than max_value_bytes allows"
            )

    # ---- logs

    def _tell_logs(self, entries: list[LogEntry]) -> None:
        self._logs += entries
        if self._on_log is not None:
            for entry in entries:
                _tell(self._on_log, entry)

    # ---- the end

    def result(self) -> RunResult:
        """The result of a run that is over.

        Raises:
            BaseException: What on_log raised.
        """
        ended_ns = monotonic_ns()
        value, ending = None, self._ending
        try:
            if ending is None:
                ending = ending_of(
                    self._run, self._status, self._program.source, self._raised, self._budget.limits
                )
            if ending is None:
                value = self._run.value()
        except _core.MalformedError:
            ending = internal_ending("malformed result")
        counts = self._run.stats()
        self._tell_logs(entries_of(self._run) + dropped_entries_of(counts, self._budget.limits))
        return result_of(
            value, ending, self._logs, self._trace(ended_ns), counts, ended_ns - self._started_ns
        )

    def _trace(self, ended_ns: int) -> CallTrace | None:
        """None: the program made no calls."""
        queued = self._queued()
        if not self._begun and not queued:
            return None
        raised, untouched = frozenset(self._raised), frozenset(self._untouched)
        return CallTrace(self._names, self._begun, raised, untouched, queued, ended_ns)

    def _queued(self) -> list[int]:
        """The indexes of functions whose calls never began."""
        queued: list[int] = []
        try:
            while (call := self._run.next_call()) is not None:
                queued.append(call[1])
        except _core.MalformedError:
            pass  # the guest is hostile: what can be read is listed
        return queued

    def end(self) -> None:
        """Gives the sandbox back, whatever the run was doing."""
        if self._ending is not None or not self.is_over:
            self._run.end()


def _begin(program: Program, slice_ns: int) -> _core.Run:
    """Starts a run in the core."""
    clock_ns = time_ns() if program.clock_ns is None else program.clock_ns
    run = _core.start(
        program.source,
        program.filename,
        program.functions.names,
        program.mode,
        clock_ns,
        program.seed,
        program.budget.core,
        slice_ns,
    )
    if program.clock_ns is not None:
        run.hold_clock()
    return run


def _apply(function: Callable[..., object], arguments: list[Any]) -> object:
    """Unpacks within the context: twice as fast as unpacking into Context.run."""
    return function(*arguments)


def _tell(listener: Callable[..., object], *news: object) -> None:
    """Calls on_log or on_call.

    Raises:
        TypeError: It gave something to be awaited, which nobody will do.
        BaseException: What it raised.
    """
    answer = listener(*news)
    if answer is not None and _is_awaitable(answer):
        _close(answer)
        raise TypeError("on_log and on_call must be plain callables: nobody awaits what an async one gives")


def _is_awaitable(value: object) -> TypeGuard[Awaitable[object]]:
    """What `await` takes."""
    if hasattr(type(value), "__await__"):
        return True
    return getattr(getattr(value, "gi_code", None), "co_flags", 0) & _ITERABLE_COROUTINE != 0


def _close(awaitable: Awaitable[object]) -> None:
    """Nobody will await it: a coroutine would warn."""
    close = getattr(awaitable, "close", None)
    if close is not None:
        close()


def _is_cancelled(error: BaseException) -> bool:
    """Whether it is asyncio's CancelledError, without importing asyncio."""
    exceptions = sys.modules.get("asyncio.exceptions")
    return exceptions is not None and isinstance(error, exceptions.CancelledError)
