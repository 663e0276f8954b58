"""What a run gives back."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataclasses import dataclass as record
    from typing import Any, Literal

    from modebox._errors import RunError
else:
    from modebox._record import record

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
class Stats:
    """What a run took.

    Attributes:
        wall_ms: Milliseconds from the call to its end, waiting for host functions included.
        guest_ms: Milliseconds inside the sandbox.
        instantiate_ms: Milliseconds for making the sandbox; a part of `wall_ms`, not of `guest_ms`.
        fuel_used: Ticks of the program; the same program and values use the same on every machine.
        host_calls: How many host functions the program called.
        memory_bytes: The sandbox's memory at its largest, beyond what an empty one has.
    """

    wall_ms: float
    guest_ms: float
    instantiate_ms: float
    fuel_used: int
    host_calls: int
    memory_bytes: int


@record(frozen=True)
class RunResult:
    """How a run ended.

    Attributes:
        status: "completed", or "failed" where `throw_on_error=False` kept the error from being raised.
        logs: The program's console calls, in order.
        stats: What the run took.
        value: The program's value as a Python object; None where it has none.
        error: The error of a failed run, else None.
    """

    status: Literal["completed", "failed"]
    logs: list[LogEntry]
    stats: Stats
    value: Any = None
    error: RunError | None = None

    def unwrap(self) -> Any:
        """The value of a completed run.

        Raises:
            RunError: The run failed.
        """
        if self.error is not None:
            raise self.error
        return self.value
