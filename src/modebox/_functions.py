"""Host functions: from the caller's nested mapping to a flat table whose index crosses into the sandbox."""

from __future__ import annotations

from modebox._callables import is_coroutine_function, with_options

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

    HostFunctions = Mapping[str, Callable[..., Any] | "HostFunctions"]
else:
    from _collections_abc import Mapping

_MAX_NESTING = 16

_RESERVED_WORDS = """
await break case catch class const continue debugger default delete do else enum export extends false finally
for function if implements import in instanceof interface let new null package private protected public return
static super switch this throw true try typeof var void while with yield undefined NaN Infinity
"""
_RESERVED = frozenset(_RESERVED_WORDS.split())


class FunctionTable:
    """Host functions by index.

    Attributes:
        names: Full names, with dots: `bank.pay`.
        functions: What each name calls, in the same order.
        given: The callables as the caller gave them.
    """

    __slots__ = ("functions", "given", "names")

    def __init__(self, host_functions: HostFunctions | None) -> None:
        pairs = list(_flatten(host_functions)) if host_functions is not None else ()
        self.names = tuple(name for name, _ in pairs)
        self.given = tuple(function for _, function in pairs)
        self.functions = tuple(with_options(name, function) for name, function in pairs)

    def has_coroutine_function(self) -> bool:
        """Whether some function is surely asynchronous; others may still return awaitables."""
        return any(is_coroutine_function(function) for function in self.given)


NO_FUNCTIONS = FunctionTable(None)


def _flatten(host_functions: object) -> Iterator[tuple[str, Callable[..., Any]]]:
    if not isinstance(host_functions, Mapping):
        raise TypeError(
            f"host_functions must be a mapping of names to callables, not {type(host_functions).__name__}"
        )
    for name, value in host_functions.items():
        _check_name(name, "")
        if name in _RESERVED:
            raise ValueError(f"host function name {name!r} is a reserved word of JavaScript")
        yield from _flatten_member(name, value, 1)


def _flatten_member(full_name: str, value: object, depth: int) -> Iterator[tuple[str, Callable[..., Any]]]:
    if callable(value):
        yield full_name, value
        return
    if not isinstance(value, Mapping):
        kind = type(value).__name__
        raise TypeError(
            f"host function {full_name!r} must be a callable or a mapping of names to them, not {kind}"
        )
    if depth == _MAX_NESTING:
        raise ValueError(f"host functions are nested more than {_MAX_NESTING} deep at {full_name!r}")
    for name, member in value.items():
        _check_name(name, f"{full_name}.")
        yield from _flatten_member(f"{full_name}.{name}", member, depth + 1)


def _check_name(name: object, prefix: str) -> None:
    if not isinstance(name, str):
        raise TypeError(f"host function names must be str, not {type(name).__name__}")
    if "." in name:
        outer, _, inner = name.partition(".")
        nested = f"{{{outer!r}: {{{inner!r}: ...}}}}"
        raise ValueError(f"host function name {prefix + name!r} has a dot: nest it instead, {nested}")
    if not name.replace("$", "_").isidentifier():
        raise ValueError(f"host function name {prefix + name!r} is not a JavaScript identifier")
