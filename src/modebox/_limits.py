"""Limits: what the caller may set, what holds when nothing is set, and their form in the core."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from dataclasses import dataclass as record
else:
    from _collections_abc import Mapping

    from modebox._record import record

MIB = 1024 * 1024
NO_LIMIT = 2**63 - 1
_ADDRESSABLE = 2**31 - 1
_COUNTABLE = 2**32 - 1

# name: default (None: no limit), least value
_TABLE: dict[str, tuple[int | None, int]] = {
    "timeout_ms": (30_000, 0),
    "cpu_timeout_ms": (None, 0),
    "fuel": (None, 0),
    "memory_limit_bytes": (64 * MIB, MIB),
    "max_host_calls": (1000, 0),
    "max_concurrency": (32, 1),
    "max_value_bytes": (16 * MIB, 0),
    "max_log_bytes": (MIB, 0),
}


@record(frozen=True)
class Limits:
    """Limits of a run. A field that is None is not given: the Runner's holds, else the default.

    Attributes:
        timeout_ms: Wall clock of a run, host functions included; 30,000. Ends with kind `Timeout`.
        cpu_timeout_ms: Time inside the sandbox; no limit. `CpuTimeout`.
        fuel: Ticks of the program, deterministic and exact; no limit. `CpuLimit`.
        memory_limit_bytes: All that the program may hold; 64 MiB, at least 1 MiB. The program can catch
            `InternalError: out of memory`; uncaught it is `MemoryLimit`.
        max_host_calls: Calls of host functions; 1,000. `HostCallLimit`.
        max_concurrency: Host functions running at once; 32, at least 1. More wait, in order.
        max_value_bytes: Encoded size of one argument list, one returned value, the result; 16 MiB.
        max_log_bytes: Size of all log messages; 1 MiB. Later entries are dropped, and a last one says so.

    Raises:
        TypeError: A value is not an int (bool is not one).
        ValueError: A value is below its least.
    """

    timeout_ms: int | None = None
    cpu_timeout_ms: int | None = None
    fuel: int | None = None
    memory_limit_bytes: int | None = None
    max_host_calls: int | None = None
    max_concurrency: int | None = None
    max_value_bytes: int | None = None
    max_log_bytes: int | None = None

    def __post_init__(self) -> None:
        for name, (_, least) in _TABLE.items():
            _check(name, getattr(self, name), least)


def _check(name: str, value: object, least: int) -> None:
    if value is None:
        return
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(
            f"limits.{name} must be an int of at least {least}, or None, not {type(value).__name__}"
        )
    if value < least:
        raise ValueError(f"limits.{name} must be at least {least}, not {value}")


def limits_of(given: Limits | Mapping[str, int | None] | None) -> Limits:
    """Checks what the caller gave as `limits`."""
    if given is None:
        return _NONE_GIVEN
    if isinstance(given, Limits):
        return given
    if not isinstance(given, Mapping):
        raise TypeError(f"limits must be a Limits or a mapping, not {type(given).__name__}")
    unknown = [key for key in given if key not in _TABLE]
    if unknown:
        raise TypeError(
            f"unknown limit {unknown[0]!r}; the limits are {', '.join(_TABLE)}{_suggestion(unknown[0])}"
        )
    return Limits(**given)


def _suggestion(name: object) -> str:
    from difflib import get_close_matches

    nearest = get_close_matches(str(name), _TABLE, 1)
    return f"; did you mean {nearest[0]}?" if nearest else ""


_NONE_GIVEN = Limits()


class Budget:
    """The limits of one run, all known.

    Attributes:
        limits: Each with its value; None: no limit.
        core: As `_core.start` takes them.
    """

    __slots__ = ("core", "limits", "max_concurrency", "timeout_ns")

    def __init__(self, *given: Limits) -> None:
        """Earlier ones win, field by field."""
        self.limits = Limits(**{name: _first(name, given) for name in _TABLE})
        self.timeout_ns = _at_most(NO_LIMIT, self.limits.timeout_ms, 1_000_000)
        self.max_concurrency = _at_most(NO_LIMIT, self.limits.max_concurrency)
        self.core = (
            _at_most(NO_LIMIT, self.limits.fuel),
            self.timeout_ns,
            _at_most(NO_LIMIT, self.limits.cpu_timeout_ms, 1_000_000),
            _at_most(_ADDRESSABLE, self.limits.memory_limit_bytes),
            _at_most(_COUNTABLE, self.limits.max_value_bytes),
            _at_most(_COUNTABLE, self.limits.max_log_bytes),
            _at_most(_COUNTABLE, self.limits.max_host_calls),
        )


def _first(name: str, given: tuple[Limits, ...]) -> int | None:
    for limits in given:
        value: int | None = getattr(limits, name)
        if value is not None:
            return value
    return _TABLE[name][0]


def _at_most(greatest: int, value: int | None, factor: int = 1) -> int:
    """As the core counts: what it cannot count is never reached."""
    return greatest if value is None else min(value * factor, greatest)
