"""One run from its start to its result: which host call comes next, what settles when, and what ends it.

A Drive never blocks and knows no event loop. `Drive.steps` gives one request after the other to whoever drives it,
`_runner` or `_attend`, and goes on when the request was met.
"""

from __future__ import annotations

import sys
from contextvars import copy_context
from time import monotonic_ns, time_ns

from modebox import _core
from modebox._errors import fields_of
from modebox._outcome import (
    LIMIT_ABORTED,
    LIMIT_TIMEOUT,
    WAITING,
    YIELDED,
    Ending,
    ending_of,
    internal_ending,
    limit_ending,
    result_of,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator
    from contextvars import Context

    from modebox._functions import FunctionTable
    from modebox._limits import Budget
    from modebox._results import RunResult

# Requests.
STEP = "step"  # call Drive.step: the program is computing
AWAIT = "await"  # take Drive.started, and call Drive.deliver or Drive.fail when it is over
WAIT = "wait"  # come back when one of these was called, the deadline has passed, or the drive was stopped
BREATHE = "breathe"  # let the event loop run once

_BREATH_NS = 500_000
_PLAIN = frozenset((type(None), bool, int, float, str, bytes, list, dict, tuple))
_ITERABLE_COROUTINE = 0x100  # inspect.CO_ITERABLE_COROUTINE


class Drive:
    """One run. It belongs to one thread at a time; only `stop` may come from another.

    Attributes:
        started: Of an AWAIT request: the call's id and function index, its awaitable, the context to await it in.
        deadline_ns: When the run's time is over, as monotonic_ns().
        breathes: Whether an event loop wants its turn between plain host calls.
        on_stop: Called by `stop`, on any thread, to wake up whoever drives.
    """

    __slots__ = (
        "_budget",
        "_context",
        "_ending",
        "_functions",
        "_raised",
        "_ready",
        "_run",
        "_running",
        "_slice_ns",
        "_source",
        "_started_ns",
        "_status",
        "_stopped",
        "breathes",
        "deadline_ns",
        "on_stop",
        "started",
    )

    def __init__(
        self, source: str, filename: str, functions: FunctionTable, mode: int, seed: bytes, budget: Budget, slice_ns: int
    ) -> None:
        """Runs the program for a first slice. slice_ns is also the length of the slices after a settled call."""
        self._source = source
        self._functions = functions
        self._budget = budget
        self._slice_ns = slice_ns
        self._context = copy_context()
        self._ready: list[tuple[int, int, object, BaseException | None]] = []
        self._raised: dict[int, BaseException] = {}
        self._running = 0
        self._ending: Ending | None = None
        self._stopped = False
        self.started: tuple[int, int, Awaitable[object], Context] | None = None
        self.breathes = False
        self.on_stop: Callable[[], object] | None = None
        self._started_ns = monotonic_ns()
        self.deadline_ns = self._started_ns + budget.timeout_ns
        self._run = _core.start(source, filename, functions.names, mode, time_ns(), seed, budget.core, slice_ns)
        self._status = self._run.status

    # ---- driving

    @property
    def is_over(self) -> bool:
        """Whether nothing is left to do but `result`."""
        return self._ending is not None or self._status not in (WAITING, YIELDED)

    def steps(self) -> Iterator[str]:
        """Requests, up to the end of the run.

        Raises:
            BaseException: What a host function raised that is no Exception: KeyboardInterrupt, SystemExit.
        """
        pause_ns = self._next_pause()
        while self._ending is None:
            if self._status == YIELDED:
                yield STEP
            elif self._status != WAITING:
                return
            elif self._stopped:
                self._ending = limit_ending(LIMIT_ABORTED, self._budget.limits)
            elif monotonic_ns() >= pause_ns:
                if monotonic_ns() >= self.deadline_ns:
                    self._ending = limit_ending(LIMIT_TIMEOUT, self._budget.limits)
                else:
                    yield BREATHE
                pause_ns = self._next_pause()
            elif self._ready:
                self._settle(*self._ready.pop(0))
            elif self._running == self._budget.max_concurrency or not self._make_next():
                yield WAIT
                pause_ns = self._next_pause()
            elif self.started is not None:
                yield AWAIT
                self.started = None

    def step(self, slice_ns: int) -> None:
        """Lets the program compute for about slice_ns. Any thread, but one at a time.

        Raises:
            _core.Busy: Another thread does it.
        """
        self._status = self._run.step(slice_ns)

    def deliver(self, call_id: int, index: int, value: object) -> None:
        """A call that was awaited has returned."""
        self._running -= 1
        self._ready.append((call_id, index, value, None))

    def fail(self, call_id: int, index: int, error: BaseException) -> None:
        """A call that was awaited has raised."""
        self._running -= 1
        self._ready.append((call_id, index, None, error))

    def stop(self) -> None:
        """Ends the run with kind Aborted, soon. Any thread."""
        self._stopped = True
        self._run.abort()
        if self.on_stop is not None:
            self.on_stop()

    def _next_pause(self) -> int:
        """When to look at more than the next call: at the deadline, or for the event loop's sake before it."""
        return min(self.deadline_ns, monotonic_ns() + _BREATH_NS) if self.breathes else self.deadline_ns

    # ---- host calls

    def _make_next(self) -> bool:
        """Makes the next call, if there is one, and settles it unless it is to be awaited: then `started` is set."""
        try:
            call = self._run.next_call()
        except _core.Malformed:
            self._ending = internal_ending("malformed arguments")
            return True
        if call is None:
            return False
        call_id, index, arguments = call
        context = self._context.copy()
        try:
            value = context.run(self._functions.functions[index], *arguments)
        except BaseException as error:
            self._settle_error(call_id, error)
            return True
        if type(value) in _PLAIN or not _is_awaitable(value):
            self._settle(call_id, index, value, None)
        else:
            self._running += 1
            self.started = call_id, index, value, context
        return True

    def _settle(self, call_id: int, index: int, value: object, error: BaseException | None) -> None:
        if error is None:
            try:
                self._status = self._run.settle(call_id, value, self._slice_ns)
                return
            except _core.Refused as refused:
                error = TypeError(f"{self._functions.names[index]}: {refused}")
            except Exception as raised:  # by the value's own code, when it was read
                error = raised
        self._settle_error(call_id, error)

    def _settle_error(self, call_id: int, error: BaseException) -> None:
        if not isinstance(error, Exception) and not _is_cancelled(error):
            raise error
        self._raised[call_id] = error
        try:
            self._status = self._run.settle_error(call_id, fields_of(error), self._slice_ns)
        except _core.Refused:
            self._ending = Ending("Unserializable", "TypeError", "an error is larger than max_value_bytes allows")

    # ---- the end

    def result(self) -> RunResult:
        """The result of a run that is over."""
        wall_ns = monotonic_ns() - self._started_ns
        value, ending = None, self._ending
        try:
            if ending is None:
                ending = ending_of(self._run, self._status, self._source, self._raised, self._budget.limits)
            if ending is None:
                value = self._run.value()
        except _core.Malformed:
            ending = internal_ending("malformed result")
        return result_of(self._run, value, ending, self._budget.limits, wall_ns)

    def end(self) -> None:
        """Gives the sandbox back, whatever the run was doing."""
        if self._ending is None and self.is_over:
            return
        self._run.abort()
        try:
            self._run.step(1)
        except _core.Busy:  # then the thread that steps it ends it
            pass


def _is_awaitable(value: object) -> bool:
    if hasattr(type(value), "__await__"):
        return True
    return getattr(getattr(value, "gi_code", None), "co_flags", 0) & _ITERABLE_COROUTINE != 0


def _is_cancelled(error: BaseException) -> bool:
    """Whether it is asyncio's CancelledError, without importing asyncio."""
    exceptions = sys.modules.get("asyncio.exceptions")
    return exceptions is not None and isinstance(error, exceptions.CancelledError)
