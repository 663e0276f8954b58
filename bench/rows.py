"""The rows of the table: what is measured, written once for all peers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from .lag import SERIES
from .stops import STOPS

PROGRAMS = Path(__file__).parent / "programs"
COMMENTS = {"js": "\n// ", "monty": "\n# "}
EXPECTED = re.compile(r"// .* = (\d+)\n")


@dataclass(frozen=True)
class Row:
    """One row.

    Args:
        name: Short name, for the filter; the part before the dot is its group.
        title: What is measured, for the table.
        kind: How it is measured: ``sync`` and ``async`` time runs of a program in a warm process, ``rate``
            counts them, ``lag`` probes the event loop beside them; ``start`` times a whole process;
            ``crowd``, ``waiting`` and ``memory`` take their values in a process of their own for each turn,
            as ``trap`` does without Python; ``size`` asks for a number.
        unit: Unit of the values; more is better for ``runs/s``, less for all others.
        sources: The program, by adapter name or by language. Each run gets it with another comment at its
            end, so that no run's source was seen before. For ``start`` it is what `python -c` gets.
        made: A second program, run in turn with the first, whose time is taken off.
        function: Which of the worker's host functions the program can call as ``f``.
        expected: The program's value, or its length where it is no number.
        ends: How each run ends instead, as the adapter's ``ending`` says it: the time is that to the error.
        timeout_ms: Limit of each run's time.
        series: What a turn gives one value of each; the table has a line for each.
        repeated: Whether each run has the same source instead.
        native: Whether bare quickjs-ng can run it too.
        threads: How many threads run programs at the same time.
        at_once: How many runs of one event loop go on at the same time.
        beside: Whether another Python thread computes meanwhile.
    """

    name: str
    title: str
    kind: str
    unit: str = "ms"
    sources: Mapping[str, str] = field(default_factory=dict)
    made: Mapping[str, str] = field(default_factory=dict)
    function: str | None = None
    expected: int = 2
    ends: str | None = None
    timeout_ms: int = 30_000
    series: tuple[str, ...] = ()
    repeated: bool = False
    native: bool = False
    threads: int = 1
    at_once: int = 1
    beside: bool = False

    def source(self, adapter: str, language: str) -> str | None:
        """The program for a peer, or None when there is none."""
        return self.sources.get(adapter, self.sources.get(language))

    def source_of_run(self, adapter: str, language: str) -> str:
        """The program, so that a number at its end makes it another one."""
        return (self.source(adapter, language) or "") + COMMENTS[language]


PYTHON_ALONE = dict.fromkeys(("modebox", "monty", "quickjs_rs"), "print(1 + 1)")
FIRST_RESULT = {
    "modebox": "import modebox; print(modebox.run_sync('1 + 1').value)",
    "monty": """
from pydantic_monty import Monty
with Monty() as pool, pool.checkout() as session:
    print(session.feed_run('1 + 1'))
""",
    "quickjs_rs": """
from quickjs_rs import Runtime
with Runtime() as runtime, runtime.new_context() as context:
    print(context.eval('1 + 1'))
""",
    "native": "1 + 1",
}
TRIVIAL = {"js": "1 + 1", "monty": "1 + 1"}
ONE_BY_ONE = {
    "js": "let sum = 0; for (let i = 0; i < 1000; i++) sum += await f(i); sum",
    "monty": "sum = 0\nfor i in range(1000):\n    sum += await f(i)\nsum",
}
ONE_BY_ONE_PLAIN = {
    **ONE_BY_ONE,
    "monty": "sum = 0\nfor i in range(1000):\n    sum += f(i)\nsum",
    "quickjs_rs": "let sum = 0; for (let i = 0; i < 1000; i++) sum += f(i); sum",
}
PARALLEL = {
    "js": "(await Promise.all(Array.from({ length: 100 }, (_, i) => f(i)))).reduce((a, b) => a + b)",
    "monty": "import asyncio\nsum(await asyncio.gather(*[f(i) for i in range(100)]))",
}
LENGTH = {"js": "(await f()).length", "monty": "len(f())", "quickjs_rs": "f().length"}
DICTS = {
    "js": "Array.from({ length: 10000 }, (_, i) => ({ id: i, name: `item ${i}`, price: i / 2, ok: true }))",
    "monty": "[{'id': i, 'name': f'item {i}', 'price': i / 2, 'ok': True} for i in range(10000)]",
}
TEXT = {"js": "'x'.repeat(1000).repeat(1000)", "monty": "'x' * 1000000"}
ONE_CALL = {"js": "await f(1) + 1", "monty": "await f(1) + 1"}
THROW = {
    "js": "function f() { throw new Error('x') }\nf()",
    "monty": "def f():\n    raise ValueError('x')\nf()",
}
OVERFLOW = {"js": "function f() { f() }\nf()", "monty": "def f():\n    f()\nf()"}
BYTES = {"js": "new Uint8Array(1000000).fill(120)", "monty": "b'x' * 1000000"}


def made(sources: Mapping[str, str]) -> dict[str, str]:
    """The programs that make the same value and keep it."""
    return {"js": f"({sources['js']}).length", "monty": f"len({sources['monty']})"}


def program_rows() -> list[Row]:
    """One row for each program; its first line says its value."""
    rows = []
    for path in sorted(PROGRAMS.glob("*.js")):
        sources = {file.suffix[1:]: file.read_text() for file in PROGRAMS.glob(f"{path.stem}.*")}
        expected = EXPECTED.match(sources["js"])
        assert expected, path
        name = f"cpu.{path.stem}"
        rows.append(Row(name, name, "sync", sources=sources, expected=int(expected[1]), native=True))
    return rows


def stop_rows() -> list[Row]:
    """One row for each endless program."""
    return [
        Row(f"stop.{name}", f"stop at 50 ms: {name}", "sync", sources=sources, ends="timeout", timeout_ms=50)
        for name, sources in STOPS.items()
    ]


ROWS = [
    Row("start.python", "fresh process, Python alone", "start", sources=PYTHON_ALONE),
    Row("start.first", "fresh process to first result", "start", sources=FIRST_RESULT, native=True),
    Row("trivial.sync", "trivial run, sync", "sync", sources=TRIVIAL, native=True),
    Row("trivial.async", "trivial run, async", "async", sources=TRIVIAL),
    Row("trivial.again", "trivial run, sync, the same source again", "sync", sources=TRIVIAL, repeated=True),
    Row(
        "calls.async",
        "1,000 host calls one by one, async function",
        "async",
        sources=ONE_BY_ONE,
        function="async",
        expected=499500,
        native=True,
    ),
    Row(
        "calls.plain",
        "1,000 host calls one by one, plain function",
        "sync",
        sources=ONE_BY_ONE_PLAIN,
        function="plain",
        expected=499500,
    ),
    Row(
        "calls.async_beside",
        "1,000 async calls beside a busy Python thread",
        "async",
        sources=ONE_BY_ONE,
        function="async",
        expected=499500,
        beside=True,
    ),
    Row(
        "calls.plain_beside",
        "1,000 plain calls beside a busy Python thread",
        "sync",
        sources=ONE_BY_ONE_PLAIN,
        function="plain",
        expected=499500,
        beside=True,
    ),
    Row(
        "calls.parallel",
        "100 host calls at once, each sleeps 0",
        "async",
        sources=PARALLEL,
        function="sleeping",
        expected=4950,
        native=True,
    ),
    Row("values.dicts_in", "10,000 small dicts in", "sync", sources=LENGTH, function="dicts", expected=10000),
    Row(
        "values.dicts_out",
        "10,000 small dicts out, without making them",
        "sync",
        sources=DICTS,
        made=made(DICTS),
        expected=10000,
    ),
    Row("values.text_in", "1 MB str in", "sync", sources=LENGTH, function="text", expected=1000000),
    Row(
        "values.text_out",
        "1 MB str out, without making it",
        "sync",
        sources=TEXT,
        made=made(TEXT),
        expected=1000000,
    ),
    Row("values.bytes_in", "1 MB bytes in", "sync", sources=LENGTH, function="bytes", expected=1000000),
    Row(
        "values.bytes_out",
        "1 MB bytes out, without making them",
        "sync",
        sources=BYTES,
        made=made(BYTES),
        expected=1000000,
    ),
    *program_rows(),
    Row("rate.1_thread", "trivial runs a second, 1 thread", "rate", unit="runs/s", sources=TRIVIAL),
    Row(
        "rate.2_threads",
        "trivial runs a second, 2 threads",
        "rate",
        unit="runs/s",
        sources=TRIVIAL,
        threads=2,
    ),
    Row("error.throw", "a run that throws", "sync", sources=THROW, ends="throw"),
    Row("error.overflow", "a run that recurses endlessly", "sync", sources=OVERFLOW, ends="stack"),
    Row("trap", "a run in C", "trap", unit="µs", series=("done", "access trap", "stack trap")),
    *stop_rows(),
    Row(
        "lag.one",
        "loop lag, 1 CPU run",
        "lag",
        sources=STOPS["loop"],
        ends="timeout",
        timeout_ms=1000,
        series=SERIES,
    ),
    Row(
        "lag.twenty",
        "loop lag, 20 CPU runs",
        "lag",
        sources=STOPS["loop"],
        ends="timeout",
        timeout_ms=1000,
        series=SERIES,
        at_once=20,
    ),
    Row(
        "crowd",
        "1,000 runs at once, each awaits 10 ms",
        "crowd",
        sources=ONE_CALL,
        function="resting",
        series=("first", "warm"),
        at_once=1000,
    ),
    Row(
        "waiting",
        "memory of a waiting run, of 500",
        "waiting",
        unit="kB",
        sources=ONE_CALL,
        series=("RSS", "PSS"),
        at_once=500,
    ),
    Row("size.wheel", "wheels, with dependencies", "size", unit="MB"),
    Row("size.installed", "installed, with dependencies", "size", unit="MB"),
    Row("size.extension", "largest shared object", "size", unit="MB"),
    Row("size.memory", "resident memory after the first run", "memory", unit="MB"),
]


def row_named(name: str) -> Row:
    """The row of that name."""
    return next(row for row in ROWS if row.name == name)
