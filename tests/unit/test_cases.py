"""Every case of tests/cases/ through the public API, and the manifest that says which ones pass."""

from __future__ import annotations

import json
import re
import struct
from collections import Counter
from typing import Any

import cases
import pytest
from cases import PASS, Case, hosts

import modebox

_FRAME = re.compile(
    r"^\s*at (?:async )?(?:(?:new )?(?:[^()\n]*\.)?([^()\n.]*?) \()?([^()\n]+?):(\d+):(\d+)\)?$", re.MULTILINE
)
_ANSWERS = {"value", "python", "json", "prints", "error", "logs", "logs_match"}
_SECONDS_FOR_DEFERRED = 2


# ---- the manifest


def test_manifest_names_every_file() -> None:
    assert sorted(cases.load_manifest()) == cases.FILES


@pytest.mark.parametrize("file", cases.FILES)
def test_manifest_lists_every_case_once(file: str) -> None:
    listed = Counter(case for case, _ in cases.load_manifest()[file])
    existing = Counter(case["id"] for case in cases.load(file))
    assert [case for case, count in existing.items() if count > 1] == []
    assert [case for case, count in listed.items() if count > 1] == []
    assert set(listed) - set(existing) == set(), "listed, but no case has this id"
    assert set(existing) - set(listed) == set(), "a case that is not listed"


def test_manifest_defers_to_known_areas() -> None:
    areas = {area for pairs in cases.load_manifest().values() for _, area in pairs} - {PASS}
    assert areas == set(cases.load_areas())


@pytest.mark.parametrize("file", cases.FILES)
def test_cases_say_what_is_right(file: str) -> None:
    for case in cases.load(file):
        for program in cases.programs_of(case):
            assert _ANSWERS & set(program), case["id"]


# ---- the cases

_CASES = [
    pytest.param(case, verdict, id=f"{file}/{case['id']}")
    for file in cases.FILES
    for verdicts in [cases.verdicts(file)]
    for case in cases.load(file)
    for verdict in [verdicts.get(case["id"], "unlisted")]
]


@pytest.mark.parametrize(("case", "verdict"), _CASES)
def test_case(case: Case, verdict: str) -> None:
    programs = cases.programs_of(case)
    if verdict == PASS:
        assert programs or case.get("shown_by"), "nothing shows that it passes"
        for program in programs:
            _check(program, {})
        return
    try:
        assert programs, "no program"
        for program in programs:
            _check(program, {"timeout_ms": _SECONDS_FOR_DEFERRED * 1000})
    except Exception:
        pytest.xfail(verdict)
    pytest.fail(f"now passes: list it in the manifest (it is deferred to {verdict})")


_SHOWN = [
    pytest.param(place, id=f"{case['id']}: {place}")
    for case in cases.load("field_reports")
    for place in case.get("shown_by", [])
]


@pytest.mark.parametrize("place", _SHOWN)
def test_what_shows_a_report_exists(place: str) -> None:
    file, _, test = place.partition("::")
    text = (cases.FOLDER.parents[1] / file).read_text(encoding="utf-8")
    assert not test or re.search(rf"^(async )?def {test}\(", text, re.MULTILINE)


def _check(case: Case, limits: dict[str, int]) -> None:
    calls: list[list[Any]] = []
    result = modebox.run_sync(
        cases.source_of(case),
        host_functions=hosts.build(case.get("host", []), case.get("give"), calls),
        limits={**limits, **case.get("limits", {})},
        throw_on_error=False,
        **{name: case[name] for name in ("mode", "filename", "approve") if name in case},
    )
    logs = [[entry.level, entry.message] for entry in result.logs]
    if "error" in case:
        _check_error(result.error, case["error"])
    else:
        _check_value(case, result.unwrap(), logs)
    if "logs" in case:
        assert logs == case["logs"]
    if "logs_match" in case:
        level, pattern = case["logs_match"]
        assert any(entry[0] == level and re.search(pattern, entry[1]) for entry in logs), logs
    if "calls" in case:
        assert _same(calls, case["calls"]), calls


def _check_value(case: Case, value: object, logs: list[list[str]]) -> None:
    if "value" in case:
        assert _same(value, case["value"]), value
    elif "python" in case:
        assert _same(value, hosts.evaluate(case["python"])), value
    elif "json" in case:
        assert isinstance(value, str), value
        assert _same(json.loads(value), case["json"]), value
    elif "prints" in case:
        assert "\n".join(message for _, message in logs) == case["prints"]


def _check_error(error: modebox.RunError | None, right: dict[str, Any]) -> None:
    assert error is not None, "the program completed"
    kinds = right["kind"] if isinstance(right["kind"], list) else [right["kind"]]
    assert error.kind in kinds, repr(error)
    for name in ("name", "message", "line", "column", "code"):
        if name in right:
            assert getattr(error, name) == right[name], (
                name,
                error,
                error.line,
                error.column,
                error.sandbox_stack,
            )
    if "matches" in right:
        assert re.search(right["matches"], error.message, re.DOTALL), error.message
    if "cause" in right:
        assert type(error.__cause__).__name__ == right["cause"]
    if "has" in right:
        assert getattr(error, right["has"], None) is not None
    if "frames" in right:
        assert _frames(error.sandbox_stack or "") == right["frames"], error.sandbox_stack


def _frames(stack: str) -> list[list[Any]]:
    """Function, line and column of each frame; the name is empty at the top level."""
    found = [(match[1] or "", int(match[3]), int(match[4])) for match in _FRAME.finditer(stack)]
    return [["" if name.startswith("<") else name, line, column] for name, line, column in found]


def _same(a: object, b: object) -> bool:
    """Equal with equal types, bit for bit, in the same order."""
    if type(a) is not type(b):
        return False
    if isinstance(a, float) and isinstance(b, float):
        return struct.pack("<d", a) == struct.pack("<d", b) or (a != a and b != b)
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(map(_same, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return list(a) == list(b) and all(_same(a[key], b[key]) for key in a)
    return a == b
