"""What the caller gives for one run, checked before anything is run."""

from __future__ import annotations

from os import urandom
from time import time_ns

from modebox._callables import is_coroutine_function
from modebox._functions import NO_FUNCTIONS, FunctionTable
from modebox._limits import Budget, limits_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime
    from typing import Any, Literal

    from modebox._functions import HostFunctions
    from modebox._limits import Limits
    from modebox._results import LogEntry

    Mode = Literal["auto", "script", "function"]
    OnLog = Callable[[LogEntry], None]
    OnCall = Callable[[str, int], None]

_MODES = {"auto": 0, "script": 1, "function": 2}  # guest_mode in guest/abi.h
_FILENAME = "agent.ts"
_SEED_SIZE = 32
_LATEST_MS = 7_258_118_400_000  # 2200-01-01: the core counts nanoseconds in 64 bits, and has to have room


class Program:
    """One program with all that its run depends on.

    Attributes:
        source: The program's text.
        filename: Shown in stacks.
        functions: The host functions.
        mode: guest_mode.
        seed: 32 bytes.
        clock_ns: What a virtual clock shows at first, in nanoseconds since 1970; None: the real time.
        budget: The limits.
        on_log, on_call: What the caller wants to hear of while the run goes on.
    """

    __slots__ = (
        "budget",
        "clock_ns",
        "filename",
        "functions",
        "mode",
        "on_call",
        "on_log",
        "seed",
        "source",
    )

    def __init__(
        self,
        source: str | None,
        host_functions: HostFunctions | None,
        budget: Budget,
        seed: bytes | str | None,
        virtual_time: bool | float | datetime | None,
        mode: Mode | None,
        filename: str | None,
        on_log: OnLog | None,
        on_call: OnCall | None,
    ) -> None:
        """
        Raises:
            TypeError, ValueError: An argument is wrong; the message names it and what it may be.
        """
        self.source = _check_source(source)
        self.functions = NO_FUNCTIONS if host_functions is None else FunctionTable(host_functions)
        self.budget = budget
        self.seed = _check_seed(seed)
        self.clock_ns = None if virtual_time is None else _check_virtual_time(virtual_time)
        self.mode = 0 if mode is None else _check_mode(mode)
        self.filename = _FILENAME if filename is None else _check_filename(filename)
        self.on_log = on_log if on_log is None else _check_listener("on_log", on_log)
        self.on_call = on_call if on_call is None else _check_listener("on_call", on_call)


def budget_of(limits: Limits | Mapping[str, int | None] | None, runner: Budget) -> Budget:
    """The limits of a run: its own where it gives some, else the Runner's."""
    return runner if limits is None else Budget(limits_of(limits), runner.limits)


def _check_source(source: object) -> str:
    if source is None:
        raise TypeError("source is missing: give the program to run, as a str")
    if not isinstance(source, str):
        raise TypeError(f"source must be a str, not {type(source).__name__}")
    return source


def _check_filename(filename: object) -> str:
    if not isinstance(filename, str):
        raise TypeError(f"filename must be a str, not {type(filename).__name__}")
    if not filename or "\n" in filename:
        raise ValueError("filename must be one line of text")
    return filename


def _check_mode(mode: object) -> int:
    if not isinstance(mode, str) or mode not in _MODES:
        kind = ValueError if isinstance(mode, str) else TypeError
        raise kind(f"mode must be one of {', '.join(map(repr, _MODES))}, or None, not {mode!r}")
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


def _check_virtual_time(given: object) -> int | None:
    """Nanoseconds since 1970; None for False."""
    if isinstance(given, bool):
        return time_ns() // 1_000_000 * 1_000_000 if given else None
    ms = given if isinstance(given, (int, float)) else _ms_of_datetime(given)
    if not 0 <= ms < _LATEST_MS:  # also NaN
        raise ValueError(f"virtual_time must lie in the years 1970 to 2199, not {given!r}")
    return int(ms) * 1_000_000


def _ms_of_datetime(given: object) -> int:
    from datetime import datetime, timedelta, timezone

    if not isinstance(given, datetime):
        raise TypeError(
            "virtual_time must be True, milliseconds since 1970 as an int or float, a datetime, or None, "
            f"not {type(given).__name__}"
        )
    aware = given if given.utcoffset() is not None else given.replace(tzinfo=timezone.utc)
    return (aware - datetime(1970, 1, 1, tzinfo=timezone.utc)) // timedelta(milliseconds=1)


def _check_listener(name: str, listener: Callable[..., Any]) -> Callable[..., Any]:
    if not callable(listener):
        raise TypeError(f"{name} must be a callable, or None, not {type(listener).__name__}")
    if is_coroutine_function(listener):
        raise TypeError(f"{name} must be a plain callable: nobody awaits what an async one gives")
    return listener
