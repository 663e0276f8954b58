"""Host functions: names, arguments, order, concurrency, asyncio, contexts, cancelling."""

import asyncio
import contextvars
import functools
import sys
import time
import types

import pytest

import modebox
from modebox import RunError


def value(source, functions, **options):
    return modebox.run_sync(source, host_functions=functions, **options).value


async def async_value(source, functions, **options):
    return (await modebox.run(source, host_functions=functions, **options)).value


# ---- names


def test_nested_names():
    functions = {
        "f": lambda: 1,
        "bank": {"pay": lambda: 2, "card": {"block": lambda: 3, "delete": lambda: 4}},
        "$_é": lambda: 5,
    }
    source = "[await f(), await bank.pay(), await bank.card.block(), await bank.card.delete(), await $_é()]"
    assert value(source, functions) == [1, 2, 3, 4, 5]


def test_any_mapping_will_do():
    functions = types.MappingProxyType({"a": types.MappingProxyType({"f": lambda: 1})})
    assert value("await a.f()", functions) == 1


def test_namespaces_and_functions_are_frozen():
    source = (
        "a.f = 1; a.g = 2; delete a.f; a.f.x = 3; [typeof a.f, typeof a.g, typeof a.f.x, Object.isFrozen(a)]"
    )
    assert value(source, {"a": {"f": int}}) == ["function", "undefined", "undefined", True]


def test_a_name_may_shadow_a_builtin():
    assert value("await Math.max(1, 2)", {"Math": {"max": lambda *_: "ours"}}) == "ours"


def test_member_named_like_a_prototype():
    assert value(
        "[await a.__proto__(), await a.constructor()]",
        {"a": {"__proto__": lambda: 1, "constructor": lambda: 2}},
    ) == [1, 2]


@pytest.mark.parametrize(
    ("functions", "error", "message"),
    [
        ({"a-b": int}, ValueError, "host function name 'a-b' is not a JavaScript identifier"),
        ({"": int}, ValueError, "host function name '' is not a JavaScript identifier"),
        ({"1a": int}, ValueError, "host function name '1a' is not a JavaScript identifier"),
        ({"a": {"b c": int}}, ValueError, "host function name 'a.b c' is not a JavaScript identifier"),
        ({"a.b": int}, ValueError, "host function name 'a.b' has a dot: nest it instead, {'a': {'b': ...}}"),
        ({"class": int}, ValueError, "host function name 'class' is a reserved word of JavaScript"),
        ({"await": int}, ValueError, "host function name 'await' is a reserved word of JavaScript"),
        ({1: int}, TypeError, "host function names must be str, not int"),
        ({"a": 3}, TypeError, "host function 'a' must be a callable or a mapping of names to them, not int"),
        (
            {"a": {"b": None}},
            TypeError,
            "host function 'a.b' must be a callable or a mapping of names to them, not NoneType",
        ),
        ([int], TypeError, "host_functions must be a mapping of names to callables, not list"),
    ],
)
def test_misuse(functions, error, message):
    with pytest.raises(error) as caught:
        value("1", functions)
    assert str(caught.value) == message


def test_a_mapping_inside_itself_is_refused():
    functions = {}
    functions["a"] = functions
    with pytest.raises(ValueError, match="nested more than 16 deep"):
        value("1", functions)


# ---- arguments and values


def test_arguments():
    assert value(
        "await f(1, 'a', [null, 2n ** 70n], { k: new Uint8Array([1]) })", {"f": lambda *a: list(a)}
    ) == [
        1,
        "a",
        [None, 2**70],
        {"k": b"\x01"},
    ]


def test_trailing_undefined_is_left_out():
    def count(*arguments):
        return len(arguments)

    assert value(
        "[await f(), await f(undefined), await f(1, undefined), await f(undefined, 1, undefined)]",
        {"f": count},
    ) == [0, 0, 1, 2]


def test_arguments_are_those_of_the_moment_of_the_call():
    assert value("const a = [1]; const p = f(a); a.push(2); await p", {"f": lambda a: a}) == [1]


def test_each_call_has_arguments_of_its_own():
    def grow(rows):
        rows.append(0)
        return len(rows)

    assert value("const a = [1]; [await f(a), await f(a), a.length]", {"f": grow}) == [2, 2, 1]


def test_too_few_arguments_is_a_type_error_in_the_program():
    assert value("try { await f() } catch (e) { e.name }", {"f": lambda x: x}) == "TypeError"


def test_an_argument_that_cannot_cross_is_a_type_error_in_the_program():
    called = []
    source = "try { await a.f(1, { g: [() => 1] }) } catch (e) { e.name + ': ' + e.message }"
    message = value(source, {"a": {"f": called.append}})
    assert message.startswith("TypeError: ")
    assert "[1].g[0] is a function, which cannot cross the sandbox boundary" in message
    assert not called


# ---- order


@pytest.mark.parametrize("is_async", [False, True])
def test_calls_start_in_the_order_of_the_program(is_async):
    started = []

    async def run_async(name, seconds):
        started.append(name)
        await asyncio.sleep(seconds)
        return name

    def run_plain(name, _):
        started.append(name)
        return name

    source = """
        const all = await Promise.all([f('a', .02), f('b', .01), f('c', 0)]);
        all.concat(await Promise.race([f('d', .01), f('e', 0)]))
    """
    result = value(source, {"f": run_async if is_async else run_plain})
    assert result == ["a", "b", "c", "e" if is_async else "d"]
    assert started == ["a", "b", "c", "d", "e"]


def test_calls_that_are_not_awaited_are_made():
    seen = []
    assert value("f(1); f(2); 'value'", {"f": seen.append}) == "value"
    assert seen == [1, 2]


def test_calls_that_were_not_started_are_dropped_when_the_program_throws():
    seen = []
    with pytest.raises(RunError, match="Error: stop"):
        value("f(1); throw new Error('stop')", {"f": seen.append})
    with pytest.raises(RunError, match="Error: stop"):
        value("await f(2); f(3); throw new Error('stop')", {"f": seen.append})
    assert seen == [2]


def test_running_calls_are_cancelled_when_the_program_throws():
    ended = []

    async def wait():
        try:
            await asyncio.sleep(60)
        finally:
            ended.append("cancelled")

    async def fail():
        await asyncio.sleep(0.01)
        raise ValueError("stop")

    with pytest.raises(RunError, match="ValueError: stop"):
        asyncio.run(
            modebox.run("await Promise.all([wait(), fail()])", host_functions={"wait": wait, "fail": fail})
        )
    assert ended == ["cancelled"]


@pytest.mark.parametrize("most", [1, 3, 32])
def test_max_concurrency(most):
    running, peak, order = 0, 0, []

    async def work(i):
        nonlocal running, peak
        order.append(i)
        running += 1
        peak = max(peak, running)
        await asyncio.sleep(0.001)
        running -= 1
        return i

    source = "(await Promise.all(Array.from({ length: 20 }, (_, i) => f(i)))).length"
    assert value(source, {"f": work}, limits={"max_concurrency": most}) == 20
    assert peak == min(most, 20)
    assert order == list(range(20))


# ---- awaitables


class Later:
    def __init__(self, result):
        self.result = result

    def __await__(self):
        yield from asyncio.sleep(0).__await__()
        return self.result


@types.coroutine
def old_style(x):
    yield from asyncio.sleep(0).__await__()
    return x


async def double(x):
    return x * 2


async def double_later(x):
    await asyncio.sleep(0.001)
    return x * 2


class Service:
    async def method(self, x):
        return x * 2

    async def __call__(self, x):
        return x * 2


AWAITABLES = {
    "coroutine function": double,
    "one that suspends": double_later,
    "lambda": lambda x: double(x),
    "partial": functools.partial(double),
    "method": Service().method,
    "callable object": Service(),
    "future": lambda x: asyncio.ensure_future(double_later(x)),
    "awaitable object": lambda x: Later(x * 2),
    "generator-based coroutine": lambda x: old_style(x * 2),
}


@pytest.mark.parametrize("function", AWAITABLES.values(), ids=AWAITABLES)
def test_any_awaitable_is_awaited(function):
    source = "[await f(1), ...await Promise.all([f(2), f(3)])]"
    assert asyncio.run(async_value(source, {"f": function})) == [2, 4, 6]


@pytest.mark.parametrize("name", [name for name in AWAITABLES if name != "future"])
def test_run_sync_makes_a_loop_where_it_needs_one(name):
    functions = {"plain": lambda x: x, "f": AWAITABLES[name]}
    assert value("[await plain(1), await f(2), await plain(3), await f(4)]", functions) == [1, 4, 3, 8]


def test_plain_functions_run_on_the_loop_of_the_caller():
    async def main():
        loop = asyncio.get_running_loop()
        return await async_value("await f()", {"f": lambda: asyncio.get_running_loop() is loop})

    assert asyncio.run(main())


def test_a_coroutine_is_a_task_of_its_own():
    async def task_name():
        return asyncio.current_task() is not None and asyncio.current_task().get_name()

    async def timed():
        try:
            await asyncio.wait_for(asyncio.sleep(60), 0.01)
        except asyncio.TimeoutError:
            return "timed out"

    async def main():
        own = asyncio.current_task().get_name()
        name, text = await async_value("[await a(), await b()]", {"a": task_name, "b": timed})
        assert name != own
        assert text == "timed out"

    asyncio.run(main())


@pytest.mark.skipif(sys.version_info < (3, 12), reason="eager tasks")
def test_a_coroutine_starts_at_once():
    order = []

    async def f(name):
        order.append(name)
        await asyncio.sleep(0)

    async def main():
        run = asyncio.create_task(
            async_value("await Promise.all([f('a'), f('b')]); g('c')", {"f": f, "g": order.append})
        )
        await asyncio.sleep(0)
        seen = list(order)
        await run
        return seen

    assert asyncio.run(main()) == ["a", "b"]


def test_many_plain_calls_let_the_loop_breathe():
    async def main():
        ticks = 0

        async def tick():
            nonlocal ticks
            while True:
                ticks += 1
                await asyncio.sleep(0)

        ticking = asyncio.create_task(tick())
        await async_value("for (let i = 0; i < 500; i++) await f()", {"f": lambda: time.sleep(0.0001)})
        ticking.cancel()
        return ticks

    assert asyncio.run(main()) > 20


# ---- contexts


def test_functions_see_the_context_of_the_caller_and_do_not_change_it():
    variable = contextvars.ContextVar("variable", default="unset")

    def plain():
        before = variable.get()
        variable.set("plain")
        return before

    async def coroutine():
        before = variable.get()
        variable.set("coroutine")
        await asyncio.sleep(0)
        return [before, variable.get()]

    source = "[await plain(), await coroutine(), ...await Promise.all([coroutine(), plain()])]"
    functions = {"plain": plain, "coroutine": coroutine}
    expected = ["caller", ["caller", "coroutine"], ["caller", "coroutine"], "caller"]

    async def main():
        variable.set("caller")
        result = await async_value(source, functions)
        assert variable.get() == "caller"
        return result

    assert asyncio.run(main()) == expected
    token = variable.set("caller")
    assert value(source, functions) == expected
    assert variable.get() == "caller"
    variable.reset(token)


# ---- timeouts


@pytest.mark.parametrize("source", ["await f()", "await Promise.all([f(), f(), f()])", "f(); 1"])
def test_a_timeout_cancels_pending_calls(source):
    ended = []

    async def wait():
        try:
            await asyncio.sleep(60)
        finally:
            ended.append(1)

    started = time.perf_counter()
    with pytest.raises(RunError) as caught:
        asyncio.run(async_value(source, {"f": wait}, limits={"timeout_ms": 30}))
    assert caught.value.kind == "Timeout"
    assert time.perf_counter() - started < 5
    assert len(ended) == source.count("f()")


def test_a_timeout_after_a_plain_function_that_blocked():
    with pytest.raises(RunError) as caught:
        value("await f(); 1", {"f": lambda: time.sleep(0.05)}, limits={"timeout_ms": 20})
    assert caught.value.kind == "Timeout"


def test_a_timeout_while_the_executor_has_no_thread():
    async def main():
        loop = asyncio.get_running_loop()
        from concurrent.futures import ThreadPoolExecutor

        loop.set_default_executor(ThreadPoolExecutor(1))
        blocked = loop.run_in_executor(None, time.sleep, 0.3)
        started = time.perf_counter()
        with pytest.raises(RunError) as caught:
            await modebox.run("while (true);", limits={"timeout_ms": 30})
        assert caught.value.kind == "Timeout"
        assert time.perf_counter() - started < 0.25
        await blocked

    asyncio.run(main())


def test_coroutines_that_were_never_started_raise_no_warning():
    async def never():
        await asyncio.sleep(60)

    async def main():
        task = asyncio.create_task(async_value("await Promise.all([f(), f()])", {"f": never}))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
