"""The C extension: converts values, steps runs, decides nothing; numbers are those of core/modebox.h."""

from typing import Any, Final, final

@final
class UndefinedType:
    """The type of UNDEFINED."""

    def __bool__(self) -> bool: ...

UNDEFINED: Final[UndefinedType]
"""JavaScript's undefined, for what a host function returns or gets handed on. As a condition it is false."""

class RefusedError(TypeError):
    """A value cannot cross: its path, and why."""

class MalformedError(ValueError):
    """Value bytes that docs/spec/value.md does not allow."""

class BusyError(RuntimeError):
    """Another thread uses the run."""

@final
class Run:
    """One run; one thread at a time, all but `abort` and `end`."""

    @property
    def status(self) -> int:
        """mb_status of the last step."""

    def step(self, slice_ns: int, /) -> int:
        """Runs for about slice_ns without the GIL; mb_status."""

    def next_call(self) -> tuple[int, int, list[Any]] | None:
        """The next host call not yet handed out: id, index of the function, arguments."""

    def settle(self, call_id: int, value: object, slice_ns: int, /) -> int:
        """Gives a call its value and runs for about slice_ns; mb_status.

        Where reading the value raises, the call is still pending.
        """

    def settle_error(self, call_id: int, fields: dict[str, Any], slice_ns: int, /) -> int:
        """Gives a call its error: name, message and perhaps code."""

    def hold_clock(self) -> None:
        """From now on the program's clock does not follow the real time while calls are pending."""

    def take_logs(self) -> list[tuple[int, str]]:
        """Log entries since the last time: guest_log_level, message."""

    def value(self) -> Any:
        """The program's value, after MB_DONE."""

    def error(self) -> dict[str, Any]:
        """The fields of the program's error, after MB_THREW."""

    def outcome(self) -> tuple[int, int, int]:
        """guest_error_kind, mb_limit, mb_trap."""

    def stats(self) -> tuple[int, int, int, int, int, int, int, int]:
        """instantiate_ns, guest_ns, fuel_used, memory_bytes, host_calls, logs_dropped, log_bytes_dropped,
        longest_unchecked."""

    def abort(self) -> None:
        """Ends the run at its next tick. Any thread."""

    def submit(self, completions: Completions, /) -> None:
        """Hands the run to the workers: it is busy until it is taken or withdrawn."""

    def withdraw(self) -> None:
        """Takes the run back from the workers, after the slice under way."""

    def end(self) -> None:
        """Ends the run now, or leaves it to the thread that is stepping it. Any thread."""

@final
class Completions:
    """Where runs arrive that the workers are through with."""

    def fileno(self) -> int:
        """Readable while there is a run to take."""

    def take(self) -> list[Run]:
        """The runs that have arrived."""

def runs_under_way() -> int:
    """How many runs are with the workers."""

def stop_workers() -> None:
    """Ends the threads, after the slices under way. The next submit starts new ones."""

def start(
    source: str,
    filename: str,
    functions: tuple[str, ...],
    mode: int,
    clock_ns: int,
    seed: bytes,
    limits: tuple[int, int, int, int, int, int, int],
    slice_ns: int,
    /,
) -> Run:
    """Begins a run and steps it once, in one section without the GIL.

    Args:
        functions: Names of the host functions.
        mode: guest_mode.
        clock_ns: What the program's clock shows at first.
        limits: fuel, timeout_ns, cpu_ns, memory_bytes, value_bytes, log_bytes, host_calls.
    """

def encode(value: object, limit: int, /) -> bytes:
    """A value as value bytes, at most limit of them."""

def decode(data: bytes, limit: int = ..., /) -> Any:
    """The value of value bytes; with every reference in it written out it has at most limit of them."""

def set_values(values: dict[str, Any], /) -> None:
    """What `_values` gives: the types that stand for JavaScript's, and functions that convert."""
