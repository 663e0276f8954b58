"""Prints the milliseconds of many runs at once, as JSON: the first time, and the median after it.

Used as `python -m bench.crowd ADAPTER ROW`.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import sys
import time

from .adapters import Adapter, load
from .rows import Row, row_named
from .worker import check, functions_of, sources_of

WARM_SECONDS = 0.5


async def times_of(row: Row, adapter: Adapter, source: str) -> list[float]:
    sources, functions = sources_of(row, source), functions_of(row)
    times: list[float] = []
    async with adapter.open_async(row.timeout_ms) as run:
        check(row, await run(next(sources), functions))
        end = time.perf_counter() + WARM_SECONDS
        while len(times) < 2 or time.perf_counter() < end:
            crowd = [next(sources) for _ in range(row.at_once)]
            start = time.perf_counter()
            values = await asyncio.gather(*(run(source, functions) for source in crowd))
            times.append((time.perf_counter() - start) * 1e3)
            for value in values:
                check(row, value)
    return times


def main(adapter_name: str, row_name: str) -> None:
    row, adapter = row_named(row_name), load(adapter_name)
    first, *warm = asyncio.run(times_of(row, adapter, row.source_of_run(adapter_name, adapter.LANGUAGE)))
    print(json.dumps([first, statistics.median(warm)]))


if __name__ == "__main__":
    main(*sys.argv[1:])
