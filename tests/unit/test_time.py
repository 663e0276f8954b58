"""The program's clock: real by default, fixed by virtual_time; what else makes a run reproducible."""

import asyncio
import time
from datetime import date, datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import modebox

MAY_2026 = datetime(2026, 5, 1, tzinfo=timezone.utc)
MAY_2026_MS = 1_777_593_600_000


def value(source, **options):
    return modebox.run_sync(source, **options).value


@pytest.mark.parametrize(
    "start",
    [
        MAY_2026,
        MAY_2026.replace(tzinfo=None),
        MAY_2026.astimezone(timezone(timedelta(hours=-7))),
        MAY_2026 + timedelta(microseconds=999),
        MAY_2026_MS,
        float(MAY_2026_MS),
        MAY_2026_MS + 0.9,
    ],
)
def test_the_start(start):
    assert value("Date.now()", virtual_time=start) == MAY_2026_MS
    assert asyncio.run(modebox.run("Date.now()", virtual_time=start)).value == MAY_2026_MS
    assert value("new Date().toISOString()", virtual_time=start) == "2026-05-01T00:00:00.000Z"


def test_the_ends_of_time():
    assert value("Date.now()", virtual_time=0) == 0
    latest = datetime(2199, 12, 31, 23, 59, 59, 999_000)
    assert value("new Date().toISOString()", virtual_time=latest) == "2199-12-31T23:59:59.999Z"


def test_it_may_start_at_the_real_time():
    for start in (True, False, None):
        assert abs(value("Date.now()", virtual_time=start) - time.time() * 1000) < 10_000


@pytest.mark.parametrize(
    ("start", "error"),
    [
        ("2026-05-01", TypeError),
        (date(2026, 5, 1), TypeError),
        (timedelta(1), TypeError),
        (-1, ValueError),
        (float("nan"), ValueError),
        (float("inf"), ValueError),
        (10**30, ValueError),
        (datetime(1969, 12, 31), ValueError),
        (datetime(2200, 1, 1), ValueError),
    ],
)
def test_misuse(start, error):
    with pytest.raises(error, match="virtual_time must"):
        value("1", virtual_time=start)


def test_computing_takes_virtual_time():
    source = "const end = Date.now() + 5; while (Date.now() < end); Date.now()"
    assert value(source, virtual_time=MAY_2026) == MAY_2026_MS + 5


@pytest.mark.parametrize("start", [True, MAY_2026])
def test_host_calls_take_no_virtual_time(start):
    source = "const t = Date.now(); await nap(); await nap(); Date.now() - t"
    assert value(source, virtual_time=start, host_functions={"nap": lambda: time.sleep(0.02)}) == 0
    assert value(source, virtual_time=start, host_functions={"nap": lambda: asyncio.sleep(0.02)}) == 0


def test_without_it_the_clock_follows_host_calls():
    source = "const t = Date.now(); await nap(); Date.now() - t"
    assert 20 <= value(source, host_functions={"nap": lambda: time.sleep(0.02)}) < 10_000


# ---- the same again

PIECES = [
    "out.push(Math.random())",
    "out.push(await f(out.length))",
    "out.push(...await Promise.all([f(1), later(2), f(3)]))",
    "try { await fail() } catch (e) { out.push(e.message) }",
    "for (let i = 0; i < 1000; i++) out.length",
    "console.log(out.length, 'entries')",
    "out.push([...'determinism'].sort().join(''))",
]
CLOCKED = "out.push(Date.now(), new Date().getMilliseconds())"


async def later(x):
    await asyncio.sleep(0)
    return x


def fail():
    raise ValueError("no")


def facts(source, seed, start):
    functions = {"f": lambda x: [x, {"x": x}], "later": later, "fail": fail}
    result = modebox.run_sync(source, host_functions=functions, seed=seed, virtual_time=start)
    return result.value, result.logs, result.stats.fuel_used, [(c.id, c.state) for c in result.calls]


def check_again(pieces, seed, start):
    source = ";\n".join(["const out = []", *pieces, "out"])
    assert facts(source, seed, start) == facts(source, seed, start)


@given(
    pieces=st.lists(st.sampled_from(PIECES), max_size=6),
    seed=st.binary(min_size=32, max_size=32),
    start=st.integers(0, 4_000_000_000_000),
)
@settings(deadline=None, max_examples=30)
def test_the_same_program_again_is_the_same(pieces, seed, start):
    check_again([CLOCKED, *pieces], seed, start) if not pieces else check_again(pieces, seed, start)


@given(
    pieces=st.lists(st.sampled_from([*PIECES, CLOCKED]), max_size=6),
    seed=st.binary(min_size=32, max_size=32),
    start=st.integers(0, 4_000_000_000_000),
)
@settings(deadline=None, max_examples=30)
def test_the_same_program_again_sees_the_same_time(pieces, seed, start):
    check_again(pieces, seed, start)
