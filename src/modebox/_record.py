"""Frozen dataclasses without importing `dataclasses`, which takes longer than starting the sandbox does.

Type checkers see the real decorator. At run time the same few methods are made here; `dataclasses.fields`,
`asdict` and `replace` work too: `dataclasses` itself describes the fields when somebody asks for them.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class field:  # noqa: N801, as in dataclasses
    """A default that is made anew for each instance."""

    def __init__(self, *, default_factory: Callable[[], Any]) -> None:
        self.default_factory = default_factory


def record(*, frozen: bool) -> Callable[[type], type]:
    """What `dataclasses.dataclass(frozen=True)` does for a class with annotated fields and plain defaults."""
    assert frozen

    def decorate(cls: type) -> type:
        names = tuple(cls.__annotations__)
        defaults = {name: cls.__dict__[name] for name in names if name in cls.__dict__}
        members = {
            "__init__": _make_init(cls, names, defaults),
            "__match_args__": names,
            "__dataclass_fields__": _Fields(names, defaults),
            **_METHODS,
        }
        for name, member in members.items():
            setattr(cls, name, member)
        for name, default in defaults.items():
            if isinstance(default, field):
                delattr(cls, name)
        return cls

    return decorate


def _make_init(cls: type, names: tuple[str, ...], defaults: dict[str, Any]) -> Callable[..., None]:
    parameters = ", ".join(f"{name}=defaults[{name!r}]" if name in defaults else name for name in names)
    lines = [f"def __init__(self, {parameters}):"]
    lines += ["    fields = self.__dict__"]
    lines += [f"    fields[{name!r}] = {_given(name, defaults)}" for name in names]
    if hasattr(cls, "__post_init__"):
        lines.append("    self.__post_init__()")
    scope: dict[str, Any] = {"defaults": defaults}
    exec("\n".join(lines), scope)
    init: Callable[..., None] = scope["__init__"]
    init.__qualname__ = f"{cls.__qualname__}.__init__"
    init.__annotations__ = {**cls.__annotations__, "return": "None"}
    return init


def _given(name: str, defaults: dict[str, Any]) -> str:
    """The expression of a parameter's value."""
    if not isinstance(defaults.get(name), field):
        return name
    default = f"defaults[{name!r}]"
    return f"{name} if {name} is not {default} else {default}.default_factory()"


def _values(self: Any) -> tuple[Any, ...]:
    return tuple(getattr(self, name) for name in self.__match_args__)


def _repr(self: Any) -> str:
    fields = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__match_args__)
    return f"{type(self).__qualname__}({fields})"


def _eq(self: Any, other: object) -> bool:
    return _values(self) == _values(other) if type(other) is type(self) else NotImplemented


def _hash(self: Any) -> int:
    return hash(_values(self))


def _setattr(self: Any, name: str, value: object) -> None:
    raise AttributeError(f"cannot assign to field {name!r}: {type(self).__name__} is frozen")


def _delattr(self: Any, name: str) -> None:
    raise AttributeError(f"cannot delete field {name!r}: {type(self).__name__} is frozen")


_METHODS = {
    "__repr__": _repr,
    "__eq__": _eq,
    "__hash__": _hash,
    "__setattr__": _setattr,
    "__delattr__": _delattr,
}


class _Fields:
    """Describes the fields to `dataclasses` when it first asks."""

    def __init__(self, names: tuple[str, ...], defaults: dict[str, Any]) -> None:
        self._names, self._defaults = names, defaults
        self._described: dict[str, Any] | None = None

    def __get__(self, instance: object, owner: type) -> dict[str, Any]:
        if self._described is None:
            self._described = self._describe(owner)
        return self._described

    def _describe(self, owner: type) -> dict[str, Any]:
        from dataclasses import fields, make_dataclass

        described = make_dataclass(
            owner.__name__,
            [(name, owner.__annotations__[name], self._default(name)) for name in self._names],
        )
        return {each.name: each for each in fields(described)}

    def _default(self, name: str) -> Any:
        from dataclasses import MISSING
        from dataclasses import field as described_field

        default = self._defaults.get(name, MISSING)
        if isinstance(default, field):
            return described_field(default_factory=default.default_factory)
        return described_field(default=default)
