"""How a run ended, as the core says it, made into a result: kinds, texts, logs and stats."""

from __future__ import annotations

from modebox import _core
from modebox._errors import RunError, code_of, excerpt_of
from modebox._results import LOG_LEVELS, CallRecord, LogEntry, RunResult, Stats, completed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from modebox._calls import CallTrace
    from modebox._limits import Limits

    Counts = tuple[int, int, int, int, int, int, int, int]

# mb_status in core/modebox.h
DONE, WAITING, YIELDED, THREW, DEADLOCK, LIMIT, TRAP = range(7)
# mb_limit
LIMIT_FUEL, LIMIT_TIMEOUT, LIMIT_CPU, LIMIT_MEMORY, LIMIT_HOST_CALLS, LIMIT_ABORTED = range(1, 7)
# mb_trap
_TRAP_STACK = 2
_TRAPS = ("none", "out of bounds", "stack", "bad call", "arithmetic", "unreachable", "corrupt", "no memory")
# guest_error_kind in guest/abi.h
_ERROR_KINDS = ("Uncaught", "Syntax", "StackOverflow", "MemoryLimit", "Unserializable")

# kind, name, message
_LIMITS = {
    LIMIT_FUEL: ("CpuLimit", "CpuLimitError", "the run exceeded its budget of {0.fuel} fuel"),
    LIMIT_TIMEOUT: ("Timeout", "TimeoutError", "the run exceeded its time limit of {0.timeout_ms} ms"),
    LIMIT_CPU: (
        "CpuTimeout",
        "CpuTimeoutError",
        "the run exceeded its CPU time limit of {0.cpu_timeout_ms} ms",
    ),
    LIMIT_MEMORY: (
        "MemoryLimit",
        "MemoryLimitError",
        "the run exceeded its limit of {0.memory_limit_bytes} bytes",
    ),
    LIMIT_HOST_CALLS: (
        "HostCallLimit",
        "HostCallLimitError",
        "the run exceeded its limit of {0.max_host_calls} host calls",
    ),
    LIMIT_ABORTED: ("Aborted", "AbortError", "the run was ended by Runner.close()"),
}
_LARGEST_SOURCE = 16 * 1024 * 1024
_INTERNAL = "the sandbox broke off ({}): this is a bug in modebox, please report it"
_DROPPED = "{} more log entries ({} bytes) were dropped: max_log_bytes is {}"


class Ending:
    """Why a run failed: what becomes its RunError.

    Attributes:
        kind: A key of `_errors.CODES`.
        name, message: As the program, or the limit, names it.
        cause: The host function's exception that the program did not catch.
        details: Other arguments of RunError.
    """

    __slots__ = ("cause", "details", "kind", "message", "name")

    def __init__(self, kind: str, name: str, message: str) -> None:
        self.kind, self.name, self.message = kind, name, message
        self.cause: BaseException | None = None
        self.details: dict[str, Any] = {}


def limit_ending(limit: int, limits: Limits) -> Ending:
    """The ending for an mb_limit."""
    kind, name, text = _LIMITS[limit]
    return Ending(kind, name, text.format(limits))


def internal_ending(what: str) -> Ending:
    """What must not happen did."""
    return Ending("Internal", "InternalError", _INTERNAL.format(what))


def refuse_source(source: str) -> RunResult | None:
    """A failed result for a source that is too large to be run, else None."""
    if len(source) * 4 <= _LARGEST_SOURCE or len(source.encode("utf-8", "surrogatepass")) <= _LARGEST_SOURCE:
        return None
    ending = Ending("Syntax", "SyntaxError", f"the source is larger than {_LARGEST_SOURCE} bytes")
    return _never_begun(ending)


def refuse_queued() -> RunResult:
    """A failed result for a run whose Runner was closed before its turn came."""
    kind, name, text = _LIMITS[LIMIT_ABORTED]
    return _never_begun(Ending(kind, name, text))


def _never_begun(ending: Ending) -> RunResult:
    return _failed(ending, [], Stats(0.0, 0.0, 0.0, 0, 0, 0), [])


def ending_of(
    run: _core.Run, status: int, source: str, raised: dict[int, BaseException], limits: Limits
) -> Ending | None:
    """Why the core ended the run; None: it is done.

    Args:
        raised: What host functions raised, by call id.

    Raises:
        _core.Malformed: The guest broke the protocol.
    """
    if status == DONE:
        return None
    error_kind, limit, trap = run.outcome()
    if status == THREW:
        return _thrown(_ERROR_KINDS[error_kind], run.error(), source, raised)
    if status == LIMIT:
        return limit_ending(limit, limits)
    if status == DEADLOCK:
        return Ending("Deadlock", "DeadlockError", "the program waits for a promise that can never settle")
    if trap == _TRAP_STACK:
        return Ending("StackOverflow", "RangeError", "Maximum call stack size exceeded")
    return internal_ending(_TRAPS[trap])


def _thrown(kind: str, fields: dict[str, Any], source: str, raised: dict[int, BaseException]) -> Ending:
    """The program's error. Only one that the bridge made says which host call it came from."""
    line, column = _int(fields, "line"), _int(fields, "column")
    ending = Ending(kind, _text(fields, "name") or "Error", _text(fields, "message"))
    ending.cause = raised.get(_int(fields, "call") or 0)
    ending.details = {
        "code": code_of(ending.cause),
        "sandbox_stack": _text(fields, "stack") or None,
        "line": line,
        "column": column,
        "excerpt": excerpt_of(source, line, column),
        "cause": fields.get("cause"),
        "errors": _list(fields, "errors"),
    }
    return ending


def _text(fields: dict[str, Any], name: str) -> str:
    value = fields.get(name)
    return value if isinstance(value, str) else ""


def _int(fields: dict[str, Any], name: str) -> int | None:
    value = fields.get(name)
    return value if type(value) is int else None


def _list(fields: dict[str, Any], name: str) -> list[Any]:
    value = fields.get(name)
    return value if isinstance(value, list) else []


def entries_of(run: _core.Run) -> list[LogEntry]:
    """What the program has logged since the last time."""
    return [LogEntry(LOG_LEVELS[level], message) for level, message in run.take_logs()]


def dropped_entries_of(counts: Counts, limits: Limits) -> list[LogEntry]:
    """What stands for the entries beyond max_log_bytes: one, or none if there were none."""
    dropped, dropped_bytes = counts[5:7]
    if not dropped:
        return []
    return [LogEntry("warn", _DROPPED.format(dropped, dropped_bytes, limits.max_log_bytes))]


def result_of(
    value: object,
    ending: Ending | None,
    logs: list[LogEntry],
    trace: CallTrace | None,
    counts: Counts,
    wall_ns: int,
) -> RunResult:
    """The result of a run that has ended; of a failed one, with its error.

    Args:
        trace: The host calls; None: there were none.
        counts: What `_core.Run.stats` gives.
    """
    instantiate_ns, guest_ns, fuel_used, memory_bytes, host_calls = counts[:5]
    stats = Stats(wall_ns / 1e6, guest_ns / 1e6, instantiate_ns / 1e6, fuel_used, host_calls, memory_bytes)
    if ending is None:
        return completed(logs, stats, value, trace)
    return _failed(ending, logs, stats, [] if trace is None else trace.records())


def _failed(ending: Ending, logs: list[LogEntry], stats: Stats, calls: list[CallRecord]) -> RunResult:
    error = RunError(
        ending.name, ending.message, ending.kind, logs=logs, stats=stats, calls=calls, **ending.details
    )
    error.__cause__ = ending.cause
    return RunResult("failed", logs, stats, error=error, calls=calls)
