"""Every example of docs/programs.md runs and gives what the page says."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import modebox

_PAGE = (Path(__file__).parents[2] / "docs" / "programs.md").read_text("utf-8")
_BLOCK = re.compile(r"^(`{3,})(?:js|ts)\n(.*?)^\1\n", re.MULTILINE | re.DOTALL)
_EXAMPLES = [match[2] for match in _BLOCK.finditer(_PAGE)]
_ANSWER = re.compile(r"^// (→|throws|warns:) (.*)\n", re.MULTILINE)

_FUNCTIONS = {"bank": {"balance": lambda name: 120, "pay": lambda to, amount: None}}


def test_there_are_examples() -> None:
    assert len(_EXAMPLES) > 10
    assert len(_EXAMPLES) == len(re.findall(r"^// (?:→|throws) ", _PAGE, re.MULTILINE))


@pytest.mark.parametrize("example", _EXAMPLES)
def test_example(example: str) -> None:
    answers = dict(_ANSWER.findall(example))
    program = _ANSWER.sub("", example)
    result = modebox.run_sync(program, host_functions=_FUNCTIONS, throw_on_error=False)
    if "throws" in answers:
        assert str(result.error) == answers["throws"]
    else:
        assert result.unwrap() == json.loads(answers["→"])
    warnings = [entry.message for entry in result.logs]
    assert warnings == ([answers["warns:"]] if "warns:" in answers else [])
