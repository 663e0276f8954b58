"""Makes docs/promises.md of the table: `python -m sentences.page`, in the folder `tests`."""

from __future__ import annotations

from cases import PASS

import sentences
from sentences import Row

_HEAD = """# Promises

What the package promises, and the tests that show it, relative to `tests/`. This page is made of
`tests/sentences/promises.jsonl` by `tests/sentences/page.py`.
"""


def make() -> str:
    """The page's text."""
    return "\n".join([_HEAD, *(_section(number, title) for number, title in sentences.SECTIONS.items())])


def _section(number: int, title: str) -> str:
    rows = [row for row in sentences.load() if row["section"] == number]
    lines = [f"## {number}. {title}", "", "| | promise | shown by |", "|---|---|---|"]
    lines += [_line(row) for row in rows if "later" not in row]
    lines += [f"\nLater: {row['later']}." for row in rows if "later" in row]
    return "\n".join(lines) + "\n"


def _line(row: Row) -> str:
    promise = row["promise"] + (f" **Not kept yet:** {row['broken']}." if "broken" in row else "")
    return f"| {row['id']} | {_escape(promise)} | {_escape('<br>'.join(map(_place, row['shown_by'])))} |"


def _place(place: str) -> str:
    verdicts = sentences.verdicts_of(place)
    areas = ", ".join(sorted(verdicts - {PASS}))
    waits = f" ({'some wait' if PASS in verdicts else 'waits'} for {areas})" if areas else ""
    return f"`{place.removeprefix('tests/')}`{waits}"


def _escape(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    sentences.PAGE.write_text(make(), "utf-8", newline="\n")
