"""RunError, its kinds, and what crosses of an error: into the program and out of it."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from modebox._results import LogEntry, Stats

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
        line: Line in the source as given, 1-based; None where unknown.
        column: Column in that line, 1-based, in UTF-16 code units as JavaScript engines count.
        excerpt: The source line with a caret under the column, in two lines; None where unknown.
    """

    def __init__(
        self,
        name: str,
        message: str,
        kind: str,
        *,
        logs: list[LogEntry],
        stats: Stats,
        code: str | None = None,
        sandbox_stack: str | None = None,
        line: int | None = None,
        column: int | None = None,
        excerpt: str | None = None,
    ) -> None:
        super().__init__(f"{name}: {message}")
        self.name = name
        self.message = message
        self.kind = kind
        self.code = code if code is not None else CODES[kind]
        self.sandbox_stack = sandbox_stack
        self.logs = logs
        self.stats = stats
        self.line = line
        self.column = column
        self.excerpt = excerpt

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (type(self), self.args), self.__dict__


def _restore(cls: type[RunError], args: tuple[Any, ...]) -> RunError:
    return cls.__new__(cls, *args)


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


def _message_of(error: BaseException) -> str:
    """An OSError's text would name files; what the system says about it does not."""
    if isinstance(error, OSError) and isinstance(error.strerror, str):
        return error.strerror
    try:
        return str(error)
    except Exception:
        return ""


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
