"""Runs one row in a peer's own environment: `python -m bench.worker ADAPTER ROW`.

For each turn it prints one line with a JSON list of samples. The first turn warms up; each other one is asked
for by a line on stdin that says how many seconds it lasts.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import random
import statistics
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

from .adapters import Adapter, Functions, Run, load
from .lag import lags_during, summary
from .rows import COMMENTS, Row, row_named

WARM_SECONDS = 0.05
READY_SECONDS = 30


async def called_async(x: int) -> int:
    return x


async def called_resting(x: int) -> int:
    await asyncio.sleep(0.01)
    return x


async def called_sleeping(x: int) -> int:
    await asyncio.sleep(0)
    return x


DICTS = [{"id": i, "name": f"item {i}", "price": i / 2, "ok": True} for i in range(10_000)]
TEXT = "x" * 1_000_000
BYTES = b"x" * 1_000_000
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "async": called_async,
    "bytes": lambda: BYTES,
    "dicts": lambda: DICTS,
    "plain": lambda x: x,
    "resting": called_resting,
    "sleeping": called_sleeping,
    "text": lambda: TEXT,
}


def sources_of(row: Row, source: str) -> Iterator[str]:
    """The sources of the runs: each one new, unless the row repeats one."""
    first = random.randrange(10**9, 10**10)
    for n in itertools.repeat(first) if row.repeated else itertools.count(first):
        yield f"{source}{n}"


def functions_of(row: Row) -> Functions:
    return {"f": FUNCTIONS[row.function]} if row.function else {}


def check(row: Row, value: Any) -> None:
    """Stops the worker when a program gives a wrong value, or one where it ought to fail."""
    if row.ends is not None:
        raise ValueError(f"ended, but not by {row.ends}")
    found = value if isinstance(value, (int, float)) else len(value)
    if found != row.expected:
        raise ValueError(f"expected {row.expected}, not {found}")


def check_ending(row: Row, adapter: Adapter, error: Exception) -> None:
    """Stops the worker when a program fails in another way than it ought to."""
    if row.ends is None or adapter.ending(error) != row.ends:
        raise error


def requests() -> Iterator[float]:
    """Seconds of each turn; the first one warms up."""
    yield WARM_SECONDS
    for line in sys.stdin:
        yield float(line)


def answer(samples: list[float]) -> None:
    print(json.dumps(samples), flush=True)


def serve_sync(row: Row, adapter: Adapter, source: str, made: str | None) -> None:
    sources, functions = sources_of(row, source), functions_of(row)
    bases = sources_of(row, made) if made else None
    with adapter.open_sync(row.timeout_ms) as run:
        for seconds in requests():
            times: list[float] = []
            base_times: list[float] = []
            end = time.perf_counter() + seconds
            while not times or time.perf_counter() < end:
                times.append(timed(row, adapter, run, next(sources), functions))
                if bases:
                    base_times.append(timed(row, adapter, run, next(bases), functions))
            answer([statistics.median(times) - statistics.median(base_times)] if bases else times)


def timed(row: Row, adapter: Adapter, run: Run, source: str, functions: Functions) -> float:
    """Milliseconds of one run."""
    start = time.perf_counter()
    try:
        value = run(source, functions)
    except Exception as error:
        elapsed = (time.perf_counter() - start) * 1e3
        check_ending(row, adapter, error)
    else:
        elapsed = (time.perf_counter() - start) * 1e3
        check(row, value)
    return elapsed


async def serve_async(row: Row, adapter: Adapter, source: str) -> None:
    sources, functions = sources_of(row, source), functions_of(row)
    async with adapter.open_async(row.timeout_ms) as run:
        for seconds in requests():
            times: list[float] = []
            end = time.perf_counter() + seconds
            while not times or time.perf_counter() < end:
                source = next(sources)
                start = time.perf_counter()
                value = await run(source, functions)
                times.append((time.perf_counter() - start) * 1e3)
                check(row, value)
            answer(times)


def count_runs(run: Run, sources: Iterator[str], seconds: float, go: threading.Barrier) -> float:
    """Runs a second of one thread, once all threads are ready."""
    run(next(sources), {})
    go.wait()
    count = 0
    start = time.perf_counter()
    while time.perf_counter() < start + seconds:
        run(next(sources), {})
        count += 1
    return count / (time.perf_counter() - start)


def serve_rate(row: Row, adapter: Adapter, source: str) -> None:
    with ExitStack() as stack, ThreadPoolExecutor(row.threads) as pool:
        runs = [stack.enter_context(adapter.open_sync(row.timeout_ms)) for _ in range(row.threads)]
        for seconds in requests():
            go = threading.Barrier(row.threads, timeout=READY_SECONDS)
            rates = [pool.submit(count_runs, run, sources_of(row, source), seconds, go) for run in runs]
            answer([sum(rate.result() for rate in rates)])


async def serve_lag(row: Row, adapter: Adapter, source: str) -> None:
    sources = sources_of(row, source)
    async with adapter.open_async(row.timeout_ms, row.at_once) as run:

        async def computing() -> None:
            try:
                check(row, await run(next(sources), {}))
            except Exception as error:
                check_ending(row, adapter, error)

        async def all_computing() -> None:
            await asyncio.gather(*(computing() for _ in range(row.at_once)))

        for _ in requests():
            idle = await lags_during(asyncio.sleep(row.timeout_ms / 1e3))
            answer(summary(idle) + summary(await lags_during(all_computing())))


def compute() -> None:
    """What a thread does that wants the interpreter all the time."""
    while True:
        sum(range(1000))


def main(adapter_name: str, row_name: str) -> None:
    row = row_named(row_name)
    if row.beside:
        threading.Thread(target=compute, daemon=True).start()
    adapter = load(adapter_name)
    source = row.source_of_run(adapter_name, adapter.LANGUAGE)
    if row.kind == "async":
        asyncio.run(serve_async(row, adapter, source))
    elif row.kind == "sync":
        made = row.made.get(adapter.LANGUAGE)
        serve_sync(row, adapter, source, made + COMMENTS[adapter.LANGUAGE] if made else None)
    elif row.kind == "lag":
        asyncio.run(serve_lag(row, adapter, source))
    else:
        serve_rate(row, adapter, source)


if __name__ == "__main__":
    main(*sys.argv[1:])
