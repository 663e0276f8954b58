"""Ctrl-C at random moments: KeyboardInterrupt, whatever goes on, and a Runner that works afterwards."""

from __future__ import annotations

import asyncio
import random
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from process.children import lines_of

from modebox import _workers

_SEED = 20260
_MOMENTS = 40

_HEAD = """
import asyncio, sys, threading, time
import modebox

def ready():
    print("ready", flush=True)

async def soon(): await asyncio.sleep(0)
async def sleep(): await asyncio.sleep(60)

runner = modebox.Runner(max_instances=4, limits={"max_host_calls": 10**9})
plain = {"now": lambda: 1, "block": lambda: time.sleep(0.003), "long": lambda: time.sleep(60)}
functions = {**plain, "ready": ready, "soon": soon, "sleep": sleep}

def sync(source):
    runner.run_sync(source, host_functions=plain)

def own_loop(source):
    runner.run_sync(source, host_functions=functions)

def loop(*sources):
    async def main():
        await asyncio.gather(*(runner.run(source, host_functions=functions) for source in sources))
    asyncio.run(main())
"""

# Each says that it is ready; those with an event loop say it from inside, because asyncio.run itself cannot
# be interrupted safely on its way in.
_STATES = [
    "ready(), sync('for (;;);')",
    "ready(), sync('/^(?:x+x+)+y$/.test(\"x\".repeat(99))')",
    "ready(), sync('for (;;) await now()')",
    "ready(), sync('for (;;) await block()')",
    "ready(), sync('await long()')",
    "ready(), [sync('1 + 1') for _ in iter(int, 1)]",
    "ready(), [sync('await now()') for _ in iter(int, 1)]",
    "own_loop('await ready(); for (;;) await soon()')",
    "own_loop('await ready(); await sleep()')",
    "own_loop('await ready(); for (;;);')",
    "loop('await ready(); for (;;);')",
    "loop('await ready(); for (;;) await soon()', 'for (;;);')",
    "loop('await ready(); for (;;) await now()')",
    "loop('await ready(); await sleep()', *['await sleep()'] * 7)",
]

# Interrupted at each of its moments, and each time usable.
_CAUGHT = """
for _ in range(int(sys.argv[1])):
    try:
        work()
    except KeyboardInterrupt:
        print(runner.run_sync("await now()", host_functions=plain).value, flush=True)
        print(asyncio.run(runner.run("await soon(); 2", host_functions=functions)).value, flush=True)
"""

# Interrupted as asyncio.run has just set its own handler.
_ON_THE_WAY_IN = """
import os, signal
real = signal.signal

def interrupting(number, handler):
    before = real(number, handler)
    if handler is not signal.default_int_handler:
        os.kill(os.getpid(), number)
    return before

signal.signal = interrupting
try:
    runner.run_sync("await sleep()", host_functions=functions, limits={"timeout_ms": 100})
except BaseException as error:
    print(type(error).__name__)
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


def _complaints(said: str) -> list[str]:
    """Lines on stderr."""
    return said.splitlines()


def _last_words(process: subprocess.Popen[str]) -> str:
    process.kill()
    return process.communicate()[1]


def _moments(state: str, count: int) -> list[float]:
    generator = random.Random(f"{_SEED} {state}")
    return [0.001 + 0.04 * generator.random() ** 2 for _ in range(count)]


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
            assert _complaints(process.stderr.read()) == []
        finally:
            process.kill()


def _end_of(state: str) -> tuple[int, list[str]]:
    with _start(state, "work()") as process:
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
        complaints = _complaints("\n".join(said))
        assert not [line for line in complaints if "ignored" in line or "never" in line], state


def test_an_interrupt_on_the_way_into_the_loop_of_run_sync() -> None:
    assert lines_of(_HEAD + _ON_THE_WAY_IN) == ["KeyboardInterrupt"]


def test_a_future_that_a_signal_handler_cancels_meanwhile_is_left_alone() -> None:
    class Interrupted(asyncio.Future[None]):
        def done(self) -> bool:
            was_done = super().done()
            self.cancel()  # as a handler does that runs here
            return was_done

    loop = asyncio.new_event_loop()
    try:
        _workers.settle(Interrupted(loop=loop))
    finally:
        loop.close()
