"""Event loops: a thousand runs in one, some in threads with runs cancelled at random, uvloop, notebooks."""

from __future__ import annotations

import importlib.util
import os
from textwrap import indent

import pytest
from process.children import lines_of

# How long the threads go on; a longer time than the default finds rarer things.
_SECONDS = float(os.environ.get("MODEBOX_TEST_SECONDS", "10"))
_SEED = int(os.environ.get("MODEBOX_TEST_SEED", "1"))

_MANY_AT_ONCE = """
    import asyncio
    import modebox

    async def twice(n):
        await asyncio.sleep(n % 7 / 1000)
        return 2 * n

    async def main():
        async with modebox.Runner() as runner:
            runs = [
                runner.run(f"const n = await twice({n}); await twice(n)", host_functions={"twice": twice})
                for n in range(1000)
            ]
            results = await asyncio.gather(*runs)
        print([result.value for result in results] == [4 * n for n in range(1000)])
        print({result.stats.host_calls for result in results})

    asyncio.run(main())
"""

_THREADS = """
    import asyncio, collections, random, sys, threading, time
    import modebox

    SECONDS, SEED = float(sys.argv[1]), int(sys.argv[2])
    runner = modebox.Runner(max_instances=24)
    outcomes = collections.Counter()
    wrong = []

    async def echo(value):
        await asyncio.sleep(random.random() / 500)
        return value

    async def sleep():
        await asyncio.sleep(60)

    def fail(text):
        raise LookupError(text)

    FUNCTIONS = {"echo": echo, "sleep": sleep, "fail": fail, "now": lambda value: value}

    KINDS = "value", "plain", "error", "timeout", "cancel", "cancel at once", "wait_for", "fuel", "sync"
    ENDLESS = "for (;;);", "await sleep()", "for (;;) await echo(1)", "for (;;) await now(1)"

    async def one(chance, n):
        kind = chance.choice(KINDS)
        options = {"host_functions": FUNCTIONS}
        if kind == "value":
            source = f"(await Promise.all([echo({n}), now(1), echo('x')])).join()"
            result = await runner.run(source, **options)
            right = result.value == f"{n},1,x"
        elif kind == "plain":
            source = f"let s = 0; for (let i = 0; i < {n}; i++) s += i; await now(s)"
            result = await runner.run(source, **options)
            right = result.value == n * (n - 1) // 2
        elif kind == "error":
            result = await runner.run(f"echo(1); await fail('{n}')", throw_on_error=False, **options)
            right = str(result.error) == f"LookupError: {n}" and type(result.error.__cause__) is LookupError
        elif kind == "timeout":
            limits = {"timeout_ms": chance.randrange(1, 20), "max_host_calls": 10**9}
            result = await runner.run(chance.choice(ENDLESS), limits=limits, throw_on_error=False, **options)
            right = result.error.kind == "Timeout"
        elif kind == "fuel":
            result = await runner.run("for (;;);", limits={"fuel": n * 10}, throw_on_error=False)
            right = (result.error.kind, result.stats.fuel_used) == ("CpuLimit", n * 10)
        elif kind == "sync":
            right = runner.run_sync(f"await now({n})", host_functions={"now": FUNCTIONS["now"]}).value == n
        else:
            source = chance.choice(["for (;;);", "await sleep()", "await echo(await echo(1)); for (;;);",
                                    "sleep(); sleep(); await sleep()"])
            run = runner.run(source, **options)
            try:
                if kind == "wait_for":
                    await asyncio.wait_for(run, chance.random() / 100)
                else:
                    task = asyncio.ensure_future(run)
                    await asyncio.sleep(0 if kind == "cancel at once" else chance.random() / 50)
                    task.cancel()
                    await task
                right = False
            except (asyncio.CancelledError, asyncio.TimeoutError):
                right = True
        outcomes[kind] += 1
        if not right:
            wrong.append((kind, n))

    async def several(chance, end):
        async def worker():
            while time.monotonic() < end and not wrong:
                await one(chance, chance.randrange(1, 3000))
        await asyncio.gather(*(worker() for _ in range(8)))
        assert len(asyncio.all_tasks()) == 1, asyncio.all_tasks()

    def thread(index):
        chance = random.Random(SEED * 100 + index)
        end = time.monotonic() + SECONDS
        try:
            while time.monotonic() < end and not wrong:
                until = min(end, time.monotonic() + chance.choice([0.2, 1, 2]))
                asyncio.run(several(chance, until))  # a new loop each time
        except BaseException as error:
            wrong.append(repr(error))
            raise

    threads = [threading.Thread(target=thread, args=(index,)) for index in range(4)]
    [each.start() for each in threads]
    [each.join() for each in threads]
    print(wrong, len(outcomes), runner._queue._inside, len(runner._active))
"""

_UVLOOP = """
    import asyncio, contextvars, sys, time
    import modebox, uvloop

    place = contextvars.ContextVar("place")

    async def twice(n):
        await asyncio.sleep(0.001)
        return 2 * n

    async def where():
        return [place.get(), type(asyncio.get_running_loop()).__module__]

    cleaned = []

    async def sleep():
        try:
            await asyncio.sleep(60)
        finally:
            cleaned.append(1)

    FUNCTIONS = {"twice": twice, "where": where, "sleep": sleep, "now": lambda: 1, "fail": lambda: 1 / 0}

    async def run(source, **options):
        return await modebox.run(source, host_functions=FUNCTIONS, **options)

    async def main():
        place.set("here")
        print((await run("await twice(await twice(5))")).value)
        print((await run("await where()")).value)
        values = await asyncio.gather(*(run(f"await twice({n})") for n in range(200)))
        print([value.value for value in values] == [2 * n for n in range(200)])
        print(str((await run("await fail()", throw_on_error=False)).error))
        for source in ("for (;;);", "await sleep()", "for (;;) await twice(1)"):
            limits = {"timeout_ms": 20, "max_host_calls": 10**9}
            print((await run(source, limits=limits, throw_on_error=False)).error.kind)
            task = asyncio.ensure_future(run(source))
            await asyncio.sleep(0.01)
            task.cancel()
            try:
                await task
            except asyncio.CancelledError:
                print("cancelled", len(asyncio.all_tasks()))
        print(len(cleaned))
        beats = 0
        async def beat():
            nonlocal beats
            while True:
                await asyncio.sleep(0.001)
                beats += 1
        heart = asyncio.ensure_future(beat())
        await run("for (let i = 0; i < 3e6; i++);")
        heart.cancel()
        print(beats > 2)
        print(modebox.run_sync("await now()", host_functions={"now": FUNCTIONS["now"]}).value)
        async with modebox.Runner(max_instances=2) as runner:
            tasks = [asyncio.ensure_future(runner.run("for (;;);", throw_on_error=False)) for _ in range(4)]
            await asyncio.sleep(0.01)
            runner.close()
            print({(await task).error.kind for task in tasks})

    uvloop.run(main())
"""

_UVLOOP_SAYS = [
    "20",
    "['here', 'uvloop']",
    "True",
    "ZeroDivisionError: division by zero",
    *["Timeout", "cancelled 1"] * 3,
    "2",
    "True",
    "1",
    "{'Aborted'}",
]

# A cell of a notebook: plain code on a running loop's thread.
_CELLS = {
    "a value": ("runner.run_sync('1 + 1').value", "2"),
    "plain functions": (
        "runner.run_sync('await f(await f(3))', host_functions={'f': lambda n: n + 1}).value",
        "5",
    ),
    "a thousand calls": (
        "runner.run_sync('let s = 0; for (let i = 0; i < 1000; i++) s += await f(); s',"
        " host_functions={'f': lambda: 1}).value",
        "1000",
    ),
    "a long program": (
        "runner.run_sync('let s = 0; for (let i = 0; i < 1e6; i++) s += i; s').value",
        "499999500000",
    ),
    "a timeout": (
        "runner.run_sync('for (;;);', limits={'timeout_ms': 20}, throw_on_error=False).error.kind",
        "Timeout",
    ),
    "an error": (
        "runner.run_sync('await f()', host_functions={'f': lambda: 1 / 0}, throw_on_error=False).error",
        "ZeroDivisionError: division by zero",
    ),
    "one inside another": (
        "runner.run_sync('await f()', host_functions={'f': lambda: runner.run_sync('40 + 2').value}).value",
        "42",
    ),
    "the package's function": ("modebox.run_sync('await f()', host_functions={'f': lambda: 6}).value", "6"),
    "a coroutine function": ("refused('await f()', {'f': coroutine})", "await run(...)"),
    "a function that gives a coroutine": (
        "refused('await f()', {'f': lambda: coroutine()})",
        "await run(...)",
    ),
}

_NOTEBOOK = """
    import asyncio, modebox

    async def coroutine():
        return 1

    def refused(source, functions):
        try:
            runner.run_sync(source, host_functions=functions)
        except RuntimeError as error:
            return next(text for text in ("await run(...)",) if text in str(error))

    runner = modebox.Runner(max_instances=2)

    async def cells():
        background = asyncio.ensure_future(runner.run("for (;;);"))
        await asyncio.sleep(0.01)
        CELLS
        background.cancel()
        await asyncio.gather(background, return_exceptions=True)

    asyncio.run(cells())
"""


def test_a_thousand_runs_at_once() -> None:
    assert lines_of(_MANY_AT_ONCE) == ["True", "{2}"]


def test_threads_with_loops_whose_runs_are_cancelled_at_random() -> None:
    said = lines_of(_THREADS, str(_SECONDS), str(_SEED), timeout=_SECONDS + 60)
    assert said == ["[] 9 0 0"]


@pytest.mark.skipif(importlib.util.find_spec("uvloop") is None, reason="uvloop is not installed")
def test_uvloop() -> None:
    assert lines_of(_UVLOOP) == _UVLOOP_SAYS


def test_run_sync_inside_a_running_loop() -> None:
    cells = "\n".join(f"print({cell})" for cell, _ in _CELLS.values())
    script = _NOTEBOOK.replace("CELLS", indent(cells, " " * 8).strip())
    assert lines_of(script) == [said for _, said in _CELLS.values()]
