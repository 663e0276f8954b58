"""Prints the memory of a run that waits for a host call, in kB, as JSON: RSS and PSS, means of many.

Used as `python -m bench.waiting ADAPTER ROW`.
"""

from __future__ import annotations

import asyncio
import json
import sys

from .adapters import Adapter, load
from .memory import of_all
from .rows import Row, row_named
from .worker import check, sources_of

KINDS = ("Rss", "Pss")


async def growth(row: Row, adapter: Adapter, source: str) -> list[float]:
    """How much the memory grows from one run to many that wait, for each of these."""
    sources = sources_of(row, source)
    waiting, all_wait, go_on = 0, asyncio.Event(), asyncio.Event()

    async def f(x: int) -> int:
        nonlocal waiting
        waiting += 1
        if waiting == row.at_once:
            all_wait.set()
        await go_on.wait()
        return x

    async def answered(x: int) -> int:
        return x

    async with adapter.open_async(row.timeout_ms, row.at_once) as run:
        check(row, await run(next(sources), {"f": answered}))
        before = [of_all(kind) for kind in KINDS]
        runs = asyncio.gather(*(run(next(sources), {"f": f}) for _ in range(row.at_once)))
        await asyncio.wait_for(all_wait.wait(), row.timeout_ms / 1e3)
        after = [of_all(kind) for kind in KINDS]
        go_on.set()
        for value in await runs:
            check(row, value)
    return [(end - start) / row.at_once for start, end in zip(before, after, strict=True)]


def main(adapter_name: str, row_name: str) -> None:
    row, adapter = row_named(row_name), load(adapter_name)
    source = row.source_of_run(adapter_name, adapter.LANGUAGE)
    print(json.dumps(asyncio.run(growth(row, adapter, source))))


if __name__ == "__main__":
    main(*sys.argv[1:])
