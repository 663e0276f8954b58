"""The tables of docs/errors.md are complete."""

from __future__ import annotations

import re

from docs.pages import code, rows

import modebox
from modebox import RunError, _errors


def test_all_kinds_are_listed() -> None:
    listed = {code(row[0]): code(row[1]) for row in rows("errors.md", "Kind")}
    assert listed == _errors.CODES


def test_all_attributes_are_listed() -> None:
    listed = [name for row in rows("errors.md", "Attribute") for name in re.findall(r"`(\w+)`", row[0])]
    assert sorted(listed) == sorted(RunError.__annotations__)


def test_all_call_states_are_listed() -> None:
    states = re.findall(r"['\"](\w+)['\"]", modebox.CallRecord.__annotations__["state"])
    future = {"denied", "waiting"}  # of approvals
    assert [code(row[0]) for row in rows("errors.md", "State")] == [s for s in states if s not in future]
