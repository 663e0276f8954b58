"""Ctrl-C at random moments: KeyboardInterrupt, whatever goes on, and a Runner that works afterwards."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

_SEED = 20260
_MOMENTS = 40

_HEAD = """
import asyncio, sys, threading, time
import modebox

async def soon(): await asyncio.sleep(0)
async def sleep(): await asyncio.sleep(60)

runner = modebox.Runner(max_instances=4, limits={"max_host_calls": 10**9})
plain = {"now": lambda: 1, "block": lambda: time.sleep(0.003), "long": lambda: time.sleep(60)}
functions = {**plain, "soon": soon, "sleep": sleep}

def sync(source):
    runner.run_sync(source, host_functions=plain)

def own_loop(source):
    runner.run_sync(source, host_functions=functions)

def loop(*sources):
    async def main():
        await asyncio.gather(*(runner.run(source, host_functions=functions) for source in sources))
    asyncio.run(main())
"""

_STATES = [
    "sync('for (;;);')",
    "sync('/^(?:x+x+)+y$/.test(\"x\".repeat(99))')",
    "sync('for (;;) await now()')",
    "sync('for (;;) await block()')",
    "sync('await long()')",
    "[sync('1 + 1') for _ in iter(int, 1)]",
    "[sync('await now()') for _ in iter(int, 1)]",
    "own_loop('for (;;) await soon()')",
    "own_loop('await sleep()')",
    "own_loop('for (;;);')",
    "loop('for (;;);')",
    "loop('for (;;) await soon()', 'for (;;);')",
    "loop('for (;;) await now()')",
    "loop(*['await sleep()'] * 8)",
]

# Interrupted at each of its moments, and each time usable.
_CAUGHT = """
for _ in range(int(sys.argv[1])):
    try:
        print("ready", flush=True)
        work()
    except KeyboardInterrupt:
        print(runner.run_sync("await now()", host_functions=plain).value, flush=True)
        print(asyncio.run(runner.run("await soon(); 2", host_functions=functions)).value, flush=True)
"""

_UNCAUGHT = """
print("ready", flush=True)
work()
"""


def _start(state: str, script: str, *arguments: str) -> subprocess.Popen[str]:
    program = f"{_HEAD}\ndef work():\n    {state}\n{script}"
    return subprocess.Popen(
        [sys.executable, "-X", "faulthandler", "-c", program, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=_default_interrupt,
    )


def _default_interrupt() -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def _interrupt(process: subprocess.Popen[str], moment_s: float) -> None:
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    time.sleep(moment_s)
    process.send_signal(signal.SIGINT)


def _last_words(process: subprocess.Popen[str]) -> str:
    process.kill()
    return process.communicate()[1]


def _moments(state: str, count: int) -> list[float]:
    generator = random.Random(f"{_SEED} {state}")
    return [0.002 + 0.04 * generator.random() ** 2 for _ in range(count)]


@pytest.mark.parametrize("state", _STATES)
def test_a_caught_interrupt_leaves_the_runner_usable(state: str) -> None:
    moments = _moments(state, -(-_MOMENTS // len(_STATES)))
    with _start(state, _CAUGHT, str(len(moments))) as process:
        assert process.stdout is not None and process.stderr is not None
        try:
            for moment_s in moments:
                _interrupt(process, moment_s)
                said = [process.stdout.readline() for _ in range(2)]
                assert said == ["1\n", "2\n"], f"{moment_s} s: {_last_words(process)}"
            assert process.wait(30) == 0
            assert process.stderr.read() == ""
        finally:
            process.kill()


def _end_of(state: str) -> tuple[int, list[str]]:
    with _start(state, _UNCAUGHT) as process:
        try:
            _interrupt(process, _moments(state, 1)[0])
            _, said = process.communicate(timeout=30)
        finally:
            process.kill()
    return process.returncode, [line for line in said.splitlines() if not line.startswith(" ")]


def test_an_uncaught_interrupt_ends_the_process_as_python_does() -> None:
    with ThreadPoolExecutor(4) as pool:
        ends = dict(zip(_STATES, pool.map(_end_of, _STATES), strict=True))
    for state, (status, said) in ends.items():
        assert status == -signal.SIGINT, state
        assert said[-1] == "KeyboardInterrupt", state
        assert not [line for line in said if "ignored" in line or "never" in line], state
