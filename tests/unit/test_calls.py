"""Host calls as the caller sees them: records, contexts, listeners, keyword-only parameters."""

import asyncio
import copy
import functools
import pickle
import sys
import threading

import pytest

import modebox
from modebox import CallRecord, HostFunctionContext, LogEntry, RunError, Runner, get_host_function_context


def value(source, functions, **options):
    return modebox.run_sync(source, host_functions=functions, **options).value


def states(result):
    return [(call.id, call.host_function_name, call.state) for call in result.calls]


async def nap(*_):
    await asyncio.sleep(0.001)


async def long_nap(*_):
    await asyncio.sleep(60)


def fail(*_):
    raise ValueError("no")


# ---- records


def test_no_calls():
    assert modebox.run_sync("1").calls == []
    assert modebox.run_sync("null.x", throw_on_error=False).calls == []


def test_all_calls_in_the_order_of_the_program():
    source = """
        await a.f(1);
        try { await g() } catch {}
        await Promise.all([nap(3), a.f(4), nap(5)])
        'done'
    """
    functions = {"a": {"f": lambda x: x}, "g": fail, "nap": nap}
    expected = [
        (1, "a.f", "returned"),
        (2, "g", "raised"),
        (3, "nap", "returned"),
        (4, "a.f", "returned"),
        (5, "nap", "returned"),
    ]
    for result in (
        modebox.run_sync(source, host_functions=functions),
        asyncio.run(modebox.run(source, host_functions=functions)),
    ):
        assert states(result) == expected
        assert all(isinstance(call, CallRecord) and call.ms >= 0 for call in result.calls)
        assert result.calls is result.calls
        assert result.calls[2].ms >= 1


def test_a_coroutine_that_raises():
    async def fail_later():
        await asyncio.sleep(0)
        raise ValueError

    source = "try { await f() } catch {} await g()"
    result = modebox.run_sync(source, host_functions={"f": fail_later, "g": nap})
    assert states(result) == [(1, "f", "raised"), (2, "g", "returned")]


def test_a_value_that_cannot_cross_is_an_error_of_the_call():
    result = modebox.run_sync("try { await f() } catch {} 1", host_functions={"f": object})
    assert states(result) == [(1, "f", "raised")]


def test_calls_of_a_program_that_threw():
    functions = {"f": lambda: 1, "wait": long_nap}
    result = modebox.run_sync(
        "await f(); wait(); wait(); f(); f(); throw 1",
        host_functions=functions,
        limits={"max_concurrency": 2},
        throw_on_error=False,
    )
    assert states(result) == [
        (1, "f", "returned"),
        (2, "wait", "not_started"),
        (3, "wait", "not_started"),
        (4, "f", "not_started"),
        (5, "f", "not_started"),
    ]
    assert [call.ms for call in result.calls[1:]] == [0, 0, 0, 0]
    assert result.calls == result.error.calls


def test_a_call_that_was_cancelled_while_it_ran_is_unknown():
    async def stop():
        await asyncio.sleep(0.01)
        raise ValueError

    source = "await Promise.all([wait(), wait(), wait(), f()])"
    functions = {"wait": long_nap, "f": stop}
    error = modebox.run_sync(source, host_functions=functions, throw_on_error=False).error
    assert states(error) == [
        (1, "wait", "unknown"),
        (2, "wait", "unknown"),
        (3, "wait", "unknown"),
        (4, "f", "raised"),
    ]
    assert 5 < error.calls[0].ms < 10_000


def test_calls_of_a_run_that_timed_out():
    source = "f(); wait(); wait(); f(); await 0"
    error = modebox.run_sync(
        source,
        host_functions={"f": int, "wait": long_nap},
        limits={"timeout_ms": 30, "max_concurrency": 2},
        throw_on_error=False,
    ).error
    assert error.kind == "Timeout"
    assert [call.state for call in error.calls] == ["returned", "unknown", "unknown", "not_started"]


def test_a_function_that_goes_on_after_the_run_stays_unknown():
    async def stubborn():
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            return 1

    error = modebox.run_sync(
        "await f()", host_functions={"f": stubborn}, limits={"timeout_ms": 20}, throw_on_error=False
    ).error
    assert states(error) == [(1, "f", "unknown")]


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="eager tasks begin at once")
def test_a_coroutine_that_never_began_is_cancelled():
    def stop():
        raise ValueError

    async def never():
        raise AssertionError

    functions = {"never": never, "indirect": lambda: never(), "stop": stop}
    source = "await Promise.all([never(), indirect(), stop()])"
    result = asyncio.run(modebox.run(source, host_functions=functions, throw_on_error=False))
    assert states(result) == [(1, "never", "cancelled"), (2, "indirect", "unknown"), (3, "stop", "raised")]


def test_records_survive_pickling_and_copying():
    result = modebox.run_sync("await f()", host_functions={"f": lambda: 1})
    again = pickle.loads(pickle.dumps(result))
    assert states(again) == [(1, "f", "returned")]
    assert again == result == copy.deepcopy(result)
    with pytest.raises(AttributeError, match="'RunResult' object has no attribute 'call'"):
        _ = result.call


# ---- contexts


def test_the_context_of_a_call():
    def plain():
        return repr(get_host_function_context())

    async def coroutine():
        before = get_host_function_context()
        await asyncio.sleep(0.001)
        assert get_host_function_context() == before
        return [before.call_id, before.host_function_name, before.resume]

    assert value("await a.f()", {"a": {"f": plain}}) == (
        "HostFunctionContext(call_id=1, host_function_name='a.f', resume=None)"
    )
    assert value("await Promise.all([f(), g(), f()])", {"f": coroutine, "g": coroutine}) == [
        [1, "f", None],
        [2, "g", None],
        [3, "f", None],
    ]


def test_the_context_of_a_call_in_what_it_starts():
    async def ask():
        return get_host_function_context().call_id

    async def gather():
        return await asyncio.gather(
            ask(), asyncio.create_task(ask()), asyncio.to_thread(get_host_function_context)
        )

    def call_ids(answers):
        return [answers[0], answers[1], answers[2].call_id]

    async def f():
        return call_ids(await gather())

    assert value("await Promise.all([f(), f()])", {"f": f}) == [[1, 1, 1], [2, 2, 2]]


def test_no_context_outside_a_host_function():
    for call in (
        get_host_function_context,
        lambda: value("await f()", {"f": int}) or get_host_function_context(),
    ):
        with pytest.raises(RuntimeError, match="outside a host function"):
            call()
    seen = []

    def start():
        context = __import__("contextvars").copy_context()
        seen.append(lambda: context.run(get_host_function_context))

    value("await f()", {"f": start})
    with pytest.raises(RuntimeError, match="outside a host function"):
        seen[0]()


def test_the_context_of_a_nested_run():
    def inner():
        return get_host_function_context().host_function_name

    def outer():
        name = value("await inner()", {"inner": inner})
        return [name, get_host_function_context().host_function_name]

    assert value("await outer()", {"outer": outer}) == ["inner", "outer"]


def test_contexts_are_records():
    assert HostFunctionContext(1, "f") == HostFunctionContext(call_id=1, host_function_name="f", resume=None)


# ---- on_call


@pytest.mark.parametrize("function", [lambda: 1, nap])
def test_on_call_comes_before_each_call(function):
    seen = []
    functions = {"a": {"f": function}, "note": lambda: seen.append("note")}
    source = "await a.f(); await note(); a.f()"
    result = modebox.run_sync(source, host_functions=functions, on_call=lambda *call: seen.append(call))
    assert seen == [("a.f", 1), ("note", 2), "note", ("a.f", 3)]
    assert [call.id for call in result.calls] == [1, 2, 3]


def test_an_exception_of_on_call_ends_the_run_and_is_raised():
    called, cancelled = [], []

    def refuse(name, _):
        if name == "g":
            raise KeyError(name)

    async def wait():
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cancelled.append(1)
            raise

    functions = {"f": wait, "tick": nap, "g": lambda: called.append(1)}
    source = "f(); await tick(); try { await g() } catch { 'caught' }"
    with pytest.raises(KeyError):
        modebox.run_sync(source, host_functions=functions, on_call=refuse)
    with pytest.raises(KeyError):
        asyncio.run(modebox.run(source, host_functions=functions, on_call=refuse))
    assert (called, cancelled) == ([], [1, 1])


# ---- on_log


def test_on_log_is_called_while_the_run_goes_on():
    seen = []
    source = "console.log('a'); await f(); console.warn('b', 1); await f(); console.log('c')"
    functions = {"f": lambda: seen.append("f")}
    expected = [LogEntry("log", "a"), "f", LogEntry("warn", "b 1"), "f", LogEntry("log", "c")]
    result = modebox.run_sync(source, host_functions=functions, on_log=seen.append)
    assert seen == expected
    assert result.logs == [entry for entry in expected if entry != "f"]
    seen.clear()
    result = asyncio.run(modebox.run(source, host_functions=functions, on_log=seen.append))
    assert seen == expected
    assert len(result.logs) == 3


@pytest.mark.parametrize("is_async", [False, True])
def test_on_log_hears_a_program_that_computes(is_async):
    class StopError(Exception):
        pass

    def stop(entry):
        assert entry == LogEntry("log", "started")
        raise StopError

    source = "for (let i = 0; i < 1e6; i++); console.log('started'); while (true);"
    with pytest.raises(StopError):
        if is_async:
            asyncio.run(modebox.run(source, on_log=stop))
        else:
            modebox.run_sync(source, on_log=stop)


@pytest.mark.parametrize(
    "source", ["console.log('x'); 1", "console.log('x'); await f()", "console.log('x'); null.x"]
)
def test_an_exception_of_on_log_ends_the_run_and_is_raised(source):
    called = []

    def refuse(_):
        raise KeyError

    for _ in range(2):
        with pytest.raises(KeyError):
            modebox.run_sync(source, host_functions={"f": lambda: called.append(1)}, on_log=refuse)
        with pytest.raises(KeyError):
            asyncio.run(modebox.run(source, host_functions={"f": nap}, on_log=refuse, throw_on_error=False))
    assert not called


def test_on_log_hears_what_was_dropped():
    seen = []
    source = "for (let i = 0; i < 10; i++) console.log('x'.repeat(100)); null.x"
    result = modebox.run_sync(source, limits={"max_log_bytes": 150}, on_log=seen.append, throw_on_error=False)
    assert seen == result.logs == result.error.logs
    assert [entry.level for entry in seen] == ["log", "warn"]


class AsyncCallable:
    async def __call__(self, *_):
        pass


@pytest.mark.parametrize("name", ["on_log", "on_call"])
def test_listeners_are_plain_callables(name):
    for given in (nap, functools.partial(nap), AsyncCallable(), AsyncCallable().__call__):
        with pytest.raises(TypeError, match=f"{name} must be a plain callable"):
            modebox.run_sync("1", **{name: given})
    with pytest.raises(TypeError, match=f"{name} must be a callable, or None, not int"):
        modebox.run_sync("1", **{name: 1})
    with pytest.raises(TypeError, match="nobody awaits"):
        modebox.run_sync("console.log(1); await f()", host_functions={"f": int}, **{name: lambda *_: nap()})


# ---- keyword-only parameters


def send(to, body="none", *, cc=None, urgent=False):
    return [to, body, cc, urgent]


def many(*parts, sep=" "):
    return [list(parts), sep]


def anything(first, *, name=None, **others):
    return [first, name, others]


def need(*, key):
    return key


def wrapped(function):
    @functools.wraps(function)
    def wrapper(*arguments, **options):
        return function(*arguments, **options)

    return wrapper


class Mail:
    def send(self, to, *, cc=None):
        return [to, cc]

    def __call__(self, to, *, cc=None):
        return [to, cc]


async def send_later(to, *, cc=None):
    await asyncio.sleep(0)
    return [to, cc]


@pytest.mark.parametrize(
    ("function", "call", "expected"),
    [
        (send, "f('a')", ["a", "none", None, False]),
        (send, "f('a', 'b')", ["a", "b", None, False]),
        (send, "f('a', 'b', { cc: 'c' })", ["a", "b", "c", False]),
        (send, "f('a', { urgent: true })", ["a", "none", None, True]),
        (send, "f({ cc: 1 })", [{"cc": 1}, "none", None, False]),
        (send, "f({ x: 1 }, { cc: 1 })", [{"x": 1}, "none", 1, False]),
        (send, "f('a', {})", ["a", "none", None, False]),
        (many, "f(1, 2, { sep: '-' })", [[1, 2], "-"]),
        (many, "f({ sep: '-' }, 1)", [[{"sep": "-"}, 1], " "]),
        (many, "f({ sep: '-' })", [[], "-"]),
        (anything, "f(1, { name: 2, more: 3 })", [1, 2, {"more": 3}]),
        (need, "f({ key: 1 })", 1),
        (wrapped(send), "f('a', 'b', { cc: 'c' })", ["a", "b", "c", False]),
        (wrapped(wrapped(need)), "f({ key: 1 })", 1),
        (functools.partial(send, "a"), "f('b', { cc: 'c' })", ["a", "b", "c", False]),
        (functools.partial(functools.partial(send, "a"), cc=1), "f('b')", ["a", "b", 1, False]),
        (Mail().send, "f('a', { cc: 1 })", ["a", 1]),
        (Mail(), "f('a', { cc: 1 })", ["a", 1]),
        (send_later, "f('a', { cc: 1 })", ["a", 1]),
        (lambda to, options=None: options, "f('a', { cc: 1 })", {"cc": 1}),
        (lambda **options: len(options), "f()", 0),
    ],
)
def test_keyword_only_parameters_come_from_a_trailing_object(function, call, expected):
    assert value(f"await {call}", {"f": function}) == expected


def test_options_that_a_function_does_not_have_are_type_errors_in_the_program():
    def message(function, call):
        return value(f"try {{ await {call} }} catch (e) {{ e.name + ': ' + e.message }}", {"f": function})

    assert (
        message(send, "f('a', 'b', { bcc: 1 })")
        == "TypeError: f has no option 'bcc'; its options are cc, urgent"
    )
    assert (
        message(send, "f('a', { body: 1 })")
        == "TypeError: f has no option 'body'; its options are cc, urgent"
    )
    assert message(need, "f()").startswith("TypeError: ")
    assert "multiple values" in message(anything, "f(1, { first: 2 })")


def test_classes_have_keyword_only_parameters_too():
    made = []

    class Point:
        def __init__(self, x, *, y):
            made.append((x, y))

    value("f(1, { y: 2 }).catch(() => {})", {"f": Point})
    assert made == [(1, 2)]


def test_callables_that_answer_to_any_name():
    class Proxy:
        def __getattr__(self, name):
            return self

        def __call__(self, *arguments):
            return list(arguments)

    assert value("await f(1, { a: 2 })", {"f": Proxy()}) == [1, {"a": 2}]


def test_signatures_are_read_once(monkeypatch):
    import inspect

    read = []
    monkeypatch.setattr(inspect, "signature", lambda f, real=inspect.signature: read.append(f) or real(f))

    def f(*, a=0):
        return a

    assert value("await f({ a: 1 }) + await f({ a: 2 })", {"f": f, "g": lambda x: x}) == 3
    assert value("await f({ a: 1 })", {"f": f}) == 1
    assert read == [f]


# ---- threads


def test_records_can_be_asked_for_from_many_threads():
    result = modebox.run_sync("for (let i = 0; i < 100; i++) await f()", host_functions={"f": int})
    counts = []
    threads = [threading.Thread(target=lambda: counts.append(len(result.calls))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counts == [100] * 4


def test_errors_list_the_calls():
    with pytest.raises(RunError) as caught:
        Runner().run_sync("await f(); null.x", host_functions={"f": int})
    assert states(pickle.loads(pickle.dumps(caught.value))) == [(1, "f", "returned")]
