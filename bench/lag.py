"""Lag of an event loop: how much later than asked asyncio.sleep returns."""

from __future__ import annotations

import asyncio
import math
import statistics
import time
from collections.abc import Coroutine
from typing import Any

PROBE_SECONDS = 0.001
SERIES = tuple(f"{when} {what}" for when in ("idle", "busy") for what in ("median", "p99", "max"))


async def lags_during(work: Coroutine[Any, Any, object]) -> list[float]:
    """Milliseconds, one probe after another until the work is done."""
    lags = []
    task = asyncio.ensure_future(work)
    while not task.done():
        start = time.perf_counter()
        await asyncio.sleep(PROBE_SECONDS)
        lags.append((time.perf_counter() - start - PROBE_SECONDS) * 1e3)
    await task
    return lags


def summary(lags: list[float]) -> list[float]:
    """Median, 99th percentile, and maximum."""
    ordered = sorted(lags)
    return [statistics.median(ordered), ordered[math.ceil(0.99 * len(ordered)) - 1], ordered[-1]]
