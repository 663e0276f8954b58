"""Running out of memory, anywhere: a program gets what is right, or InternalError: out of memory."""

from __future__ import annotations

import pytest
from security import hostile
from security.hostile import MIB

import modebox

_SWEEP = (hostile.FOLDER / "out_of_memory.js").read_text()
_TABLE = hostile.load_table()
_LIMITS = {"memory_limit_bytes": MIB, "fuel": 200_000_000, "timeout_ms": 60_000}
_HOST = {"host": lambda *_: None}

_EXPRESSIONS = [
    "eval('x => { let y = x; for (const z of [1, 2, 3]) y += z; return y }')",
    "eval('class A extends Map { #x = 1; static s = 2; static { this.t = 3 } get x() { this.#x } }; A')",
    "eval('(function* () { try { yield* [1, 2] } finally { return 3 } })().next()')",
    "eval('const { a, b: [c = 1, ...d], ...e } = { a: 1, b: [2, 3], f: 4 }; `${a}${c}${d}`')",
    "eval('switch (1) { case 0: default: label: do { if (1) continue label; else break } while (0) }')",
    "eval('async () => { for await (const x of y) { await using z = x } }; 1')",
    "eval('var v1, v2, v3; function f() { return v1 + v2 } /a(b|c)+/.test(`abc`)')",
    "eval('with ({ a: 1 }) eval(`a + 1`)')",
    "Function('ab', 'cd', 'return (() => ab + cd + this)')(1, 2) instanceof Function",
    "new RegExp('(?<n>a|b)+[c-z]{1,5}(?=x)\\\\k<n>', 'giu').exec('abcdx')",
    "'a-b-c'.replace(/-(.)/g, (m, c) => c.toUpperCase())",
    "'abcabc'.split(/(b)/)",
    'JSON.parse(\'[1, 2.5, {"a": [3, "x\\\\n"], "b": null}]\')',
    "JSON.stringify({ a: [1, { b: 'x' }], c: null }, null, 2)",
    "[5, 3, 1, 4].sort((a, b) => a - b).map(String)",
    "Object.entries({ ...{ a: 1, b: 2 }, ...'xy' })",
    "Array.from(new Map([[1, { a: 1 }], [2, 'x']]).values())",
    "[...new Set('hello')].join().padStart(20, 'ab')",
    "(12345678901234567890n ** 9n % 10n ** 30n).toString(36)",
    "[1, [2, [3, [4]]]].flat(Infinity)",
    "(({ a, ...rest }) => rest)({ a: 1, b: 2, c: 3 })",
    "Object.defineProperties({}, { a: { get: () => 1, enumerable: true }, b: { value: 2 } })",
    "new Proxy({ a: 1 }, { get: (t, k) => t[k] ?? 2 }).b",
    "null.x",
    "Object.groupBy([1, 2, 3], n => (n % 2 ? 'odd' : 'even'))",
    "new Date(0).toISOString() + (1.5).toFixed(2)",
    pytest.param(
        "Reflect.ownKeys(class { static a = 1; static b() {} })",
        marks=pytest.mark.xfail(
            strict=True, reason="the engine goes on without a length that it could not define"
        ),
    ),
    "String.raw`a${1}b` + 'x'.repeat(100).normalize('NFKD') + 'İ'.toLowerCase()",
    "new Uint16Array([1, 2, 3]).map(x => x * 2).toReversed().join('-')",
    "Iterator.from([1, 2, 3]).map(x => x + 1).filter(x => x > 2).toArray()",
    "btoa('hello') + encodeURIComponent('é€') + escape('é')",
    "console.info({ a: [1, 'x', new Map([[1, 2]])] })",
    "host({ a: [1, 'x', 2n, new Uint8Array(3)] }) instanceof Promise",
    "Promise.all([1, Promise.resolve(2)]) instanceof Promise",
    "(async () => { await null; return 1 })() instanceof Promise",
]

_ARGUMENTS = [
    "[own(), same]",
    "['ab', 'cd', 'ef']",
    "[[3, 1, 2], [4]]",
    "[{ a: 1, b: 'x' }, 'a', { value: 1 }]",
]

# Own receivers that are too large for this, or without end.
_SMALL = {
    "String.prototype": "'aBc'",
    "BigInt.prototype": "1n << 100n",
    "Iterator.prototype": "[1, 2, 3].values()",
    "RegExp.prototype": "/(x+)+y/g",
    "%TypedArray%.prototype": "new Float64Array([3, 1, 2])",
    "Uint8Array.prototype": "new Uint8Array([3, 1, 2])",
    "ArrayBuffer.prototype": "new ArrayBuffer(10)",
    "%ArrayIterator%": "[1, 2].values()",
    "%IteratorHelper%": "[1, 2].values().map(same)",
    "%StringIterator%": "'ab'[Symbol.iterator]()",
    "%RegExpStringIterator%": "'ab'.matchAll(/./g)",
    "%WrapForValidIterator%": "Iterator.from({ next: () => ({ value: 1 }) })",
    "%AsyncIterator%": "({})",
    "%GeneratorFunction%.prototype.prototype": "(function* () { yield 1 })()",
    "%AsyncGeneratorFunction%.prototype.prototype": "(async function* () { yield 1 })()",
}
# They give something else each time.
_CHANGING = {"Math.random", "Date.now", "Date", "performance.now", "get Error.prototype.stack"}


def odd(prelude: str, attempt: str, last: int, step: int) -> list[str]:
    """What an attempt gave besides what is right, and besides running out of memory.

    Where that ends the run, as it does in the compiler, another run goes on with a little more memory left.
    """
    found: list[str] = []
    first = 0
    while first < last:
        source = f"{_SWEEP}\n{prelude}\nawait sweep(() => {attempt}, {first}, {last}, {step})"
        result = modebox.run_sync(source, limits=_LIMITS, host_functions=_HOST, throw_on_error=False)
        found += [entry.message for entry in result.logs if entry.message.startswith("odd: ")]
        if result.error is None:
            break
        if result.error.kind != "MemoryLimit":
            found.append(f"{result.error!r} after {result.logs[-1:]}")
        left = [
            int(entry.message) for entry in result.logs if entry.level == "log" and entry.message.isdigit()
        ]
        first = max([first, *left]) + step
    return found


@pytest.mark.parametrize("expression", _EXPRESSIONS)
def test_an_expression(expression: str) -> None:
    assert odd("", f"({expression})", 5000, 16) == []


@pytest.mark.parametrize("arguments", _ARGUMENTS)
def test_every_function(arguments: str) -> None:
    found = []
    for function in hostile.walk(_TABLE):
        if function.path in _CHANGING:
            continue
        own = _SMALL.get(function.holder_path) or _TABLE["own"].get(function.holder_path, "holder")
        prelude = f"""
const same = x => x, endless = same, target = {function.expression}, holder = {function.holder};
const list = length => Array.from({{ length }}, (_, i) => i), keyed = () => ({{ a: 1 }}), own = () => {own};
const values = {arguments}, {{ apply, construct }} = Reflect;
"""
        call = "construct(target, values)" if function.is_constructor else "apply(target, own(), values)"
        found += [f"{function.path}: {text}" for text in odd(prelude, call, 1500, 40)]
    assert found == []


def test_a_large_program() -> None:
    """Under a sweep of limits it gives its value or runs out of memory, and nothing else."""
    functions = "".join(f"function f{i}(a) {{ return {{ a, text: 'n{i}' + a }} }}\n" for i in range(4000))
    source = functions + "[f0, f1, f2, f3].map((f, i) => f(i).text).join()"
    ends = set()
    for limit in range(1 << 20, 6 << 20, 32 << 10):
        result = modebox.run_sync(source, limits={"memory_limit_bytes": limit}, throw_on_error=False)
        ends.add(result.error.kind if result.error else result.value)
    assert ends == {"MemoryLimit", "n00,n11,n22,n33"}
