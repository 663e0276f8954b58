"""The promises of the package as data, each with the tests that show it.

`promises.jsonl` has one JSON object a line:

| field | meaning |
|---|---|
| `id` | the section's number and a number in it |
| `section` | key of `SECTIONS` |
| `promise` | what is promised |
| `shown_by` | tests (`tests/unit/test_run.py::test_stats`, or a file in C) and cases (`cases/values/out-*`) |
| `broken` | how the product does not keep it: a test of it is marked as failing |
| `later` | instead of the last three: what the section promises that does not exist yet |
"""

from __future__ import annotations

import ast
import json
import re
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

import cases

Row = dict[str, Any]

FOLDER = Path(__file__).parent
ROOT = FOLDER.parents[1]
PAGE = ROOT / "docs" / "promises.md"

SECTIONS = {
    1: "Names",
    2: "Running",
    3: "Host functions",
    4: "Values",
    5: "Limits",
    6: "Errors",
    10: "Fine print",
}


def load() -> list[Row]:
    """All rows, in the order of the file."""
    with (FOLDER / "promises.jsonl").open(encoding="utf-8", newline="\n") as lines:
        return [json.loads(line) for line in lines]


@cache
def _tests_of(file: str) -> frozenset[str]:
    path = ROOT / file
    if not path.is_file():
        return frozenset()
    return frozenset(re.findall(r"^(?:async )?def (test_\w+)\(", path.read_text("utf-8"), re.MULTILINE))


@cache
def _verdicts(file: str) -> dict[str, str]:
    return cases.verdicts(file) if file in cases.FILES else {}


def verdicts_of(place: str) -> set[str]:
    """Of the tests or cases that a place names: "pass", areas that cases wait for; empty: it names none."""
    if place.startswith("cases/"):
        _, file, pattern = place.split("/", 2)
        return {verdict for case, verdict in _verdicts(file).items() if fnmatchcase(case, pattern)}
    file, _, test = place.partition("::")
    exists = test in _tests_of(file) if test else (ROOT / file).is_file()
    return {cases.PASS} if exists else set()


@cache
def _failing_in(file: str) -> frozenset[str]:
    functions = (node for node in ast.parse((ROOT / file).read_text("utf-8")).body)
    return frozenset(
        function.name
        for function in functions
        if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef))
        and any("mark.xfail" in ast.unparse(decorator) for decorator in function.decorator_list)
    )


def is_expected_to_fail(place: str) -> bool:
    """Whether a test is marked so."""
    file, _, test = place.partition("::")
    return bool(test) and test in _failing_in(file)
