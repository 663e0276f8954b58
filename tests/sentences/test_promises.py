"""Every promise has a test that exists, and docs/promises.md says which."""

from __future__ import annotations

from collections import Counter

import pytest

import sentences
from sentences import Row, page

_ROWS = sentences.load()
_PROMISES = [pytest.param(row, id=row["id"]) for row in _ROWS if "promise" in row]


def test_every_row_is_whole() -> None:
    for row in _ROWS:
        fields = {"id", "section", "later"} if "later" in row else {"id", "section", "promise", "shown_by"}
        assert set(row) - {"broken"} == fields, row
        assert row["section"] in sentences.SECTIONS, row
    for field in ("id", "promise"):
        counts = Counter(row[field] for row in _ROWS if field in row)
        assert [value for value, count in counts.items() if count > 1] == []


@pytest.mark.parametrize("row", _PROMISES)
def test_a_promise_has_tests_that_exist(row: Row) -> None:
    assert row["shown_by"]
    assert [place for place in row["shown_by"] if not sentences.verdicts_of(place)] == []


@pytest.mark.parametrize("row", _PROMISES)
def test_only_a_promise_that_is_not_kept_has_a_test_that_fails(row: Row) -> None:
    assert any(map(sentences.is_expected_to_fail, row["shown_by"])) is ("broken" in row)


def test_the_page_is_up_to_date() -> None:
    assert sentences.PAGE.read_text("utf-8") == page.make(), "run `python -m sentences.page` in tests/"
