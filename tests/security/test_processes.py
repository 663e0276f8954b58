"""Threads, forks, crashes of others, exits and leaks: scripts that run in processes of their own."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

_THREADS_ON_SMALL_STACKS = """
    import threading
    from concurrent.futures import ThreadPoolExecutor
    import modebox

    threading.stack_size(256 * 1024)
    deep = "const f = n => 1 + f(n + 1); try { f(0) } catch (error) { error.name }"
    with modebox.Runner() as runner, ThreadPoolExecutor(16) as pool:
        doubles = pool.map(lambda i: runner.run_sync(f"{i} * 2").value, range(2000))
        print(list(doubles) == list(range(0, 4000, 2)))
        print({runner.run_sync(deep).value for _ in range(5)})
        print(set(pool.map(lambda _: runner.run_sync(deep).value, range(100))))
"""

_FORK = """
    import os, threading, time
    import modebox

    runner = modebox.Runner()
    print(runner.run_sync("1 + 1").value, flush=True)
    busy = threading.Thread(target=lambda: runner.run_sync("for (let i = 0; i < 3e7; i++); 5"))
    busy.start()
    time.sleep(0.02)
    child = os.fork()
    if child == 0:
        four = runner.run_sync("2 + 2").value
        zero = modebox.Runner().run_sync("await f()", host_functions={"f": int}).value
        limit = runner.run_sync("for (;;);", limits={"timeout_ms": 20}, throw_on_error=False).error.kind
        os._exit(0 if (four, zero, limit) == (4, 0, "Timeout") else 1)
    print(os.waitpid(child, 0)[1])
    busy.join()
    print(runner.run_sync("3 + 3").value)
"""

_FORK_WHILE_AN_ASYNC_RUN_COMPUTES = """
    import asyncio, os
    import modebox

    async def main():
        run = asyncio.create_task(modebox.run("for (let i = 0; i < 3e7; i++); 5"))
        await asyncio.sleep(0.02)
        child = os.fork()
        if child == 0:
            os._exit(0 if modebox.run_sync("2 + 2").value == 4 else 1)
        print(os.waitpid(child, 0)[1], (await run).value)

    asyncio.run(main())
"""

_POOLS = """
    import multiprocessing
    import modebox

    runner = modebox.Runner()

    def double(n):
        return runner.run_sync(f"{n} * 2").value

    if __name__ == "__main__":
        print(runner.run_sync("1 + 1").value, flush=True)
        for method in ("fork", "spawn", "forkserver"):
            with multiprocessing.get_context(method).Pool(2) as pool:
                print(method, pool.map(double, range(20)) == list(range(0, 40, 2)), flush=True)
"""

_HANDLERS_OF_OTHERS = """
    import faulthandler, signal, sys
    import modebox

    seen = [signal.getsignal(s) for s in range(1, signal.NSIG)]
    deep = "const f = () => f(); try { f() } catch (error) { error.name }"
    print(modebox.run_sync(deep).value)
    for change in (faulthandler.enable, faulthandler.disable, faulthandler.enable):
        change()
        print(modebox.run_sync(deep).value)
    print(seen == [signal.getsignal(s) for s in range(1, signal.NSIG)])
    sys.stdout.flush()
    import ctypes
    ctypes.string_at(8)
"""

_EXITS = {
    "a thread computes": """
        import threading, time, modebox
        threading.Thread(target=modebox.run_sync, args=("for (;;);",), daemon=True).start()
        time.sleep(0.05)
    """,
    "a thread waits": """
        import threading, time, modebox
        arguments = {"host_functions": {"f": lambda: time.sleep(60)}}
        threading.Thread(target=modebox.run_sync, args=("await f()",), kwargs=arguments, daemon=True).start()
        time.sleep(0.05)
    """,
    "a task was left": """
        import asyncio, modebox
        async def main():
            asyncio.create_task(modebox.run("for (;;);"))
            asyncio.create_task(modebox.run("await f()", host_functions={"f": lambda: asyncio.sleep(60)}))
            await asyncio.sleep(0.05)
        asyncio.run(main())
    """,
    "a loop was dropped": """
        import asyncio, modebox
        loop = asyncio.new_event_loop()
        task = loop.create_task(modebox.run("1 + 1"))
        print(loop.run_until_complete(task).value)
        loop.close()
    """,
    "a runner is in a cycle": """
        import modebox
        class Cycle: pass
        cycle = Cycle()
        cycle.runner, cycle.me = modebox.Runner(), cycle
        print(cycle.runner.run_sync("1 + 1").value)
    """,
    "a host function exits": """
        import sys, modebox
        modebox.run_sync("await f()", host_functions={"f": lambda: sys.exit(0)})
    """,
    "at exit": """
        import atexit, modebox
        atexit.register(lambda: print(modebox.run_sync("1 + 1").value))
    """,
}

_LEAKS = """
    import asyncio, gc
    import modebox

    LIMITS = {"fuel": 200_000, "memory_limit_bytes": 2 << 20}
    FUNCTIONS = {"f": lambda x: {"k": [x]}, "fail": lambda: 1 / 0}
    SOURCES = [
        "({ a: [1, 2, { b: 'x'.repeat(100) }] })", "await f({ a: [1n, 'x', null] })", "null.x", "x y",
        "for (;;);", "const a = []; for (;;) a.push({})", "await new Promise(() => {})", "await fail()",
        "const f = () => f(); f()", "[() => 1]", "console.log('x'.repeat(1000))", "f(1); f(2); throw 1",
    ]

    async def cancelled():
        task = asyncio.create_task(modebox.run("await f()", host_functions={"f": lambda: asyncio.sleep(60)}))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    def resident():
        gc.collect()
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * 4096

    def rounds(count):
        for _ in range(count):
            for source in SOURCES:
                modebox.run_sync(source, host_functions=FUNCTIONS, limits=LIMITS, throw_on_error=False)
            asyncio.run(cancelled())
        return resident()

    before = rounds(40)
    print(rounds(200) - before < 5_000_000)
"""

_RANDOM = """
    import os, modebox
    def draw():
        return [modebox.run_sync("Math.random()").value for _ in range(50)]
    first = draw()
    for _ in range(4):
        reading, writing = os.pipe()
        if not os.fork():
            os.write(writing, repr(draw()).encode())
            os._exit(0)
        os.wait()
        os.close(writing)
        first += eval(os.read(reading, 1 << 16))
    first += draw()
    print(len(first), len(set(first)))
"""


def run(script: str, exit_status: int = 0) -> tuple[str, str]:
    """What a script writes to its two outputs."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", textwrap.dedent(script)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == exit_status, done.stderr
    return done.stdout, done.stderr


def test_many_threads_with_small_stacks() -> None:
    assert run(_THREADS_ON_SMALL_STACKS) == ("True\n{'RangeError'}\n{'RangeError'}\n", "")


def test_a_fork_while_a_thread_runs_a_program() -> None:
    assert run(_FORK) == ("2\n0\n6\n", "")


def test_random_numbers_never_come_again() -> None:
    assert run(_RANDOM) == ("300 300\n", "")


def test_a_fork_while_an_async_run_computes() -> None:
    assert run(_FORK_WHILE_AN_ASYNC_RUN_COMPUTES) == ("0 5\n", "")


def test_pools_of_processes(tmp_path: Path) -> None:
    script = tmp_path / "pools.py"
    script.write_text(textwrap.dedent(_POOLS))
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout.splitlines(), done.stderr) == (
        ["2", "fork True", "spawn True", "forkserver True"],
        "",
    )


def test_handlers_of_others_stay_and_a_crash_is_reported() -> None:
    out, err = run(_HANDLERS_OF_OTHERS, exit_status=-11)
    assert out.splitlines() == ["RangeError"] * 4 + ["True"]
    assert "Segmentation fault" in err


@pytest.mark.parametrize("name", _EXITS)
def test_a_process_exits_whatever_goes_on(name: str) -> None:
    out, err = run(_EXITS[name])
    assert (out in ("", "2\n"), err) == (True, "")


def test_memory_of_the_process_is_flat() -> None:
    assert run(_LEAKS) == ("True\n", "")
