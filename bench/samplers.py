"""Where samples come from: a warm worker, bare quickjs-ng, a whole process, or one number."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import IO

from . import native
from .peers import ROOT, Peer, interpreter, wheels
from .rows import Row

Sample = Callable[[float], list[float]]
TIMEOUT_SECONDS = 90.0
# Without cached bytecode a start would measure Python's compiler.
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
MEGABYTE = 1e6
WITHOUT_PROGRAM = {"memory", "size"}
TRAP = ROOT / "build" / "dev" / "bench_trap"


class UnavailableError(Exception):
    """The peer cannot give this row; the message says why."""


def open_sampler(row: Row, peer: Peer) -> AbstractContextManager[Sample] | None:
    """What takes the row's samples, sample(seconds) -> values; None where the peer does not have the row."""
    if peer.adapter == "native":
        return SAMPLERS_OF_NATIVE[row.kind](row) if row.native else None
    if row.kind == "trap":
        return None if peer.version or peer.wheel else trap()
    if row.kind not in WITHOUT_PROGRAM and row.source(peer.adapter, language_of(peer)) is None:
        return None
    return SAMPLERS[row.kind](row, peer)


def language_of(peer: Peer) -> str:
    return "monty" if peer.adapter == "monty" else "js"


@contextmanager
def worker(row: Row, peer: Peer) -> Iterator[Sample]:
    """Runs of a program in a warm process."""
    command = [interpreter(peer), "-m", "bench.worker", peer.adapter, row.name]
    with conversation(command) as (requests, answers):

        def sample(seconds: float) -> list[float]:
            requests.write(f"{seconds}\n")
            requests.flush()
            return read_samples(answers)

        read_samples(answers)
        yield sample


def read_samples(answers: Callable[[], str]) -> list[float]:
    samples: list[float] = json.loads(answers())
    return samples


@contextmanager
def conversation(command: list[str]) -> Iterator[tuple[IO[str], Callable[[], str]]]:
    """A process that answers a line for each request; one that ends or takes too long is unavailable."""
    pipe = subprocess.PIPE
    process = subprocess.Popen(
        command, cwd=ROOT, env=ENVIRONMENT, stdin=pipe, stdout=pipe, stderr=pipe, text=True
    )
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    requests, answers, errors = process.stdin, process.stdout, process.stderr

    def answer() -> str:
        timer = threading.Timer(TIMEOUT_SECONDS, process.kill)
        timer.start()
        line = answers.readline()
        timer.cancel()
        if not line:
            raise UnavailableError(last_line(errors.read()) or f"ended, or took over {TIMEOUT_SECONDS:.0f} s")
        return line

    try:
        yield requests, answer
    finally:
        process.kill()
        process.communicate()


def last_line(text: str) -> str:
    return (text.strip().splitlines() or [""])[-1][:200]


@contextmanager
def native_worker(row: Row) -> Iterator[Sample]:
    """Runs of a program in bare quickjs-ng, timed by itself."""
    source = row.source("native", "js")
    with conversation([native.runner()]) as (requests, answers):
        numbers = itertools.count()

        def run() -> float:
            program = f"{source}\n// {next(numbers)}"
            requests.write(f"{len(program.encode())}\n{program}")
            requests.flush()
            nanoseconds, value = answers().split()
            if value != str(row.expected):
                raise UnavailableError(f"expected {row.expected}, not {value}")
            return int(nanoseconds) / 1e6

        def sample(seconds: float) -> list[float]:
            end = time.perf_counter() + seconds
            times = [run()]
            while time.perf_counter() < end:
                times.append(run())
            return times

        run()
        yield sample


@contextmanager
def start(row: Row, peer: Peer) -> Iterator[Sample]:
    """Whole processes, one at a time."""
    with processes([interpreter(peer), "-c", row.source(peer.adapter, "") or ""]) as sample:
        yield sample


@contextmanager
def native_start(row: Row) -> Iterator[Sample]:
    with processes([native.runner(), row.source("native", "") or ""]) as sample:
        yield sample


@contextmanager
def processes(command: list[str]) -> Iterator[Sample]:
    def run() -> float:
        begin = time.perf_counter()
        done = finished(command)
        elapsed = time.perf_counter() - begin
        if done.stdout.strip() != "2":
            raise UnavailableError(last_line(done.stderr) or f"printed {done.stdout!r}")
        return elapsed * 1e3

    def sample(seconds: float) -> list[float]:
        end = time.perf_counter() + seconds
        times = [run()]
        while time.perf_counter() < end:
            times.append(run())
        return times

    run()
    yield sample


@contextmanager
def fresh(row: Row, peer: Peer) -> Iterator[Sample]:
    """What the module of that name prints in a process of its own."""
    command = [interpreter(peer), "-m", f"bench.{row.kind}", peer.adapter, row.name]
    yield lambda seconds: read_samples(lambda: output_of(command))


@contextmanager
def trap() -> Iterator[Sample]:
    """What the C program prints, which is built with this tree's core."""
    yield lambda seconds: read_samples(lambda: output_of([str(TRAP)]))


@contextmanager
def size(row: Row, peer: Peer) -> Iterator[Sample]:
    """One of the sizes on disk."""
    command = [interpreter(peer), "-m", "bench.sizes", peer.distribution or ""]
    sizes = json.loads(output_of(command))
    sizes["wheel"] = sum(path.stat().st_size for path in wheels(peer)) or None
    found = sizes[row.name.partition(".")[2]]
    yield lambda seconds: [found / MEGABYTE] if found else []


def finished(command: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        cwd=ROOT,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=False,
        timeout=TIMEOUT_SECONDS,
    )


def output_of(command: list[str]) -> str:
    done = finished(command)
    if done.returncode:
        raise UnavailableError(last_line(done.stderr))
    return done.stdout


SAMPLERS = {
    "sync": worker,
    "async": worker,
    "rate": worker,
    "lag": worker,
    "start": start,
    "crowd": fresh,
    "waiting": fresh,
    "memory": fresh,
    "size": size,
}
SAMPLERS_OF_NATIVE = {"sync": native_worker, "async": native_worker, "start": native_start}
