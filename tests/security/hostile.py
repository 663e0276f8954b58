"""The rows of the hostile table, and running them in child processes: a row that kills or holds one is named.

A row is a program: one function of the walk (walk.js), called as hostile.toml says.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from queue import Empty, Queue
from typing import Any

import modebox
from modebox import _core, _outcome

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FOLDER = Path(__file__).parent
MIB = 1 << 20

_PRELUDE = (FOLDER / "hostile.js").read_text()
_WALK = (FOLDER / "walk.js").read_text()
_HOST = "host"  # the one host function, listed by the walk too
_NO_LIMIT = 2**63 - 1
_CLOCK_NS = 1_700_000_000_000_000_000
_VALUE_BYTES = _LOG_BYTES = MIB
_HOST_CALLS = 100
_LONGEST_UNCHECKED = 7  # its place in _core.Run.stats()


def load_table() -> dict[str, Any]:
    """hostile.toml."""
    with (FOLDER / "hostile.toml").open("rb") as file:
        return tomllib.load(file)


# ---- rows


@dataclass(frozen=True)
class Function:
    """A function that a program can reach: JavaScript expressions for it and its holder, and their names."""

    path: str
    expression: str
    holder_path: str
    holder: str
    is_constructor: bool


@dataclass(frozen=True)
class Row:
    """One program.

    Attributes:
        function: The path of the function that it drives.
        shape: What it drives it with.
        source: The program.
        fuel: Its limit.
    """

    function: str
    shape: str
    source: str
    fuel: int

    @property
    def name(self) -> str:
        return f"{self.function} {self.shape}"


def walk(table: dict[str, Any]) -> list[Function]:
    """All functions that a program can reach."""
    roots = ", ".join(
        f"[{json.dumps(name)}, {json.dumps(of)}, ({of})]" for name, of in table["roots"].items()
    )
    source = f"const ROOTS = [{roots}];\n{_WALK}"
    found = modebox.run_sync(source, host_functions={_HOST: len}).value
    return [Function(*fields) for fields in found]


def rows_of(function: Function, table: dict[str, Any]) -> Iterator[Row]:
    """The generic rows of a function, then its own."""
    fuel = table["limits"]["fuel"]
    own = table["own"].get(function.holder_path, "holder")

    def row(shape: str, receiver: str, arguments: str, call: str, fuel: int = fuel) -> Row:
        return Row(function.path, shape, _source(function, own, receiver, arguments, call), fuel)

    apply = "Reflect.apply(target, receiver, values)"
    for name, arguments in table["arguments"].items():
        yield row(f"own/{name}", "own()", arguments, apply)
        if function.is_constructor:
            for new_name, target in table["new_targets"].items():
                yield row(
                    f"new {new_name}/{name}",
                    "null",
                    arguments,
                    f"Reflect.construct(target, values, {target})",
                )
    for name, receiver in table["receivers"].items():
        if not function.is_constructor:
            for with_name, arguments in table["with_receivers"].items():
                yield row(f"{name}/{with_name}", receiver, arguments, apply)
    for number, special in enumerate(table["rows"].get(function.path, []), 1):
        yield row(
            f"row {number}", "null", "[]", f"(async () => {{ {special} }})()", table["limits"]["fuel_of_rows"]
        )


def _source(function: Function, own: str, receiver: str, arguments: str, call: str) -> str:
    """The program; its first log entry says that it got as far as the call, and when."""
    return f"""{_PRELUDE}
const target = {function.expression}, holder = {function.holder}, own = () => {own};
const receiver = {receiver}, values = {arguments};
console.log(performance.now());
await use({call}); 'done'"""


# ---- running them: in a child


@dataclass(frozen=True)
class Outcome:
    """How a row ended.

    Attributes:
        kind: "completed", or the error's kind.
        error: The error's text.
        trap: Whether the sandbox broke off: out of bounds, or deeper than the engine noticed.
        called: Whether the program got as far as its call.
        ticks: Of the whole run.
        longest_unchecked: Ticks between two looks at the limits, at most.
        memory: Bytes, at most.
        milliseconds: Of the whole run, for people.
        after: What the next run on the same sandbox gave.
    """

    kind: str
    error: str
    trap: bool
    called: bool
    ticks: int
    longest_unchecked: int
    memory: int
    milliseconds: float
    after: list[Any]


# The next run: it computes rightly, and nothing of the row before is there.
CANARY = """
[1 + 1, typeof leaked, "leaked" in Math, Reflect.ownKeys(globalThis).length, typeof host,
  [3, 1, 2].sort().join(), JSON.stringify({ a: [1, "x", null] }), await Promise.resolve(7)]
"""


def run_row(row: Row, limits: dict[str, Any], runner: modebox.Runner) -> Outcome:
    """Runs a row, then the canary."""
    timeout_ns = limits["timeout_s"] * 1_000_000_000
    core = (
        row.fuel,
        timeout_ns,
        _NO_LIMIT,
        limits["memory_mib"] * MIB,
        _VALUE_BYTES,
        _LOG_BYTES,
        _HOST_CALLS,
    )
    start = time.perf_counter()
    run = _core.start(row.source, "row.js", (_HOST,), 0, _CLOCK_NS, bytes(32), core, 0)
    while run.status == _outcome.WAITING and (call := run.next_call()) is not None:
        run.settle(call[0], None, 0)
    milliseconds = (time.perf_counter() - start) * 1000
    ending = _outcome.ending_of(run, run.status, row.source, {}, modebox.Limits())
    stats = run.stats()
    logs = run.take_logs()
    after = runner.run_sync(CANARY, throw_on_error=False)
    return Outcome(
        kind=ending.kind if ending else "completed",
        error=f"{ending.name}: {ending.message}"[:200] if ending else "",
        trap=run.status == _outcome.TRAP,
        called=bool(logs),
        ticks=stats[2],
        longest_unchecked=stats[_LONGEST_UNCHECKED],
        memory=stats[3],
        milliseconds=milliseconds,
        after=after.value if after.error is None else [repr(after.error)],
    )


def main() -> None:
    """The child: runs the rows that it is given, one JSON object a line, and answers each with a line."""
    limits = load_table()["limits"]
    with modebox.Runner() as runner:
        for line in sys.stdin:
            outcome = run_row(Row(**json.loads(line)), limits, runner)
            print(json.dumps(asdict(outcome)), flush=True)


# ---- running them: in the parent


class Child:
    """A process that runs rows, replaced when it dies or is silent for too long."""

    def __init__(self, patience: float) -> None:
        self.patience = patience
        self._start()

    def _start(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-X", "faulthandler", str(Path(__file__))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._answers: Queue[str] = Queue()
        threading.Thread(target=self._read, args=(self.process, self._answers), daemon=True).start()

    @staticmethod
    def _read(process: subprocess.Popen[str], answers: Queue[str]) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            answers.put(line)
        answers.put("")

    def run(self, row: Row) -> Outcome:
        """The row's outcome; of kind "death" or "hang" where there was none."""
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(json.dumps(asdict(row)) + "\n")
            self.process.stdin.flush()
            answer = self._answers.get(timeout=self.patience)
        except BrokenPipeError:
            answer = ""
        except Empty:
            return self._lost("hang", f"no answer for {self.patience} s")
        if not answer:
            return self._lost("death", f"exit status {self.process.wait()}")
        return Outcome(**json.loads(answer))

    def _lost(self, kind: str, why: str) -> Outcome:
        self.close()
        self._start()
        return Outcome(kind, why, False, True, 0, 0, 0, 0.0, [])

    def close(self) -> None:
        self.process.kill()
        self.process.communicate()


def run_rows(rows: Sequence[Row], patience: float, processes: int) -> list[Outcome]:
    """The outcomes, in the order of the rows."""
    outcomes: list[Outcome | None] = [None] * len(rows)
    next_row = iter(range(len(rows)))
    lock = threading.Lock()

    def work() -> None:
        child = Child(patience)
        try:
            while True:
                with lock:
                    index = next(next_row, None)
                if index is None:
                    return
                outcomes[index] = child.run(rows[index])
        finally:
            child.close()

    threads = [threading.Thread(target=work) for _ in range(processes)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert None not in outcomes
    return [outcome for outcome in outcomes if outcome is not None]


if __name__ == "__main__":
    main()
