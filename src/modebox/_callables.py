"""What a callable is made of: whether it is async, and its keyword-only parameters.

In the program those are a trailing plain object: `def send(to, *, cc=None)` is `send(to, {cc: ...})`.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from functools import partial
    from types import CodeType
    from typing import Any
    from weakref import WeakKeyDictionary
else:
    from _functools import partial

_COROUTINE_FUNCTION = 0x80  # inspect.CO_COROUTINE
_CodeType = type((lambda: None).__code__)
_MOST_LAYERS = 16  # of wrappers; an object may answer to any name


def code_of(function: object) -> CodeType | None:
    """The code beneath methods, partials, classes and callable objects; None where it is not Python's."""
    for _ in range(_MOST_LAYERS):
        if not isinstance(function, partial):
            break
        function = function.func
    code = getattr(function, "__code__", None)
    if not isinstance(code, _CodeType):
        entry = function.__init__ if isinstance(function, type) else type(function).__call__  # type: ignore[misc]
        code = getattr(entry, "__code__", None)
    return code if isinstance(code, _CodeType) else None


def is_coroutine_function(function: object) -> bool:
    """Whether it is surely asynchronous; others may still return awaitables."""
    code = code_of(function)
    return code is not None and code.co_flags & _COROUTINE_FUNCTION != 0


def with_options(full_name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, or where it has keyword-only parameters what fills them from a trailing plain object."""
    code = code_of(_unwrapped(function))
    return function if code is None or not code.co_kwonlyargcount else _WithOptions(full_name, function)


def _unwrapped(function: object) -> object:
    """Beneath functools.wraps."""
    for _ in range(_MOST_LAYERS):
        inner = getattr(function, "__wrapped__", None)
        if inner is None:
            break
        function = inner
    return function


class _WithOptions:
    """A host function that takes its keyword-only parameters from a trailing plain object."""

    __slots__ = ("_full_name", "_function", "_shape")

    def __init__(self, full_name: str, function: Callable[..., Any]) -> None:
        self._full_name = full_name
        self._function = function
        self._shape: _Shape | None = None

    def __call__(self, *arguments: Any) -> Any:
        if not arguments or type(arguments[-1]) is not dict:
            return self._function(*arguments)
        if self._shape is None:
            self._shape = _shape_of(self._function)
        if len(arguments) <= self._shape.required:
            return self._function(*arguments)
        *positional, options = arguments
        self._shape.check(self._full_name, options)
        return self._function(*positional, **options)


class _Shape:
    """What of a signature decides where its arguments come from.

    Attributes:
        required: How many positional parameters have no default: they are filled first.
        names: Of keyword-only parameters; None: any name will do.
    """

    __slots__ = ("names", "required")

    def __init__(self, function: Callable[..., Any]) -> None:
        from inspect import Parameter, signature

        parameters = signature(function).parameters.values()
        positional = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
        self.required = sum(each.kind in positional and each.default is each.empty for each in parameters)
        self.names: tuple[str, ...] | None = tuple(
            each.name for each in parameters if each.kind is each.KEYWORD_ONLY
        )
        if any(each.kind is each.VAR_KEYWORD for each in parameters):
            self.names = None

    def check(self, full_name: str, options: dict[str, Any]) -> None:
        """
        Raises:
            TypeError: An option that the function does not have.
        """
        if self.names is None:
            return
        for name in options:
            if name not in self.names:
                raise TypeError(
                    f"{full_name} has no option {name!r}; its options are {', '.join(self.names)}"
                )


_shapes: WeakKeyDictionary[Callable[..., Any], _Shape] | None = None


def _shape_of(function: Callable[..., Any]) -> _Shape:
    """Each function's is found out once."""
    global _shapes
    if _shapes is None:
        from weakref import WeakKeyDictionary

        _shapes = WeakKeyDictionary()
    try:
        shape = _shapes.get(function)
        if shape is None:
            shape = _shapes[function] = _Shape(function)
    except TypeError:  # it has no hash, or takes no weak references
        shape = _Shape(function)
    return shape
