"""The pages of docs/: their blocks of code and the rows of their tables."""

from __future__ import annotations

import re
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
_BLOCK = re.compile(r"^(`{3,})(\w+)\n(.*?)^\1\n", re.MULTILINE | re.DOTALL)


def page(name: str) -> str:
    """The text of a page."""
    return (DOCS / name).read_text("utf-8")


def blocks(text: str) -> list[tuple[str, int, str]]:
    """All blocks of code: the language, the line that it begins after, the code."""
    return [(match[2], text[: match.start(3)].count("\n"), match[3]) for match in _BLOCK.finditer(text)]


def rows(name: str, heading: str) -> list[list[str]]:
    """The cells of the page's first table whose first column has this heading."""
    lines = iter(page(name).splitlines())
    for line in lines:
        if line.startswith(f"| {heading} |"):
            next(lines)
            break
    found = []
    for line in lines:
        if not line.startswith("|"):
            break
        cells = [cell.replace("\\|", "|").strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        found.append(cells)
    assert found, heading
    return found


def examples(name: str, heading: str) -> list[tuple[str, str]]:
    """The second and the third column of a table: an example, and what is made of it."""
    return [(row[1], row[2]) for row in rows(name, heading)]


def code(cell: str) -> str:
    """A cell that is one piece of code."""
    assert cell.startswith("`") and cell.endswith("`"), cell
    return cell.strip("`")
