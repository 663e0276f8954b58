"""What a run gives back."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataclasses import dataclass as record
    from dataclasses import field
    from typing import Any, Literal

    from modebox._calls import CallTrace
    from modebox._errors import RunError
else:
    from modebox._record import field, record

LOG_LEVELS = ("log", "debug", "info", "warn", "error")


@record(frozen=True)
class LogEntry:
    """One console call of the program.

    Attributes:
        level: "log", "debug", "info", "warn" or "error".
        message: The text, formatted as a console would show it.
    """

    level: str
    message: str


@record(frozen=True)
class CallRecord:
    """One host call that the program made.

    Attributes:
        id: Number of the call: 1 for the program's first.
        host_function_name: The function's name in the program, with dots: "bank.pay".
        state: What became of it:

            ===========  ==========================================================================
            returned     the program has its value
            raised       the program has an error: the function's, or about a value that cannot cross
            denied       it was never made: the program has a PermissionDenied
            waiting      it waits for an answer
            not_started  it was still queued when the run ended
            cancelled    the run ended before any of the function's code ran
            unknown      the run ended while the function ran: what it did by then stays done
            ===========  ==========================================================================
        ms: Milliseconds that the function took, up to the end of the run; 0 where it never began.
    """

    id: int
    host_function_name: str
    state: Literal["returned", "raised", "denied", "waiting", "not_started", "cancelled", "unknown"]
    ms: float


@record(frozen=True)
class Stats:
    """What a run took.

    Attributes:
        wall_ms: Milliseconds from start to end, host functions included; not the wait for `max_instances`.
        guest_ms: Milliseconds inside the sandbox.
        instantiate_ms: Milliseconds for making the sandbox; a part of `wall_ms`, not of `guest_ms`.
        fuel_used: Ticks of the program; the same program and values use the same on every machine.
        host_calls: How many host functions the program called.
        memory_bytes: The sandbox's memory at its largest, beyond what an empty one has.
        continuation_bytes: Size of the continuation; 0 where there is none.
    """

    wall_ms: float
    guest_ms: float
    instantiate_ms: float
    fuel_used: int
    host_calls: int
    memory_bytes: int
    continuation_bytes: int = 0


@record(frozen=True)
class RunResult:
    """How a run ended.

    Attributes:
        status: "completed"; "interrupted" where it waits for answers; "failed" where `throw_on_error=False`
            kept the error from being raised.
        logs: The program's console calls, in order.
        stats: What the run took.
        value: The program's value as a Python object; None where it has none.
        interruptions: The calls that wait for an answer.
        continuation: What an interrupted run goes on from, else None.
        error: The error of a failed run, else None.
        calls: The program's host calls, in order.
    """

    status: Literal["completed", "interrupted", "failed"]
    logs: list[LogEntry]
    stats: Stats
    value: Any = None
    interruptions: list[Any] = field(default_factory=list)
    continuation: str | None = None
    error: RunError | None = None
    calls: list[CallRecord] = field(default_factory=list)

    def unwrap(self) -> Any:
        """The value of a completed run.

        Raises:
            RunError: The run failed.
        """
        if self.error is not None:
            raise self.error
        return self.value

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> list[CallRecord]:
            """`calls`, when it is first asked for: a thousand records take as long as a hundred calls."""
            if name != "calls" or "_trace" not in self.__dict__:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            return self.__dict__.setdefault("calls", self._trace.records())


def completed(logs: list[LogEntry], stats: Stats, value: object, trace: CallTrace | None) -> RunResult:
    """The result of a program that ran to its end. trace: its host calls, if it made some."""
    result = RunResult("completed", logs, stats, value)
    if trace is not None:
        del result.__dict__["calls"]
        result.__dict__["_trace"] = trace
    return result
