"""docs/api.md is what tools/make_api_docs.py makes."""

from __future__ import annotations

import re

import make_api_docs
from docs.pages import page

import modebox


def test_the_reference_is_up_to_date() -> None:
    """Otherwise: python tools/make_api_docs.py."""
    assert page("api.md") == make_api_docs.make_page()


def test_the_reference_has_every_name() -> None:
    headings = re.findall(r"^## `(\w+)`$", page("api.md"), re.MULTILINE)
    assert sorted(headings) == sorted(modebox.__all__)
