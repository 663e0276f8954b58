"""Every `>>>` example of the pages runs and gives what the page says, and every page is linked."""

from __future__ import annotations

import doctest
import re

import pytest
from docs.pages import DOCS, blocks, page

import modebox

_PAGES = ["values.md", "errors.md", "limits.md", "async.md", "coming-from-0.2.md"]
_FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@pytest.mark.parametrize("name", _PAGES)
def test_examples(name: str) -> None:
    """All examples of a page, in order, in one namespace."""
    parser, runner = doctest.DocTestParser(), doctest.DocTestRunner(optionflags=_FLAGS)
    names, report = {"modebox": modebox}, []
    for language, line, code in blocks(page(name)):
        test = parser.get_doctest(code, names, name, name, line)
        assert language == "python" and test.examples, f"{name}:{line} has no >>>"
        runner.run(test, out=report.append, clear_globs=False)
        names = test.globs
    assert runner.tries > 5
    assert runner.failures == 0, "".join(report)


def test_all_pages_are_linked() -> None:
    readme = (DOCS.parent / "README.md").read_text("utf-8")
    for name in [*_PAGES, "api.md", "programs.md"]:
        assert f"](docs/{name})" in readme
    for each in DOCS.glob("*.md"):
        for target in re.findall(r"\]\(([\w./-]+\.md)\)", each.read_text("utf-8")):
            assert (each.parent / target).exists(), f"{each.name}: {target}"


# ---- values.md
