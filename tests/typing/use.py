"""The public names as a caller uses them. It is never run: type checkers read it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal

from typing_extensions import assert_type

import modebox
from modebox import (
    UNDEFINED,
    CallRecord,
    HostFunctionContext,
    JsDate,
    JsEntries,
    JsError,
    JsMap,
    JsRegExp,
    JsSet,
    Limits,
    LogEntry,
    RunError,
    Runner,
    RunResult,
    Stats,
    get_host_function_context,
    new_secret,
)


def add(a: int, b: int = 1, *, scale: float = 1.0) -> float:
    return (a + b) * scale


async def fetch(url: str) -> dict[str, Any]:
    context = get_host_function_context()
    assert_type(context, HostFunctionContext)
    assert_type(context.call_id, int)
    assert_type(context.host_function_name, str)
    return {"url": url, "missing": UNDEFINED}


class Bank:
    def pay(self, to: str, amount: int) -> None: ...


def functions() -> Mapping[str, Any]:
    return {"add": add, "fetch": fetch, "bank": {"pay": Bank().pay, "card": {"block": lambda: None}}}


def on_log(entry: LogEntry) -> None:
    assert_type(entry.level, str)
    assert_type(entry.message, str)


def on_call(name: str, call_id: int) -> None: ...


def plain() -> None:
    result = modebox.run_sync("1 + 1")
    assert_type(result, RunResult)
    assert_type(result.value, Any)
    assert_type(result.unwrap(), Any)
    assert_type(result.status, Literal["completed", "interrupted", "failed"])
    assert_type(result.logs, list[LogEntry])
    assert_type(result.calls, list[CallRecord])
    assert_type(result.error, RunError | None)
    assert_type(result.continuation, str | None)
    stats = result.stats
    assert_type(stats, Stats)
    assert_type(stats.wall_ms, float)
    assert_type(stats.fuel_used, int)
    for call in result.calls:
        assert_type(call.id, int)
        assert_type(call.ms, float)
        if call.state == "returned":
            assert_type(call.state, Literal["returned"])


def options() -> None:
    runner = Runner(limits=Limits(timeout_ms=100), max_instances=4, metering=True, cache_dir="/tmp")
    runner.run_sync(
        "await add(1)",
        host_functions=functions(),
        limits={"fuel": 1000, "cpu_timeout_ms": None},
        seed=b"0" * 32,
        virtual_time=datetime(2024, 1, 1),
        mode="script",
        filename="a.ts",
        on_log=on_log,
        on_call=on_call,
        throw_on_error=False,
    )
    runner.run_sync("1", seed="00" * 32, virtual_time=True, mode=None)
    runner.run_sync("1", host_functions={"add": add, "bank": {"pay": Bank().pay}}, virtual_time=0)
    assert_type(runner.close(), None)


async def awaited() -> None:
    assert_type(await modebox.run("1"), RunResult)
    async with Runner() as runner:
        assert_type(runner, Runner)
        assert_type((await runner.run("await fetch('a')", host_functions={"fetch": fetch})).value, Any)
    with Runner() as again:
        assert_type(again, Runner)


def failed() -> None:
    try:
        modebox.run_sync("null.x")
    except RunError as error:
        assert_type(error.name, str)
        assert_type(error.message, str)
        assert_type(error.kind, str)
        assert_type(error.code, str)
        assert_type(error.sandbox_stack, str | None)
        assert_type(error.line, int | None)
        assert_type(error.column, int | None)
        assert_type(error.excerpt, str | None)
        assert_type(error.cause, Any)
        assert_type(error.errors, list[Any])
        assert_type(error.logs, list[LogEntry])
        assert_type(error.calls, list[CallRecord])
        assert_type(error.stats, Stats)
        assert_type(error.reason, str | None)


def values() -> None:
    assert_type(JsDate(5.0).ms, float)
    assert_type(JsRegExp("a", "g").source, str)
    assert_type(JsError("TypeError", "no", code="E").code, str | None)
    mapping: dict[Any, Any] = JsMap({"a": 1})
    lists: list[list[Any]] = [JsSet([1]), JsEntries([("a", 1)])]
    modebox.run_sync("await f()", host_functions={"f": lambda: [mapping, lists]})
    assert_type(new_secret(), str)
    assert_type(modebox.__version__, str)
    assert_type(Limits(fuel=1).fuel, int | None)


def mistakes(result: RunResult) -> None:
    modebox.run_sync(1)  # type: ignore[arg-type]
    modebox.run_sync("1", {"f": add})  # type: ignore[call-arg]
    modebox.run_sync("1", timeout=5)  # type: ignore[call-arg]
    modebox.run_sync("1", mode="module")  # type: ignore[arg-type]
    modebox.run_sync("1", host_functions={"f": 1})  # type: ignore[dict-item]
    modebox.run_sync("1", limits={"fuel": "1"})  # type: ignore[dict-item]
    modebox.run_sync("1", on_log=on_call)  # type: ignore[arg-type]
    Limits(fule=1)  # type: ignore[call-arg]
    Runner(max_instances="4")  # type: ignore[arg-type]
    result.value = 1  # type: ignore[misc]
