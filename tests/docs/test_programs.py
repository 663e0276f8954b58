"""Every example of docs/programs.md runs and gives what the page says."""

from __future__ import annotations

import json
import re

import pytest
from docs.pages import blocks, page

import modebox

_PAGE = page("programs.md")
_EXAMPLES = [code for language, _, code in blocks(_PAGE) if language in ("js", "ts")]
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
