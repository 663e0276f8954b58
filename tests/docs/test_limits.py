"""The numbers and messages of docs/limits.md are those of the product."""

from __future__ import annotations

import pytest
from docs.pages import code, rows

import modebox
from modebox import Limits, _limits

_UNITS = {"MiB": 1024 * 1024}


def number(cell: str) -> int | None:
    if cell == "none":
        return None
    amount, _, unit = cell.partition(" ")
    return int(amount.replace(",", "")) * _UNITS.get(unit, 1)


def test_the_table_of_limits() -> None:
    table = rows("limits.md", "Limit")
    assert [code(row[0]) for row in table] == list(Limits.__match_args__)
    for name, _, default, least, *_ in table:
        assert (number(default), number(least)) == _limits._TABLE[code(name)]


def test_the_defaults_hold() -> None:
    for name, _, default, *_ in rows("limits.md", "Limit"):
        assert getattr(_limits.Budget().limits, code(name)) == number(default)


_ENDINGS = {
    "timeout_ms": ({"timeout_ms": 20}, "for (;;);"),
    "cpu_timeout_ms": ({"cpu_timeout_ms": 20}, "for (;;);"),
    "fuel": ({"fuel": 100_000}, "for (;;);"),
    "memory_limit_bytes": ({"memory_limit_bytes": 4 << 20}, "const a = []; for (;;) a.push([a.length])"),
    "max_host_calls": ({"max_host_calls": 3}, "for (;;) await f()"),
    "max_value_bytes": ({"max_value_bytes": 1000}, "'x'.repeat(2000)"),
}


@pytest.mark.parametrize("row", rows("limits.md", "Message"))
def test_messages_of_limits(row: list[str]) -> None:
    message, name, kind, catchable = row
    limits, source = _ENDINGS[code(name)]
    functions = {"f": lambda: None}
    error = modebox.run_sync(source, limits=limits, host_functions=functions, throw_on_error=False).error
    assert (str(error), error.kind) == (code(message), code(kind))
    caught = f"try {{ {source} }} catch (e) {{ 'caught' }}"
    result = modebox.run_sync(caught, limits=limits, host_functions=functions, throw_on_error=False)
    if code(name) != "max_value_bytes":
        assert (result.status == "completed") == (catchable == "yes")
