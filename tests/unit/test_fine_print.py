"""Small promises that no other file is about: one row each."""

from __future__ import annotations

import asyncio
import dataclasses
import inspect
import logging
import math
import pickle
import time

import pytest

import modebox
from modebox import JsDate, JsEntries, JsError, JsMap, JsRegExp, JsSet, Limits, RunError, Runner
from modebox._outcome import internal_ending


class ServiceError(Exception):
    code = "SERVICE_DOWN"


def fail():
    raise ServiceError("down")


FUNCTIONS = {"now": lambda *values: list(values), "fail": fail, "bank": {"pay": lambda amount: amount}}


def outcome(source, **options):
    """The value, or the kind, code and text of the error; and the log entries' texts."""
    result = modebox.run_sync(source, host_functions=FUNCTIONS, throw_on_error=False, **options)
    error = result.error
    return (error.kind, error.code, str(error)) if error else result.value, [
        log.message for log in result.logs
    ]


# ---- what programs do: the program, what comes of it, its log entries

PROGRAMS = [
    ("1; let x = 2", 1, []),
    ("let x = 2; function f() {}; f()", None, []),
    ("Promise.resolve(Promise.resolve(3))", 3, []),
    ("async () => 5", 5, []),
    ("export default async () => await now(5)", [5], []),
    ("export const a = 4; a", 4, []),
    ("function main() {}", None, ["the program declares main and calls nothing: end it with main()"]),
    ("Promise.reject(new RangeError('x')); 1", 1, ["Unhandled promise rejection: RangeError: x"]),
    ("Promise.reject(1).catch(() => 0); 1", 1, []),
    ("fail(); 1", 1, ["Unhandled promise rejection: ServiceError: down"]),
    ("now(1).then(x => console.log(x[0])); 2", 2, ["1"]),
    ("await Promise.race([new Promise(() => {}), now(3)])", [3], []),
    ("let n = 0; now().then(() => now()).then(() => { n = 1; console.log('later') }); 3", 3, ["later"]),
    (
        "import fs from 'fs'",
        (
            "Syntax",
            "RUN_SYNTAX",
            "SyntaxError: import of 'fs' is not possible here: this sandbox has no modules; "
            "call a host function instead (available: now, fail, bank.pay)",
        ),
        [],
    ),
    (
        "await new Promise(() => {})",
        (
            "Deadlock",
            "RUN_DEADLOCK",
            "DeadlockError: the program waits for a promise that can never settle",
        ),
        [],
    ),
    (
        "bnk.pay(1)",
        ("Uncaught", "RUN_UNCAUGHT", "ReferenceError: bnk is not defined; did you mean bank?"),
        [],
    ),
    (
        "bank.pya(1)",
        ("Uncaught", "RUN_UNCAUGHT", "TypeError: bank.pya is not a function; did you mean bank.pay?"),
        [],
    ),
    ("await fail()", ("Uncaught", "SERVICE_DOWN", "ServiceError: down"), []),
    ("try { await fail() } catch (e) { throw e }", ("Uncaught", "SERVICE_DOWN", "ServiceError: down"), []),
    (
        "try { await fail() } catch (e) { throw Object.assign(new Error(e.message), { code: e.code }) }",
        ("Uncaught", "RUN_UNCAUGHT", "Error: down"),
        [],
    ),
    (
        "throw Object.assign(new Error('x'), { kind: 'Timeout', code: 'RUN_TIMEOUT', name: 'TimeoutError' })",
        ("Uncaught", "RUN_UNCAUGHT", "TimeoutError: x"),
        [],
    ),
]


@pytest.mark.parametrize(("source", "value", "logs"), PROGRAMS, ids=[row[0] for row in PROGRAMS])
def test_program(source, value, logs):
    assert outcome(source) == (value, logs)


def test_a_deadlock_ends_at_once():
    stats = modebox.run_sync("await new Promise(() => {})", throw_on_error=False).stats
    assert stats.wall_ms < 10_000


def test_a_host_call_that_is_not_awaited_is_waited_for():
    async def slow():
        await asyncio.sleep(0.02)
        done.append(1)

    done = []
    result = modebox.run_sync("slow(); 5", host_functions={"slow": slow})
    assert (result.value, done, result.calls[0].state) == (5, [1], "returned")


def test_an_argument_is_what_it_was_at_the_call():
    assert outcome("const a = [1]; const p = now(a); a.push(2); await p") == ([[1]], [])


# ---- what callers do wrong

MISUSE = {
    "an option that is none": ({"timeout": 5}, TypeError, "unexpected keyword argument 'timeout'"),
    "a limit that is none": (
        {"limits": {"timeout": 5}},
        TypeError,
        "unknown limit 'timeout'; the limits are timeout_ms",
    ),
    "a negative limit": ({"limits": {"fuel": -1}}, ValueError, "limits.fuel must be at least 0, not -1"),
    "a fraction": ({"limits": {"fuel": 1.5}}, TypeError, "limits.fuel must be an int .* not float"),
    "a bool": ({"limits": {"fuel": True}}, TypeError, "limits.fuel must be an int .* not bool"),
    "too little memory": (
        {"limits": {"memory_limit_bytes": 2**20 - 1}},
        ValueError,
        "limits.memory_limit_bytes must be at least 1048576",
    ),
    "a dotted name": ({"host_functions": {"a.b": int}}, ValueError, "'a.b' has a dot: nest it instead"),
    "a reserved name": ({"host_functions": {"delete": int}}, ValueError, "'delete' is a reserved word"),
    "no callable": ({"host_functions": {"f": 1}}, TypeError, "'f' must be a callable or a mapping"),
}


@pytest.mark.parametrize("name", MISUSE)
def test_misuse(name):
    options, kind, message = MISUSE[name]
    with pytest.raises(kind, match=message):
        modebox.run_sync("1", **options)


def test_everything_but_source_is_keyword_only():
    for function in (modebox.run, modebox.run_sync):
        with pytest.raises(TypeError, match="positional"):
            function("1", {})
    with pytest.raises(TypeError, match="positional"):
        Runner({})


def test_reserved_words_may_be_members():
    functions = {"db": {"delete": lambda: 1, "class": lambda: 2}}
    assert modebox.run_sync("[await db.delete(), await db.class()]", host_functions=functions).value == [1, 2]


def test_the_default_runner_is_shared():
    assert modebox.run.__self__ is modebox.run_sync.__self__
    assert isinstance(modebox.run.__self__, Runner)


def test_messages_go_to_the_package_s_logger(caplog):
    async def stubborn():
        try:
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(0.1)

    with caplog.at_level(logging.DEBUG):
        functions = {"stubborn": stubborn, "soon": lambda: asyncio.sleep(0.01)}
        modebox.run_sync("stubborn(); await soon(); throw 1", host_functions=functions, throw_on_error=False)
    assert {record.name for record in caplog.records if record.name != "asyncio"} == {"modebox"}


# ---- objects


@pytest.mark.parametrize(
    "value",
    [Limits(fuel=1), JsRegExp("a", "g"), JsError("N", "m"), JsDate(1.0), modebox.run_sync("1").stats],
    ids=lambda value: type(value).__name__,
)
def test_objects_are_frozen_and_show_themselves(value):
    name = next(iter(inspect.signature(type(value)).parameters))
    with pytest.raises(AttributeError, match="frozen"):
        setattr(value, name, 1)
    assert repr(value).startswith(f"{type(value).__name__}(")
    assert pickle.loads(pickle.dumps(value)) == value


def test_what_stands_for_javascript_s_types():
    assert isinstance(JsEntries(), list) and isinstance(JsSet(), list) and isinstance(JsMap(), dict)
    assert JsDate(math.nan) == JsDate(math.nan) != JsDate(1.0) == JsDate(1.0)
    assert JsDate(1.0).ms == 1.0
    fields = [field.name for field in dataclasses.fields(JsError)]
    assert fields == ["name", "message", "stack", "code", "cause", "errors", "properties"]
    assert JsError("N", "m").properties == {}


def test_errors_pickle_with_all_they_say():
    with pytest.raises(RunError) as caught:
        modebox.run_sync("console.log(1); throw new AggregateError([1], 'm', { cause: 2 })")
    again = pickle.loads(pickle.dumps(caught.value))
    assert (str(again), again.kind, again.errors, again.cause) == ("AggregateError: m", "Uncaught", [1], 2)
    assert (again.line, again.column, again.excerpt) == (1, 23, caught.value.excerpt)
    assert again.excerpt.splitlines()[1].index("^") == 22


# ---- limits and sizes


def smallest_limit(source):
    """The least max_value_bytes with which the value crosses."""
    for limit in range(1000):
        result = modebox.run_sync(source, limits={"max_value_bytes": limit}, throw_on_error=False)
        if result.error is None:
            return limit
    raise AssertionError


@pytest.mark.parametrize(("char", "size"), [("x", 1), ("é", 2), ("漢", 3), ("😀", 4)])
def test_a_string_costs_its_utf_8_length(char, size):
    assert smallest_limit(f"'{char}'.repeat(100)") - smallest_limit(f"'{char}'.repeat(90)") == 10 * size


@pytest.mark.parametrize("number", ["1.5", "-1e300", "2 ** 53 - 1", "-(2 ** 53 - 1)", "NaN", "0"])
def test_a_number_costs_at_most_nine_bytes(number):
    assert smallest_limit(f"[{number}, {number}]") - smallest_limit(f"[{number}]") <= 9


def test_depth_counts_containers():
    for container in ("[x]", "({ x })", "new Map([[1, x]])", "new Set([x])"):
        for depth, kind in ((255, None), (256, "Unserializable")):
            source = f"let x = []; for (let i = 0; i < {depth}; i++) x = {container}; x"
            error = modebox.run_sync(source, throw_on_error=False).error
            assert (error and error.kind) == kind, container


def test_waiting_for_a_turn_is_not_in_the_stats():
    async def main():
        async with Runner(max_instances=1) as runner:

            async def nap():
                await asyncio.sleep(0.05)

            first = asyncio.ensure_future(runner.run("await nap()", host_functions={"nap": nap}))
            second = asyncio.ensure_future(runner.run("1", limits={"timeout_ms": 45}))
            started = time.monotonic()
            await first
            stats = (await second).stats
            return time.monotonic() - started, stats.wall_ms

    waited_s, wall_ms = asyncio.run(main())
    assert wall_ms < 45 <= waited_s * 1000


def test_a_host_call_counts_when_it_is_made():
    result = modebox.run_sync(
        "now(1); now(2); throw 1",
        host_functions=FUNCTIONS,
        limits={"max_concurrency": 1},
        throw_on_error=False,
    )
    assert result.stats.host_calls == 2
    assert [call.state for call in result.calls] == ["not_started", "not_started"]


def test_fuel_is_exact_and_the_same_on_either_way():
    source = "let s = 0; for (let i = 0; i < 1e5; i++) s += i; await now(s)"
    used = modebox.run_sync(source, host_functions=FUNCTIONS).stats.fuel_used

    async def main():
        return (await modebox.run(source, host_functions=FUNCTIONS)).stats.fuel_used

    assert asyncio.run(main()) == used
    for given, kind in ((used, None), (used - 1, "CpuLimit")):
        result = modebox.run_sync(
            source, host_functions=FUNCTIONS, limits={"fuel": given}, throw_on_error=False
        )
        assert (result.error and result.error.kind) == kind


def test_an_exception_with_a_cancelled_class_is_an_error_in_the_program():
    async def cancelled():
        raise asyncio.CancelledError("mine")

    source = "try { await f() } catch (e) { [e.name, e.message] }"
    assert modebox.run_sync(source, host_functions={"f": cancelled}).value == ["CancelledError", "mine"]


def test_internal_errors_are_ours_and_show_nothing_of_the_host():
    ending = internal_ending("corrupt")
    assert (ending.kind, ending.name) == ("Internal", "InternalError")
    assert ending.message == "the sandbox broke off (corrupt): this is a bug in modebox, please report it"


def test_plain_seeds_give_random_numbers_too():
    source = "Array.from({ length: 4 }, () => Math.random())"
    seeds = [bytes(32), bytes(31) + b"\x01", b"\x01" + bytes(31), b"\x01" * 32, b"a" * 32]
    draws = [modebox.run_sync(source, seed=seed).value for seed in seeds]
    assert len({number for draw in draws for number in draw}) == 4 * len(seeds)
