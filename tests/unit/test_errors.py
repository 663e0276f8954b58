"""RunError: kinds and codes, positions and excerpts, causes, what of an exception the program sees."""

import asyncio
import copy
import gc
import pickle
import traceback

import pytest

import modebox
from modebox import RunError
from modebox._errors import CODES, excerpt_of
from modebox._outcome import _thrown


def failure(source, **options):
    return modebox.run_sync(source, throw_on_error=False, **options).error


class ServiceError(Exception):
    code = "SERVICE_DOWN"


def raising(error):
    def function(*_):
        raise error

    return function


def in_program(error):
    """What the program sees of an exception."""
    source = "try { await f() } catch (e) { [e.name, e.message, e.code, e instanceof Error] }"
    return modebox.run_sync(source, host_functions={"f": raising(error)}).value


# ---- kinds

KINDS = [
    ("Uncaught", "TypeError", "throw new TypeError('no')", {}),
    ("Uncaught", "ReferenceError", "missing()", {}),
    ("Syntax", "SyntaxError", "let (", {}),
    ("Syntax", "SyntaxError", " " * (16 * 1024 * 1024 + 1), {}),
    ("Timeout", "TimeoutError", "while (true);", {"timeout_ms": 30}),
    ("CpuTimeout", "CpuTimeoutError", "while (true);", {"cpu_timeout_ms": 30}),
    ("CpuLimit", "CpuLimitError", "while (true);", {"fuel": 100_000}),
    ("MemoryLimit", "InternalError", "const a = []; while (true) a.push('x'.repeat(9999) + a.length)", {}),
    ("HostCallLimit", "HostCallLimitError", "while (true) await f()", {"max_host_calls": 3}),
    ("StackOverflow", "RangeError", "(function f() { f() })()", {}),
    ("Deadlock", "DeadlockError", "await new Promise(() => {})", {}),
    ("Unserializable", "TypeError", "({ a: [Symbol()] })", {}),
    ("Unserializable", "TypeError", "'x'.repeat(2000)", {"max_value_bytes": 1000}),
]


@pytest.mark.parametrize(("kind", "name", "source", "limits"), KINDS, ids=lambda x: str(x)[:20])
def test_kinds(kind, name, source, limits):
    error = failure(source, limits=limits, host_functions={"f": lambda: None})
    assert (error.kind, error.name) == (kind, name)
    assert error.code == CODES[kind]
    assert str(error) == f"{error.name}: {error.message}"
    assert error.__cause__ is None


def test_codes_are_the_kinds_in_constant_case():
    for kind, code in CODES.items():
        words = "".join("_" + char if char.isupper() else char for char in kind)
        assert code == f"RUN{words.upper()}"


@pytest.mark.parametrize("source", ["while (true);", "await f(); while (true);", "for (;;) await f()"])
def test_limits_cannot_be_caught(source):
    caught = f"try {{ {source} }} catch {{ 'caught' }} finally {{ while (true); }}"
    assert (
        failure(caught, limits={"timeout_ms": 50, "max_host_calls": 10**6}, host_functions={"f": int}).kind
        == "Timeout"
    )


def test_a_name_that_looks_like_a_limit_is_uncaught():
    error = failure(
        "throw Object.assign(new Error('x'), { name: 'TimeoutError', kind: 'Timeout', code: 'RUN_TIMEOUT' })"
    )
    assert (error.kind, error.code, error.name) == ("Uncaught", "RUN_UNCAUGHT", "TimeoutError")


@pytest.mark.parametrize(
    ("thrown", "message"),
    [("1", "1"), ("'text'", "text"), ("{ a: 1 }", "{ a: 1 }"), ("undefined", "undefined")],
)
def test_thrown_values_that_are_no_errors(thrown, message):
    error = failure(f"throw {thrown}")
    assert (error.kind, error.message) == ("Uncaught", message)


# ---- positions


def test_line_column_and_excerpt():
    error = failure("const a = 1\n\tconst é = '😀', b = missing\n")
    assert (error.line, error.column) == (2, 22)
    assert error.excerpt == "\tconst é = '😀', b = missing\n\t" + " " * 19 + "^"
    assert error.sandbox_stack == "    at agent.ts:2:22"


def test_a_syntax_error_has_a_position():
    error = failure("let x = 1\nlet y = = 2")
    assert (error.kind, error.line) == ("Syntax", 2)
    assert error.excerpt.splitlines()[0] == "let y = = 2"


def test_limits_have_no_position():
    error = failure("while (true);", limits={"fuel": 1000})
    assert (error.line, error.column, error.excerpt, error.sandbox_stack) == (None, None, None, None)


@pytest.mark.parametrize(
    ("source", "line", "column", "excerpt"),
    [
        ("abc", 1, 1, "abc\n^"),
        ("abc", 1, 3, "abc\n  ^"),
        ("abc", 1, 9, "abc\n   ^"),
        ("a\r\nbc\r\n", 2, 2, "bc\n ^"),
        ("a\n\tb", 2, 2, "\tb\n\t^"),
        ("😀b", 1, 3, "😀b\n ^"),
        ("abc", 0, 1, None),
        ("abc", 2, 1, None),
        ("abc", None, None, None),
        ("", 1, 1, "\n^"),
        ("x" * 500, 1, 1, "x" * 100 + "\n^"),
        ("x" * 250 + "Y" + "x" * 249, 1, 251, "x" * 50 + "Y" + "x" * 49 + "\n" + " " * 50 + "^"),
        ("x" * 499 + "Y", 1, 500, "x" * 99 + "Y\n" + " " * 99 + "^"),
    ],
)
def test_excerpts(source, line, column, excerpt):
    assert excerpt_of(source, line, column) == excerpt


# ---- errors of host functions


@pytest.mark.parametrize(
    ("error", "seen"),
    [
        (ValueError("bad input"), ["ValueError", "bad input", None, True]),
        (ServiceError("down"), ["ServiceError", "down", "SERVICE_DOWN", True]),
        (KeyError("name"), ["KeyError", "name", None, True]),
        (
            FileNotFoundError(2, "No such file or directory", "/secret/path"),
            ["FileNotFoundError", "No such file or directory", None, True],
        ),
        (OSError("plain text"), ["OSError", "plain text", None, True]),
        (RuntimeError(OSError(2, "No such file", "/secret")), ["RuntimeError", "No such file", None, True]),
        (ValueError(object()), ["ValueError", "object", None, True]),
        (ValueError(ValueError("inner")), ["ValueError", "inner", None, True]),
        (KeyError(3), ["KeyError", "3", None, True]),
        (KeyError(), ["KeyError", "", None, True]),
        (OSError(), ["OSError", "", None, True]),
        (asyncio.CancelledError(), ["CancelledError", "", None, True]),
        (ValueError("\ud800"), ["ValueError", "\ud800", None, True]),
    ],
    ids=repr,
)
def test_what_the_program_sees_of_an_exception(error, seen):
    assert in_program(error) == seen


def test_a_code_that_is_no_str_is_left_out():
    error = ValueError("x")
    error.code = 404
    assert in_program(error)[2] is None
    assert failure("await f()", host_functions={"f": raising(error)}).code == "RUN_UNCAUGHT"


def test_exceptions_that_fail_to_describe_themselves():
    class BrokenError(Exception):
        def __str__(self):
            raise ValueError

        @property
        def code(self):
            raise ValueError

    assert in_program(BrokenError()) == ["BrokenError", "", None, True]
    circular = ValueError()
    circular.args = (circular,)
    assert in_program(circular)[0] == "ValueError"


def test_exceptions_with_a_text_of_their_own():
    class NoSuchUserError(KeyError):
        def __str__(self):
            return f"no user {self.args[0]}"

    assert in_program(NoSuchUserError("ann")) == ["NoSuchUserError", "no user ann", None, True]


def test_nothing_of_the_host_is_seen():
    source = (
        "try { await f() } catch (e) { String(e.stack) + JSON.stringify(e, Object.getOwnPropertyNames(e)) }"
    )
    seen = modebox.run_sync(
        source, host_functions={"f": raising(OSError(13, "Permission denied", "/secret"))}
    ).value
    assert "secret" not in seen
    assert ".py" not in seen
    assert "Traceback" not in seen


def test_the_cause_is_the_exception_that_was_not_caught():
    cause = ServiceError("down")
    error = failure("await f(1)", host_functions={"f": raising(cause)})
    assert (error.kind, error.name, error.message, error.code) == (
        "Uncaught",
        "ServiceError",
        "down",
        "SERVICE_DOWN",
    )
    assert error.__cause__ is cause
    with pytest.raises(RunError) as caught:
        modebox.run_sync("await f(1)", host_functions={"f": raising(cause)})
    assert caught.value.__cause__ is cause
    assert "ServiceError: down" in "".join(traceback.format_exception(caught.value))


def test_the_cause_follows_the_error_object():
    first, second = ServiceError("one"), ServiceError("two")
    functions = {"a": raising(first), "b": raising(second)}
    kept = "let kept; try { await a() } catch (e) { kept = e } try { await b() } catch {} throw kept"
    assert failure(kept, host_functions=functions).__cause__ is first
    look = "Object.assign(new Error(e.message), { name: e.name, code: e.code, call: 1 })"
    alike = f"try {{ await a() }} catch (e) {{ throw {look} }}"
    error = failure(alike, host_functions=functions)
    assert (error.__cause__, error.code) == (None, "RUN_UNCAUGHT")


def test_async_host_functions_have_causes_too():
    cause = ServiceError("down")

    async def fail():
        await asyncio.sleep(0)
        raise cause

    with pytest.raises(RunError) as caught:
        asyncio.run(modebox.run("await f()", host_functions={"f": fail}))
    assert caught.value.__cause__ is cause


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(3)], ids=repr)
def test_what_is_no_exception_leaves_the_run(error):
    source = "try { await f() } catch { 'caught' }"
    with pytest.raises(type(error)) as caught:
        modebox.run_sync(source, host_functions={"f": raising(error)})
    assert caught.value is error

    async def async_raising():
        raise error

    for function in (raising(error), async_raising):
        with pytest.raises(type(error)):
            asyncio.run(modebox.run(source, host_functions={"f": function}))


def test_nothing_is_left_over_of_what_left_the_run(caplog):
    async def now():
        raise SystemExit(3)

    async def soon():
        await asyncio.sleep(0.001)
        raise KeyboardInterrupt

    for function, error in ((now, SystemExit), (soon, KeyboardInterrupt)):
        with pytest.raises(error):
            asyncio.run(modebox.run("try { await f() } catch {}", host_functions={"f": function}))
        gc.collect()
    assert caplog.records == []


def test_an_error_larger_than_a_value_may_be_ends_the_run():
    error = failure(
        "await f()", host_functions={"f": raising(ValueError("x" * 2000))}, limits={"max_value_bytes": 1000}
    )
    assert error.kind == "Unserializable"


# ---- the object


def test_pickling_and_copying():
    error = failure("console.log('a')\nnull.x")
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error), copy.deepcopy(error)):
        assert type(again) is RunError
        assert str(again) == str(error)
        assert again.__dict__ == error.__dict__
        assert (again.kind, again.line, again.logs, again.stats) == (error.kind, 2, error.logs, error.stats)


def test_all_attributes():
    error = failure("await f(); null.x", host_functions={"f": int})
    names = """
        name message kind code sandbox_stack logs stats calls reason line column excerpt cause errors
    """
    assert list(vars(error)) == names.split()
    assert (error.reason, error.cause, error.errors) == (None, None, [])
    assert [(call.id, call.state) for call in error.calls] == [(1, "returned")]


def test_cause_and_errors_are_those_of_the_program():
    stats = modebox.run_sync("1").stats
    ending = _thrown("Uncaught", {"name": "E", "message": "m", "cause": {"a": 1}, "errors": [1, "x"]}, "", {})
    error = RunError("E", "m", "Uncaught", logs=[], stats=stats, calls=[], **ending.details)
    assert (error.cause, error.errors) == ({"a": 1}, [1, "x"])
    assert pickle.loads(pickle.dumps(error)).cause == {"a": 1}
    assert _thrown("Uncaught", {"errors": 3}, "", {}).details["errors"] == []


def test_attributes_are_read_only():
    error = failure("null.x")
    with pytest.raises(AttributeError, match="cannot assign to 'kind': a RunError is read-only"):
        error.kind = "Timeout"
    error.__cause__ = ValueError()
    error.note = "mine"
    assert error.note == "mine"


def test_repr():
    error = failure("throw new TypeError('no')")
    assert repr(error) == "<RunError Uncaught at line 1, column 7: TypeError: no>"
    assert repr(failure("while (true);", limits={"fuel": 1000})) == (
        "<RunError CpuLimit: CpuLimitError: the run exceeded its budget of 1000 fuel>"
    )


# ---- causes


def _raise_with_cause():
    try:
        raise OSError(2, "No such file", "/etc/secret")
    except OSError as error:
        raise ValueError("no config") from error


def _raise_a_circle():
    first, second = ValueError("first"), ValueError("second")
    first.__cause__, second.__cause__ = second, first
    raise first


def test_a_host_error_has_its_cause_in_the_program():
    source = "try { await f() } catch (e) { [e.cause.name, e.cause.message, e.cause instanceof Error] }"
    value = modebox.run_sync(source, host_functions={"f": _raise_with_cause}).value
    assert value == ["FileNotFoundError", "No such file", True]


def test_circular_causes_are_left_out():
    source = "try { await f() } catch (e) { [e.message, typeof e.cause] }"
    assert modebox.run_sync(source, host_functions={"f": _raise_a_circle}).value == ["first", "undefined"]


def test_an_uncaught_error_has_cause_and_errors():
    source = "throw new AggregateError([new TypeError('a'), 1], 'm', { cause: { code: 5 } })"
    with pytest.raises(modebox.RunError) as caught:
        modebox.run_sync(source)
    assert caught.value.cause == {"code": 5}
    first, second = caught.value.errors
    assert (first.name, first.message, second) == ("TypeError", "a", 1)


def test_an_error_goes_without_a_cause_that_cannot_cross():
    with pytest.raises(modebox.RunError) as caught:
        modebox.run_sync("throw new Error('m', { cause: () => 1 })")
    assert (caught.value.message, caught.value.cause) == ("m", None)
