"""What the edits of the engine are for (tools/edits.py, tools/engine/)."""

import time

import pytest

import modebox


def value(source):
    return modebox.run_sync(source).value


def message(source):
    with pytest.raises(modebox.RunError) as caught:
        modebox.run_sync(source)
    return str(caught.value)


NOT_CALLABLE = [
    ("const o = {}; o.method()", "o.method is not a function"),
    ("const o = {}; o.method(1, 2 ? 3 : 4, [5])", "o.method is not a function"),
    ("const o = {}; o.method(...[1, 2])", "o.method is not a function"),
    ("const o = { a: { b: {} } }; o.a.b.c()", "o.a.b.c is not a function"),
    ("const o = {}; o['method']()", "o.method is not a function"),
    ("const o = {}, key = 'k'; o[key]()", "o[key] is not a function"),
    ("const o = {}; o[1 + 1]()", "o[...] is not a function"),
    ("const o = {}; o.f()`text`", "o.f is not a function"),
    ("const f = 1; f()", "f is not a function"),
    ("const f = 1; f(...[])", "f is not a function"),
    ("const f = 1; (() => f())()", "f is not a function"),
    ("((callback) => callback())(1)", "callback is not a function"),
    ("for (let i = 0; i < 3; i++) { const f = i; f(i) }", "f is not a function"),
    ("try { throw 1 } catch (error) { error.m(error) }", "error.m is not a function"),
    ("const f = () => ({}); f(1).g()", "f(...).g is not a function"),
    ("const o = { f() { return {} } }; o.f(1).g()", "o.f(...).g is not a function"),
    ("class A { m() { this.n() } } new A().m()", "this.n is not a function"),
    ("class A { #p = 1; m() { this.#p() } } new A().m()", "this.#p is not a function"),
    ("const f = async () => 1; (await f()).g()", "(intermediate value).g is not a function"),
    ("const g = async o => { o.m(await 1) }; await g({})", "o.m is not a function"),
    ("const i = function* () { const o = {}; o.m(yield) }(); i.next(); i.next()", "o.m is not a function"),
    ("const o = { a: 1 }; o.a?.()", "o.a is not a function"),
    ("eval('let q; q()')", "q is not a function"),
    ("const a = 1, b = 2; (globalThis ? a : b)()", "1 is not a function"),
    ("(void 0)()", "undefined is not a function"),
    ("''()", '"" is not a function'),
    ("[1].map(3)", "3 is not a function"),
    ("[1].map({})", "object is not a function"),
    ("[1].map(Symbol())", "symbol is not a function"),
    ("let X; new X()", "X is not a constructor"),
    ("new (1)", "1 is not a constructor"),
    ("const a = 5; for (const x of a);", "a is not iterable"),
    ("const a = 5; [...a]", "a is not iterable"),
    ("const a = {}; const [b] = a", "object is not iterable"),
    ("const a = {}; [...a.b]", "a.b is not iterable"),
    ("let a; for (const x of a);", "a is not iterable"),
    ("[...undefined]", "undefined is not iterable"),
    ("new Map(5)", "5 is not iterable"),
]


@pytest.mark.parametrize("source, expected", NOT_CALLABLE, ids=[source for source, _ in NOT_CALLABLE])
def test_the_callee_is_named(source, expected):
    assert expected in message(source)


def test_a_long_callee_is_cut_not_lost():
    assert message(f"const o = {{}}; o.{'a' * 500}()").endswith("a is not a function")


def test_naming_the_callee_of_a_large_function_is_bounded():
    """The bytecode is read anew for each failure, a few times at most."""
    source = "const o = {}; let n = 0; function f() {" + "n += 1;" * 20_000 + "o.m() }"
    source += "for (let i = 0; i < 100; i++) { try { f() } catch (error) { n += error.message.length } } n"
    start = time.perf_counter()
    assert value(source) == 100 * (20_000 + len("o.m is not a function"))
    assert time.perf_counter() - start < 5


def test_weak_references_keep_their_target_during_the_job():
    assert value("new WeakRef({ a: 1 }).deref().a") == 1
    assert value("const r = new WeakRef({ a: 1 }); await null; r.deref() === undefined") is True
    source = "let o = { a: 1 }; const r = new WeakRef(o); await null; r.deref(); o = null; r.deref().a"
    assert value(source) == 1


def test_weak_references_in_a_loop_do_not_pile_up():
    """Each WeakRef is noted once in a job, however often it is asked."""
    source = "const r = new WeakRef({ a: 1 }); let n = 0; for (let i = 0; i < 1e6; i++) n += r.deref().a; n"
    assert value(source) == 1_000_000


def test_times_name_their_zone():
    midnight = "00:00:00 GMT+0000 (Coordinated Universal Time)"
    assert value("new Date(0).toTimeString()") == midnight
    assert value("new Date(0).toString()") == f"Thu Jan 01 1970 {midnight}"
    assert value("new Date(-8.64e15).toString()") == f"Tue Apr 20 -271821 {midnight}"


def test_a_date_reads_back():
    assert value("Date.parse(new Date(86400000).toString())") == 86_400_000
    assert value("new Date('1/15/2024, 1:04:05\\u202fPM').toISOString()") == "2024-01-15T13:04:05.000Z"


DEEP = [
    "let p = {}; for (let i = 0; i < 1e5; i++) p = new Proxy(p, {}); Object.getPrototypeOf(p)",
    "let i = [].values(); for (let n = 0; n < 5e4; n++) i = i.map(x => x); i.next()",
    "let f = class {}; for (let i = 0; i < 1e5; i++) f = new Proxy(f, {}); new f()",
    "const f = () => f(); f()",
]


@pytest.mark.parametrize("source", DEEP)
def test_recursion_without_end_is_a_range_error(source):
    assert value(f"try {{ {source} }} catch (error) {{ error instanceof RangeError }}") is True


def test_integer_keys_do_not_collide():
    """Without mixed hashes this takes more than ten times as long."""
    source = "const s = new Set(); for (let i = 0; i < 50000; i++) s.add(i);"
    source += "for (let i = 0; i < 200000; i++) s.add(i & 4095); s.size"
    start = time.perf_counter()
    assert value(source) == 50_000
    assert time.perf_counter() - start < 1
