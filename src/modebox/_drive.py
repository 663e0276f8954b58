"""One run from its start to its result: which host call comes next, what settles when, and what ends it.

A Drive never blocks and knows no event loop. `Drive.steps` gives one request after the other to whoever drives it,
`_runner` or `_attend`, and goes on when the request was met.
"""

from __future__ import annotations

import sys
from contextvars import copy_context
from time import monotonic_ns, time_ns

from modebox import _core, _outcome
from modebox._errors import fields_of
from modebox._outcome import WAITING, YIELDED, Ending

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator
    from contextvars import Context
    from typing import Any

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
        started: Of an AWAIT request: the call's id, its awaitable, and the context to await it in.
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
    started: tuple[int, Awaitable[object], Context]

    def __init__(
        self, source: str, filename: str, functions: FunctionTable, mode: int, seed: bytes, budget: Budget, slice_ns: int
    ) -> None:
        """Runs the program for a first slice. slice_ns is also the length of the slices after a settled call."""
        self._source = source
        self._functions = functions
        self._budget = budget
        self._slice_ns = slice_ns
        self._context = copy_context()
        self._ready: list[tuple[int, object, BaseException | None]] = []
        self._raised: dict[int, BaseException] = {}
        self._running = 0
        self._ending: Ending | None = None
        self._stopped = False
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
        breath_ns = monotonic_ns() + _BREATH_NS
        while not self.is_over:
            if self._status == YIELDED:
                yield STEP
            elif self._must_end():
                break
            elif self.breathes and monotonic_ns() >= breath_ns:
                yield BREATHE
                breath_ns = monotonic_ns() + _BREATH_NS
            elif self._ready:
                self._settle(*self._ready.pop(0))
            elif self._running == self._budget.max_concurrency or (call := self._next_call()) is None:
                yield WAIT
                breath_ns = monotonic_ns() + _BREATH_NS
            elif self._make(*call):
                yield AWAIT

    def step(self, slice_ns: int) -> None:
        """Lets the program compute for about slice_ns. Any thread, but one at a time."""
        self._status = self._run.step(slice_ns)

    def deliver(self, call_id: int, value: object) -> None:
        """A call that was awaited has returned."""
        self._running -= 1
        self._ready.append((call_id, value, None))

    def fail(self, call_id: int, error: BaseException) -> None:
        """A call that was awaited has raised."""
        self._running -= 1
        self._ready.append((call_id, None, error))

    def stop(self) -> None:
        """Ends the run with kind Aborted, soon. Any thread."""
        self._stopped = True
        self._run.abort()
        if self.on_stop is not None:
            self.on_stop()

    def _must_end(self) -> bool:
        """Looks at what the core does not see while the program waits."""
        if self._stopped:
            self._ending = _outcome.limit_ending(_outcome.LIMIT_ABORTED, self._budget.limits)
        elif monotonic_ns() >= self.deadline_ns:
            self._ending = _outcome.limit_ending(_outcome.LIMIT_TIMEOUT, self._budget.limits)
        return self._ending is not None

    # ---- host calls

    def _next_call(self) -> tuple[int, int, list[Any]] | None:
        try:
            return self._run.next_call()
        except _core.Malformed:
            self._ending = _outcome.internal_ending("malformed arguments")
            return None

    def _make(self, call_id: int, index: int, arguments: list[Any]) -> bool:
        """Calls a host function. True: `started` is to be awaited; else the call has settled."""
        context = self._context.copy()
        try:
            value = context.run(self._functions.functions[index], *arguments)
        except BaseException as error:
            self._settle(call_id, None, error)
            return False
        if type(value) in _PLAIN or not _is_awaitable(value):
            self._settle(call_id, value, None)
            return False
        self._running += 1
        self.started = call_id, value, context
        return True

    def _settle(self, call_id: int, value: object, error: BaseException | None) -> None:
        if error is None:
            try:
                self._status = self._run.settle(call_id, value, self._slice_ns)
                return
            except _core.Refused as refused:
                error = TypeError(str(refused))
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
        if ending is None:
            try:
                value, ending = self._read()
            except _core.Malformed:
                ending = _outcome.internal_ending("malformed result")
        return _outcome.result_of(self._run, value, ending, self._budget, wall_ns)

    def end(self) -> None:
        """Gives the sandbox back, whatever the run was doing."""
        if self._ending is None and self.is_over:
            return
        self._run.abort()
        try:
            self._run.step(1)
        except _core.Busy:  # then the thread that steps it ends it
            pass

    def _read(self) -> tuple[object, Ending | None]:
        if self._status == _outcome.DONE:
            return self._run.value(), None
        error_kind, limit, trap = self._run.outcome()
        if self._status == _outcome.THREW:
            return None, _outcome.thrown_ending(self._run, error_kind, self._source, self._raised)
        if self._status == _outcome.LIMIT:
            return None, _outcome.limit_ending(limit, self._budget.limits)
        if self._status == _outcome.DEADLOCK:
            return None, _outcome.deadlock_ending()
        return None, _outcome.trap_ending(trap)


def _is_awaitable(value: object) -> bool:
    if hasattr(type(value), "__await__"):
        return True
    return getattr(getattr(value, "gi_code", None), "co_flags", 0) & _ITERABLE_COROUTINE != 0


def _is_cancelled(error: BaseException) -> bool:
    """Whether it is asyncio's CancelledError, without importing asyncio."""
    exceptions = sys.modules.get("asyncio.exceptions")
    return exceptions is not None and isinstance(error, exceptions.CancelledError)
