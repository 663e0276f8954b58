"""Processes that end, or fork, in the middle of a run: they do so cleanly and at once."""

import subprocess
import sys
from textwrap import dedent

import pytest

ENDLESS = 'modebox.run("for (;;);")'

PROGRAMS = {
    "a task is pending when asyncio.run returns": f"""
        async def main():
            asyncio.create_task({ENDLESS})
            await asyncio.sleep(0.05)
        asyncio.run(main())
        """,
    "an event loop runs in a daemon thread": f"""
        threading.Thread(target=lambda: asyncio.run({ENDLESS}), daemon=True).start()
        time.sleep(0.1)
        """,
    "run_sync runs in a daemon thread": """
        threading.Thread(target=lambda: modebox.run_sync("for (;;);"), daemon=True).start()
        time.sleep(0.1)
        """,
    "a loop was stopped and never closed": f"""
        loop = asyncio.new_event_loop()
        task = loop.create_task({ENDLESS})
        loop.call_later(0.05, loop.stop)
        loop.run_forever()
        """,
    "a loop was closed with a run in it": f"""
        loop = asyncio.new_event_loop()
        task = loop.create_task({ENDLESS})
        loop.call_later(0.05, loop.stop)
        loop.run_forever()
        loop.close()
        """,
    "a fork while a run computes": """
        async def main():
            task = asyncio.create_task(modebox.run("let s = 0; for (let i = 0; i < 3e6; i++) s += i; s"))
            await asyncio.sleep(0.02)
            child = os.fork()
            if child == 0:
                os._exit(modebox.run_sync("1 + 1").value != 2)
            assert os.waitpid(child, 0)[1] == 0
            assert (await task).value == 4499998500000
        asyncio.run(main())
        """,
    "a child with an event loop of its own": """
        async def compute():
            return (await modebox.run("let s = 0; for (let i = 0; i < 1e6; i++) s += i; s")).value
        assert asyncio.run(compute()) == 499999500000
        child = os.fork()
        if child == 0:
            os._exit(asyncio.run(compute()) != 499999500000)
        assert os.waitpid(child, 0)[1] == 0
        assert asyncio.run(compute()) == 499999500000
        """,
    "exit from a host function": """
        modebox.run_sync("await f()", host_functions={"f": lambda: sys.exit(0)})
        sys.exit(1)
        """,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_process_ends_cleanly(name):
    program = "import asyncio, os, sys, threading, time, modebox\n" + dedent(PROGRAMS[name])
    result = subprocess.run(
        [sys.executable, "-X", "dev", "-c", program], capture_output=True, text=True, timeout=60
    )
    assert result.returncode == 0, result.stderr
