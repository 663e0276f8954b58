"""The host functions that cases name in their `host` field."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Mapping
from datetime import datetime, timezone
from typing import Any

import modebox

Record = Callable[..., None]


class GoneError(LookupError):
    """An error with a code."""

    code = "E_GONE"


def nest(depth: int, inner: object = None) -> object:
    """A list in a list in a list, depth containers in all."""
    value: object = [] if inner is None else inner
    for _ in range(depth - 1):
        value = [value]
    return value


def cyclic() -> list[object]:
    """A list that holds itself."""
    value: list[object] = []
    value.append(value)
    return value


def shared() -> list[object]:
    """A list that holds another one twice."""
    inner = [1]
    return [inner, inner]


def evaluate(expression: str) -> Any:
    """A Python value that JSON cannot say."""
    from array import array
    from decimal import Decimal

    names = {"nan": float("nan"), "inf": float("inf"), "nest": nest, "cyclic": cyclic, "shared": shared}
    kinds = {"array": array, "datetime": datetime, "timezone": timezone, "Decimal": Decimal}
    return eval(expression, {**vars(modebox), **names, **kinds})


def build(names: list[str], given: str | None, calls: list[list[Any]]) -> dict[str, Any]:
    """The `host_functions` argument with these functions.

    Args:
        names: Names of functions in the table below, with dots for namespaces.
        given: The Python expression that `give` returns the value of.
        calls: Gets the name and the arguments of each call, in order.
    """
    table = _table(given)
    tree: dict[str, Any] = {}
    for name in names:
        *spaces, member = name.split(".")
        space = tree
        for part in spaces:
            space = space.setdefault(part, {})
        space[member] = _recorded(name, table[name], calls)
    return tree


def _recorded(name: str, function: Callable[..., Any], calls: list[list[Any]]) -> Callable[..., Any]:
    if inspect.iscoroutinefunction(function):

        async def recorded_later(*arguments: Any) -> Any:
            calls.append([name, *arguments])
            return await function(*arguments)

        return recorded_later

    def recorded(*arguments: Any) -> Any:
        calls.append([name, *arguments])
        return function(*arguments)

    return recorded


def _fail(message: str = "refused") -> None:
    raise ValueError(message)


async def _fail_later(message: str = "refused") -> None:
    await asyncio.sleep(0)
    raise ValueError(message)


def _fail_code(message: str) -> None:
    raise GoneError(message)


async def _later(value: object = None) -> object:
    await asyncio.sleep(0)
    return value


async def _slow(milliseconds: float, value: object = None) -> object:
    await asyncio.sleep(milliseconds / 1000)
    return value


async def _page(number: int) -> dict[str, Any]:
    await asyncio.sleep(0)
    return {"items": [2 * number, 2 * number + 1], "next": number + 1 if number < 2 else None}


def _table(given: str | None) -> Mapping[str, Callable[..., Any]]:
    same = [1, 2]
    return {
        "echo": lambda value=None: value,
        "later": _later,
        "slow": _slow,
        "page": _page,
        "list": lambda *arguments: list(arguments),
        "count": lambda *arguments: len(arguments),
        "add": lambda a, b: a + b,
        "optional": lambda a, b=7: [a, b],
        "same": lambda: same,
        "nothing": lambda: None,
        "give": lambda: evaluate(given or "None"),
        "fail": _fail,
        "fail_later": _fail_later,
        "fail_code": _fail_code,
        "bank.balance": lambda name: 120,
        "bank.pay": lambda to, amount: None,
        "tools.text.upper": str.upper,
        "db.delete": lambda row: f"deleted {row}",
        "a.get": lambda value: f"a{value}",
        "b.get": lambda value: f"b{value}",
        "Math.double": lambda value: value * 2,
        "parseInt": lambda text: f"parsed {text}",
        "fetch": lambda url: f"fetched {url}",
    }
