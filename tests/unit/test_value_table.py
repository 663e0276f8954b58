"""The value table, row by row: what Python's types are in the program, and what JavaScript's are here."""

from __future__ import annotations

import collections
import dataclasses
import datetime as dt
import decimal
import enum
import math
import pathlib
import uuid
from array import array

import numpy as np
import pytest

import modebox
from modebox import UNDEFINED, JsDate, JsEntries, JsError, JsMap, JsRegExp, JsSet

SAFE = 2**53 - 1
UTC = dt.timezone.utc


class Color(enum.Enum):
    RED = "red"


class Level(enum.IntEnum):
    HIGH = 3


@dataclasses.dataclass
class Point:
    x: int
    parts: list[object]


def out_of(source, **options):
    return modebox.run_sync(source, **options).value


def give(value, source):
    return out_of(f"const x = await give(); {source}", host_functions={"give": lambda: value})


# ---- Python to JavaScript: the value, its type there, an expression that is true of it

INTO = {
    "None": (None, "Null", "x === null"),
    "UNDEFINED": (UNDEFINED, "Undefined", "x === undefined"),
    "bool": (True, "Boolean", "x === true"),
    "int": (SAFE, "Number", "x === Number.MAX_SAFE_INTEGER"),
    "large int": (SAFE + 1, "BigInt", "x === 9007199254740992n"),
    "large negative int": (-SAFE - 1, "BigInt", "x === -9007199254740992n"),
    "float": (0.1, "Number", "x === 0.1"),
    "NaN": (math.nan, "Number", "x !== x"),
    "Infinity": (-math.inf, "Number", "x === -Infinity"),
    "minus zero": (-0.0, "Number", "Object.is(x, -0)"),
    "str": ("é\x00", "String", "x === 'é\\0'"),
    "lone surrogate": ("\udc00", "String", "x === '\\udc00'"),
    "bytes": (b"ab", "Uint8Array", "x.join() === '97,98'"),
    "bytearray": (bytearray(b"ab"), "Uint8Array", "x.join() === '97,98'"),
    "memoryview": (memoryview(b"ab"), "Uint8Array", "x.join() === '97,98'"),
    "memoryview of chars": (memoryview(b"ab").cast("c"), "Uint8Array", "x.join() === '97,98'"),
    "memoryview of signed bytes": (memoryview(b"\xff").cast("b"), "Int8Array", "x[0] === -1"),
    "memoryview of doubles": (memoryview(array("d", [1.5])), "Float64Array", "x[0] === 1.5"),
    "array of B": (array("B", [1]), "Uint8Array", "x[0] === 1"),
    "array of b": (array("b", [-1]), "Int8Array", "x[0] === -1"),
    "array of h": (array("h", [-1]), "Int16Array", "x[0] === -1"),
    "array of H": (array("H", [65535]), "Uint16Array", "x[0] === 65535"),
    "array of i": (array("i", [-1]), "Int32Array", "x[0] === -1"),
    "array of I": (array("I", [1]), "Uint32Array", "x[0] === 1"),
    "array of q": (array("q", [-1]), "BigInt64Array", "x[0] === -1n"),
    "array of Q": (array("Q", [1]), "BigUint64Array", "x[0] === 1n"),
    "array of f": (array("f", [0.5]), "Float32Array", "x[0] === 0.5"),
    "array of d": (array("d", [0.1]), "Float64Array", "x[0] === 0.1"),
    "list": ([1, [2]], "Array", "x[1][0] === 2"),
    "tuple": ((1, 2), "Array", "x.join() === '1,2'"),
    "deque": (collections.deque([1, 2]), "Array", "x.join() === '1,2'"),
    "range": (range(3), "Array", "x.join() === '0,1,2'"),
    "dict": ({"b": 1, "a": 2}, "Object", "Object.keys(x).join() === 'b,a'"),
    "Mapping": (collections.ChainMap({"a": 1}), "Object", "x.a === 1"),
    "dict with another key": ({"a": 1, 2: 3}, "Map", "x.get('a') === 1 && x.get(2) === 3"),
    "Mapping with another key": (collections.UserDict({2: 3}), "Map", "x.get(2) === 3"),
    "JsMap": (JsMap(a=1), "Map", "x.get('a') === 1"),
    "JsEntries": (JsEntries([([1], 2)]), "Map", "[...x.keys()][0][0] === 1"),
    "set": ({1}, "Set", "x.has(1)"),
    "frozenset": (frozenset("a"), "Set", "x.has('a')"),
    "JsSet": (JsSet([[1]]), "Set", "[...x][0][0] === 1"),
    "naive datetime": (dt.datetime(2024, 1, 2), "Date", "x.toJSON() === '2024-01-02T00:00:00.000Z'"),
    "aware datetime": (
        dt.datetime(2024, 1, 2, tzinfo=dt.timezone(dt.timedelta(hours=2))),
        "Date",
        "x.toJSON() === '2024-01-01T22:00:00.000Z'",
    ),
    "JsDate": (JsDate(math.nan), "Date", "isNaN(x)"),
    "dataclass": (Point(1, [Point(2, [])]), "Object", "x.parts[0].x === 2"),
    "exception": (KeyError("k"), "Error", "x instanceof Error && x.name === 'KeyError'"),
    "JsError": (JsError("N", "m", code="c"), "Error", "[x.name, x.message, x.code].join() === 'N,m,c'"),
    "JsRegExp": (JsRegExp("a", "gi"), "RegExp", "String(x) === '/a/gi'"),
    "Enum": (Color.RED, "String", "x === 'red'"),
    "IntEnum": (Level.HIGH, "Number", "x === 3"),
    "Decimal": (decimal.Decimal("1.10"), "String", "x === '1.10'"),
    "UUID": (uuid.UUID(int=5), "String", "x === '00000000-0000-0000-0000-000000000005'"),
    "date": (dt.date(2024, 1, 2), "String", "x === '2024-01-02'"),
    "time": (dt.time(1, 2, 3), "String", "x === '01:02:03'"),
    "timedelta": (dt.timedelta(days=1, seconds=2), "String", "x === 'P1DT2S'"),
    "Path": (pathlib.PurePosixPath("a/b"), "String", "x === 'a/b'"),
    "numpy int": (np.int64(5), "Number", "x === 5"),
    "numpy float": (np.float32(0.5), "Number", "x === 0.5"),
    "numpy array": (np.array([1, 2], dtype="i4"), "Int32Array", "x.join() === '1,2'"),
    "numpy array of half floats": (np.array([0.5], dtype="f2"), "Float16Array", "x[0] === 0.5"),
}


@pytest.mark.parametrize("name", INTO)
def test_from_python(name):
    value, kind, right = INTO[name]
    assert give(value, "Object.prototype.toString.call(x).slice(8, -1)") == kind
    assert give(value, right) is True


class Attribute:
    name = "a"


@pytest.mark.parametrize(
    "marks",
    [
        {"__attrs_attrs__": (Attribute,)},
        {"__struct_fields__": ("a",)},
        {"__pydantic_fields__": {"a": None}, "model_fields": {"a": None}},
    ],
    ids=["attrs", "msgspec", "pydantic"],
)
def test_objects_of_other_packages_cross_as_their_fields(marks):
    value = type("Model", (), marks)()
    value.a, value.other = [1], 2
    assert give(value, "x") == {"a": [1]}


# ---- JavaScript to Python

OUT = {
    "undefined": None,
    "null": None,
    "[, 1]": [None, 1],
    "6 / 3": 2,
    "0.5": 0.5,
    "-0": -0.0,
    "1 / 0": math.inf,
    "-(2 ** 53)": -(2.0**53),
    "2n ** 64n": 2**64,
    "5n": 5,
    "'a'": "a",
    "[1, [2]]": [1, [2]],
    "({ a: { b: 1 } })": {"a": {"b": 1}},
    "JSON.parse('{\"__proto__\": 1}')": {"__proto__": 1},
    "Object.create({ inherited: 1 }, { hidden: { value: 2 } })": {},
    "({ [Symbol('s')]: 1, a: 2 })": {"a": 2},
    "new Map([['a', 1], [2, 'b']])": JsMap({"a": 1, 2: "b"}),
    "new Map([[{}, 1]])": JsEntries([({}, 1)]),
    "new Map([[1, 'a'], [true, 'b']])": JsEntries([(1, "a"), (True, "b")]),
    "new Set([1, 'a'])": {1, "a"},
    "new Set([[1]])": JsSet([[1]]),
    "new Set([1, true])": JsSet([1, True]),
    "new Date(5)": dt.datetime(1970, 1, 1, 0, 0, 0, 5000, tzinfo=UTC),
    "new Date(NaN)": JsDate(math.nan),
    "new Date(8.64e15)": JsDate(8.64e15),
    "new Date(-62135596800001)": JsDate(-62135596800001.0),
    "new Uint8Array([1])": b"\x01",
    "new Uint8ClampedArray([300])": b"\xff",
    "new ArrayBuffer(2)": b"\x00\x00",
    "new DataView(new ArrayBuffer(4), 1, 2)": b"\x00\x00",
    "new Int8Array([-1])": array("b", [-1]),
    "new Int16Array([-1])": array("h", [-1]),
    "new Uint16Array([1])": array("H", [1]),
    "new Int32Array([-1])": array("i", [-1]),
    "new Uint32Array([1])": array("I", [1]),
    "new BigInt64Array([-1n])": array("q", [-1]),
    "new BigUint64Array([1n])": array("Q", [1]),
    "new Float16Array([0.5])": array("f", [0.5]),
    "new Float32Array([0.5])": array("f", [0.5]),
    "new Float64Array([0.1])": array("d", [0.1]),
    "/a/gi": JsRegExp("a", "gi"),
    "new Number(5)": 5,
    "new String('a')": "a",
    "new Boolean(false)": False,
    "Object(5n)": 5,
    "class A { x = 1; #y = 2; get z() { return 3 } } new A()": {"x": 1},
}


@pytest.mark.parametrize("source", OUT)
def test_to_python(source):
    value = out_of(source)
    assert value == OUT[source]
    assert type(value) is type(OUT[source])
    assert repr(value) == repr(OUT[source])


def test_errors_to_python():
    source = """
        const inner = new RangeError("in");
        Object.assign(new AggregateError([inner, 1], "out", { cause: "why" }), { code: "E_X", extra: [1] })
    """
    error = out_of(source)
    assert (error.name, error.message, error.code, error.cause) == ("AggregateError", "out", "E_X", "why")
    assert (error.errors[0].name, error.errors[1], error.properties) == ("RangeError", 1, {"extra": [1]})
    assert "agent.ts:3:" in error.stack


# ---- what is refused, by path

NO = "which cannot cross the sandbox boundary"
REFUSED = {
    "({ items: [0, 0, 0, { f() {} }] })": f"result.items[3].f is a function, {NO}",
    "({ a: Symbol() })": f"result.a is a symbol, {NO}",
    "[Promise.resolve()]": f"result[0] is a promise, {NO}; is an await missing?",
    "[[1].values()]": f"result[0] is an iterator, {NO}; spread it: [...x]",
    "(function* () {})()": f"result is an iterator, {NO}; spread it: [...x]",
    "({ 'a b': new WeakMap() })": f'result["a b"] is a WeakMap, {NO}',
    "new WeakRef({})": f"result is a WeakRef, {NO}",
    "new Map([['k', () => 1]])": f"result.entries()[0][1] is a function, {NO}",
    "const a = []; a.push({ a }); a": "result[0].a is circular, which cannot cross the sandbox boundary",
    "give": f"result is a function, {NO}",
}


@pytest.mark.parametrize("source", REFUSED)
def test_refused_in_the_result(source):
    error = modebox.run_sync(source, host_functions={"give": int}, throw_on_error=False).error
    assert (error.kind, error.message) == ("Unserializable", REFUSED[source])


def test_refused_in_an_argument_can_be_caught():
    source = "try { await give({ a: [() => 1] }) } catch (e) { [e instanceof TypeError, e.message] }"
    assert out_of(source, host_functions={"give": int}) == [
        True,
        "args[0].a[0] is a function, which cannot cross the sandbox boundary",
    ]


@pytest.mark.parametrize("depth", [256, 257])
def test_depth(depth):
    source = f"let a = []; for (let i = 1; i < {depth}; i++) a = [a]; a"
    error = modebox.run_sync(source, throw_on_error=False).error
    assert (error is None) is (depth == 256)


# ---- there and back

BACK = [
    JsMap({1: 2, "a": [3]}),
    JsMap(),
    JsEntries([([1], 2)]),
    JsSet([[1], {"a": 1}]),
    JsRegExp("a/b", "gi"),
    JsDate(8.64e15),
    JsDate(math.nan),
    {1, "a", 2.5},
    dt.datetime(1, 1, 1, tzinfo=UTC),
    dt.datetime(9999, 12, 31, 23, 59, 59, 999000, tzinfo=UTC),
    array("h", [1, -1]),
    array("d", [0.1]),
    JsError("N", "m", code="c", cause=1, errors=[1], properties={"a": 1}),
    # what looks like somebody's tags
    {"$map": [[1, 2]], "$undefined": True, "__type__": "Date", "then": 1},
]


@pytest.mark.parametrize("value", BACK, ids=repr)
def test_comes_back_equal(value):
    back = give(value, "x")
    assert back == value
    assert type(back) is type(value)


def test_an_error_of_a_program_comes_back_equal():
    error = out_of("new RangeError('x', { cause: 1 })")
    assert give(error, "x") == error


def test_an_error_of_ones_own_comes_back_equal():
    error = JsError("N", "m")
    assert give(error, "x") == error


def test_of_a_stack_the_frames_of_the_program_come_back():
    stack = "mine\n    at f (agent.ts:1:2)\n    at other.py:3:4"
    assert give(JsError("N", "m", stack=stack), "x").stack == "    at f (agent.ts:1:2)"


def test_shared_references_stay_shared():
    inner = [1]
    assert give([inner, inner], "x[0] === x[1]") is True
    first, second = out_of("const a = { n: 1 }; [a, a]")
    assert first is second


def test_the_size_limit_counts_shared_values_each_time():
    doubling = "let a = [1]; for (let i = 0; i < 40; i++) a = [a, a]; a"
    assert modebox.run_sync(doubling, throw_on_error=False).error.kind == "Unserializable"
    value = [1]
    for _ in range(40):
        value = [value, value]
    with pytest.raises(modebox.RunError, match="larger than the 16777216 bytes"):
        give(value, "1")


def test_keys_that_hash_alike_in_python_come_as_lists():
    alike = "Array.from({ length: 20000 }, (_, i) => BigInt(i + 1) * (2n ** 61n - 1n))"
    members = out_of(f"new Set({alike})")
    assert (type(members), len(members), len(set(map(hash, members[:100])))) == (JsSet, 20_000, 1)
    pairs = out_of(f"new Map({alike}.map(key => [key, 1]))")
    assert (type(pairs), pairs[1]) == (JsEntries, (2 * (2**61 - 1), 1))


def test_the_fuel_for_keys_is_linear_in_their_number():
    def fuel(count):
        source = f"new Map(Array.from({{ length: {count} }}, (_, i) => [i * 2 ** 61, i])).size"
        return modebox.run_sync(source).stats.fuel_used

    assert fuel(4000) < 8 * fuel(1000)


_AGAIN = {"a": [1, 2, 3]}


@pytest.mark.parametrize(
    "value",
    [
        pytest.param([JsError("E", "m", properties=_AGAIN), _AGAIN], id="an error's properties"),
        pytest.param([JsEntries([(1, _AGAIN), (1, 2)]), _AGAIN], id="the value of a key that comes twice"),
    ],
)
def test_what_comes_again_is_whole_though_its_first_holder_let_it_go(value):
    source = "const v = await f(), more = Array.from({ length: 200 }, (_, i) => ({ i, s: 'x' + i })); v[1]"
    assert modebox.run_sync(source, host_functions={"f": lambda: value}).value == _AGAIN
