"""RunError, its kinds, and what crosses of an error: into the program and out of it."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from modebox._results import CallRecord, LogEntry, Stats

# RunError.kind: RunError.code where no host function set one
CODES = {
    "Uncaught": "RUN_UNCAUGHT",
    "Syntax": "RUN_SYNTAX",
    "Timeout": "RUN_TIMEOUT",
    "CpuTimeout": "RUN_CPU_TIMEOUT",
    "CpuLimit": "RUN_CPU_LIMIT",
    "MemoryLimit": "RUN_MEMORY_LIMIT",
    "HostCallLimit": "RUN_HOST_CALL_LIMIT",
    "StackOverflow": "RUN_STACK_OVERFLOW",
    "Deadlock": "RUN_DEADLOCK",
    "Unserializable": "RUN_UNSERIALIZABLE",
    "Aborted": "RUN_ABORTED",
    "Internal": "RUN_INTERNAL",
}

_EXCERPT_WIDTH = 100


class RunError(Exception):
    """A run that did not complete. It can be pickled.

    `str()` is "Name: message"; `__cause__` is a host function's exception that the program did not catch.

    Attributes:
        name: Name of the error in the program ("TypeError"), or of the limit ("TimeoutError").
        message: Its message.
        kind: Which of these ended the run:

            ==============  ==================================================================
            Uncaught        the program threw, or did not catch what a host function raised
            Syntax          the source is not JavaScript, or is larger than 16 MiB
            Timeout         `timeout_ms`
            CpuTimeout      `cpu_timeout_ms`
            CpuLimit        `fuel`
            MemoryLimit     `memory_limit_bytes`
            HostCallLimit   `max_host_calls`
            StackOverflow   too deep a recursion
            Deadlock        the program waits for what can never happen
            Unserializable  the program's value cannot cross to Python, or `max_value_bytes`
            Aborted         `Runner.close()` ended the run
            Internal        a bug in modebox
            ==============  ==================================================================
        code: "RUN_" and the kind in constant case; of a host function's exception its own `code`, if a str.
        sandbox_stack: The program's stack frames, one a line; None where there are none.
        logs: The program's console calls up to the end.
        stats: What the run took.
        calls: The program's host calls, in order: what took effect although the run failed.
        reason: Why a continuation was refused; None for other kinds.
        line: Line in the source as given, 1-based; None where unknown.
        column: Column in that line, 1-based, in UTF-16 code units as JavaScript engines count.
        excerpt: The source line with a caret under the column, in two lines; None where unknown.
        cause: The `cause` of the program's error, as a Python value; None where it has none.
        errors: The `errors` of the program's AggregateError; empty for others.

    The attributes are read-only.
    """

    name: str
    message: str
    kind: str
    code: str
    sandbox_stack: str | None
    logs: list[LogEntry]
    stats: Stats
    calls: list[CallRecord]
    reason: str | None
    line: int | None
    column: int | None
    excerpt: str | None
    cause: Any
    errors: list[Any]

    def __init__(
        self,
        name: str,
        message: str,
        kind: str,
        *,
        logs: list[LogEntry],
        stats: Stats,
        calls: list[CallRecord],
        code: str | None = None,
        sandbox_stack: str | None = None,
        reason: str | None = None,
        line: int | None = None,
        column: int | None = None,
        excerpt: str | None = None,
        cause: Any = None,
        errors: list[Any] | None = None,
    ) -> None:
        super().__init__(f"{name}: {message}")
        self.__dict__.update(
            name=name,
            message=message,
            kind=kind,
            code=code if code is not None else CODES[kind],
            sandbox_stack=sandbox_stack,
            logs=logs,
            stats=stats,
            calls=calls,
            reason=reason,
            line=line,
            column=column,
            excerpt=excerpt,
            cause=cause,
            errors=errors if errors is not None else [],
        )

    def __setattr__(self, name: str, value: object) -> None:
        if name in RunError.__annotations__:
            raise AttributeError(f"cannot assign to {name!r}: a RunError is read-only")
        super().__setattr__(name, value)  # __cause__, __notes__ and others that Python itself sets

    def __repr__(self) -> str:
        place = f" at line {self.line}, column {self.column}" if self.line is not None else ""
        return f"<RunError {self.kind}{place}: {self}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (type(self), self.args, self.__dict__)


def _restore(cls: type[RunError], args: tuple[Any, ...], attributes: dict[str, Any]) -> RunError:
    error = cls.__new__(cls, *args)
    error.__dict__.update(attributes)
    return error


def code_of(error: BaseException | None) -> str | None:
    """The error's own `code`, if it is a str."""
    try:
        code = getattr(error, "code", None)
    except Exception:
        return None
    return code if isinstance(code, str) else None


def fields_of(error: BaseException) -> dict[str, str]:
    """What the program gets to see of a host function's exception: no traceback, no path, no repr."""
    fields = {"name": type(error).__name__, "message": _message_of(error)}
    code = code_of(error)
    if code is not None:
        fields["code"] = code
    return fields


def chain_of(error: BaseException) -> dict[str, Any]:
    """The same, with what it was raised from as `cause` and a group's exceptions as `errors`."""
    fields: dict[str, Any] = {**fields_of(error)}
    if error.__cause__ is not None:
        fields["cause"] = error.__cause__
    errors = getattr(error, "exceptions", None)
    if isinstance(errors, tuple):
        fields["errors"] = list(errors)
    return fields


def _message_of(error: BaseException) -> str:
    """The text of an exception, without what Python itself would put there of the host: paths, reprs."""
    try:
        if isinstance(error, OSError) and isinstance(error.strerror, str):
            return error.strerror
        if len(error.args) == 1 and type(error).__str__ in _OF_ARGUMENTS:
            return _text_of(error.args[0])
        return str(error)
    except Exception:
        return ""


_OF_ARGUMENTS = (BaseException.__str__, KeyError.__str__)


def _text_of(argument: object) -> str:
    """KeyError would show a repr of it, an object may have nothing else to show, an OSError names a file."""
    if isinstance(argument, BaseException):
        return _message_of(argument)
    if type(argument).__str__ is object.__str__ and type(argument).__repr__ is object.__repr__:
        return type(argument).__name__
    return str(argument)


def excerpt_of(source: str, line: int | None, column: int | None) -> str | None:
    """The line with a caret under the column, cut to a width that fits a terminal."""
    if line is None or column is None:
        return None
    lines = source.replace("\r\n", "\n").split("\n")
    if not 0 < line <= len(lines):
        return None
    text = lines[line - 1]
    at = _index_of(text, column)
    start = max(0, min(at - _EXCERPT_WIDTH // 2, len(text) - _EXCERPT_WIDTH))
    shown = text[start : start + _EXCERPT_WIDTH]
    indent = "".join("\t" if char == "\t" else " " for char in text[start:at])
    return f"{shown}\n{indent}^"


def _index_of(text: str, column: int) -> int:
    """The index of a 1-based column that counts UTF-16 code units."""
    left = column - 1
    for index, char in enumerate(text):
        if left <= 0:
            return index
        left -= 2 if char > "\uffff" else 1
    return len(text)
