"""The hostile table: whatever a program calls, it ends at a limit at the latest, and the next run is right.

walk.js lists every function that a program can reach, so that none is forgotten. Each is called with all that
hostile.toml has: on hostile receivers, with hostile arguments, as a constructor, and in rows of its own. One
that no row brings to a limit is listed there with the reason. Rows run in child processes (hostile.py): which
one killed or held its process is known.
"""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass
from typing import Any

import pytest
from security import hostile
from security.hostile import MIB, Outcome, Row

import modebox

_TABLE = hostile.load_table()
_LIMITS = _TABLE["limits"]
_MEMORY = _LIMITS["memory_mib"] * MIB

_AT_A_LIMIT = {"CpuLimit", "MemoryLimit", "StackOverflow", "HostCallLimit"}
_ENDINGS = _AT_A_LIMIT | {"completed", "Uncaught", "Deadlock"}

_QUANTUM = 2048  # ticks between two looks at the limits ...
_BULK = 64  # ... and bytes that a tick of a bulk operation is charged for
_OVERHEAD = MIB  # beyond the memory limit: pages of WebAssembly, what error messages need


@dataclass(frozen=True)
class Ran:
    """The table, having run."""

    functions: list[str]
    rows: list[tuple[Row, Outcome]]

    def wrong(self, is_right: Any) -> list[str]:
        """Rows that are not right, in words."""
        return [f"{row.name}: {outcome}" for row, outcome in self.rows if not is_right(outcome)]


@pytest.fixture(scope="module")
def ran() -> Ran:
    functions = hostile.walk(_TABLE)
    rows = [row for function in functions for row in hostile.rows_of(function, _TABLE)]
    patience = 2 * _LIMITS["timeout_s"]
    outcomes = hostile.run_rows(rows, patience, processes=min(4, os.cpu_count() or 1))
    return Ran([function.path for function in functions], list(zip(rows, outcomes, strict=True)))


def test_every_row_ends_with_an_error_or_at_a_limit(ran: Ran) -> None:
    """No death, no hang, nothing internal; and no timeout: whatever is long is counted in ticks."""
    assert ran.wrong(lambda outcome: outcome.kind in _ENDINGS) == []


def test_deep_recursion_is_an_error_that_the_program_can_catch(ran: Ran) -> None:
    assert ran.wrong(lambda outcome: not outcome.trap) == []


def test_every_row_came_to_its_call(ran: Ran) -> None:
    assert ran.wrong(lambda outcome: outcome.called) == []


def test_memory_stays_under_its_limit(ran: Ran) -> None:
    assert ran.wrong(lambda outcome: outcome.memory <= _MEMORY + _OVERHEAD) == []


def test_limits_are_looked_at_often(ran: Ran, capsys: pytest.CaptureFixture[str]) -> None:
    longest, name = max((outcome.longest_unchecked, row.name) for row, outcome in ran.rows)
    with capsys.disabled():
        print(f"\n{len(ran.rows)} hostile rows; at most {longest} ticks between two checks ({name})")
    assert longest <= _QUANTUM + _MEMORY // _BULK


def test_the_next_run_is_right(ran: Ran) -> None:
    right = modebox.run_sync(hostile.CANARY).value
    assert right[:3] == [2, "undefined", False]
    assert ran.wrong(lambda outcome: outcome.after == right) == []


def test_every_function_is_brought_to_a_limit_or_has_a_reason(ran: Ran) -> None:
    held_up = {row.function for row, outcome in ran.rows if outcome.kind in _AT_A_LIMIT}
    constant = {function for functions in _TABLE["constant"].values() for function in functions}
    assert sorted(set(ran.functions) - held_up - constant) == [], (
        "give it a row that bites, or the reason why none can"
    )
    assert sorted(held_up & constant) == [], "reaches a limit, so it is not constant"


def test_the_table_lists_what_exists(ran: Ran) -> None:
    assert [path for path, count in Counter(ran.functions).items() if count > 1] == []
    constant = [function for functions in _TABLE["constant"].values() for function in functions]
    assert [path for path, count in Counter(constant).items() if count > 1] == []
    assert sorted({*_TABLE["rows"], *constant} - set(ran.functions)) == [], "gone from the guest"


def test_a_row_that_holds_or_kills_its_process_is_named() -> None:
    endless, trivial = Row("f", "endless", "for (;;);", 2**62), Row("f", "trivial", "console.log(1)", 10**6)
    child = hostile.Child(patience=0.5)
    try:
        assert child.run(endless).kind == "hang"
        child.patience = 30
        assert child.run(trivial).kind == "completed"
        child.process.kill()
        assert child.run(trivial).kind == "death"
        assert child.run(trivial).kind == "completed"
    finally:
        child.close()


def test_the_table_has_receivers_for_what_exists() -> None:
    holders = {function.holder_path for function in hostile.walk(_TABLE)}
    assert sorted(set(_TABLE["own"]) - holders) == []
