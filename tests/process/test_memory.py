"""Thousands of runs leave no memory behind."""

from __future__ import annotations

import pytest
from process.children import lines_of

_SCRIPT = """
    import asyncio, gc, sys
    import modebox

    def resident():
        gc.collect()
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * 4096

    async def soon(value):
        await asyncio.sleep(0)
        return [value]

    PLAIN = {"f": lambda value: {"k": [value, "x" * 50]}, "fail": lambda: 1 / 0}
    CALLS = ["await f(1)", "await fail()", "try { await fail() } catch (e) { e }", "f(1); f(2); null.x",
             "await Promise.all([f(1), f([2]), f('3')])", "await f(() => 1)", "throw new Error('mine')"]

    def trivial(count):
        for i in range(count):
            assert modebox.run_sync("1 + 1").value == 2

    def calls_and_errors(count):
        for i in range(count):
            modebox.run_sync(CALLS[i % len(CALLS)], host_functions=PLAIN, throw_on_error=False)

    def coroutines(count):
        async def main():
            for i in range(count):
                run = modebox.run("await soon(await fail().catch(() => 1))",
                                  host_functions={**PLAIN, "soon": soon})
                assert (await run).value == [1]
        asyncio.run(main())

    work, count = globals()[sys.argv[1]], int(sys.argv[2])
    work(count // 5)
    before = resident()
    work(count)
    print(resident() - before)
"""


@pytest.mark.parametrize(
    ("work", "count"), [("trivial", 10_000), ("calls_and_errors", 2_000), ("coroutines", 1_000)]
)
def test_memory_is_flat(work: str, count: int) -> None:
    (grown,) = lines_of(_SCRIPT, work, str(count))
    assert int(grown) < 1_000_000
