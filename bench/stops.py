"""Endless programs: a loop, and natives that are hard to stop."""

from __future__ import annotations

TYPED_ARRAY = """
const a = new Float64Array(2 ** 20);
for (let i = 0; i < 10000; i++) a[i] = i * 7919 % 10007;
for (let n = 10000; n < a.length; n *= 2) a.copyWithin(n, 0, n);
"""
SAME_IN_MONTY = "numbers = [i * 7919 % 10007 for i in range(10000)] * 50\n"
# What is stopped latest of tests/security/hostile.toml: memory that it has filled is given back first.
LONG_JOIN = "Array.prototype.join.call({ length: 2 ** 53 - 1 }, 'x'.repeat(5000))"

# By name, then by adapter or language. What could run out of memory instead goes on after it.
STOPS: dict[str, dict[str, str]] = {
    "loop": {"js": "for (;;);", "monty": "while True: pass"},
    "sort": {
        "js": "for (;;) Array(1e6).fill(0).sort(() => 1)",
        "monty": f"{SAME_IN_MONTY}while True: sorted(numbers, key=lambda x: -x)",
    },
    "bigint_power": {"js": "for (;;) 3n ** 600000n", "monty": "while True: 3 ** 600000"},
    "regexp": {
        "js": "/^(a+)+$/.test('a'.repeat(40) + 'b')",
        "monty": "import re\nre.search('^(a+)+$', 'a' * 40 + 'b')",
    },
    "regexp_quadratic": {
        "js": "/a*b/.test('a'.repeat(1e6))",
        "monty": "import re\nre.search('a*b', 'a' * 1000000)",
    },
    "json_stringify": {
        "js": "const big = Array(1e5).fill({ id: 1, name: 'item' }); for (;;) JSON.stringify(big)",
        "monty": "import json\nbig = [{'id': 1, 'name': 'item'}] * 100000\nwhile True: json.dumps(big)",
    },
    "json_parse": {
        "js": "const text = '[' + '0,'.repeat(1e6) + '0]'; for (;;) JSON.parse(text)",
        "monty": "import json\ntext = '[' + '0,' * 1000000 + '0]'\nwhile True: json.loads(text)",
    },
    "array_fill": {"js": "for (;;) try { Array(1e8).fill(0) } catch {}"},
    "string_pad": {"js": "for (;;) 'x'.padEnd(2 ** 24, 'ab')", "monty": "while True: 'x'.ljust(2 ** 24)"},
    "string_repeat": {"js": "for (;;) 'ab'.repeat(2 ** 23)", "monty": "while True: 'ab' * 2 ** 23"},
    "string_search": {
        "js": "'a'.repeat(1e6).indexOf('a'.repeat(5e5) + 'b')",
        "monty": "while True: ('a' * 1000000).find('a' * 500000 + 'b')",
    },
    "string_replace": {
        "js": "const text = 'a'.repeat(1e6); for (;;) text.replaceAll('a', 'bb')",
        "monty": "text = 'a' * 1000000\nwhile True: text.replace('a', 'bb')",
    },
    "normalize": {"js": "const text = '\\u1e9b\\u0323'.repeat(5e5); for (;;) text.normalize('NFKD')"},
    "eval": {"js": "const text = 'x;'.repeat(5e5); for (;;) eval(`if (0) {${text}}`)"},
    "copy_within": {"js": f"{TYPED_ARRAY} for (;;) a.copyWithin(1, 0)"},
    "typed_sort": {
        "js": f"{TYPED_ARRAY} for (;;) a.slice().sort()",
        "monty": f"{SAME_IN_MONTY}while True: sorted(numbers)",
    },
    "join": {"js": LONG_JOIN},
}
