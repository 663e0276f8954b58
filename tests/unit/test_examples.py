"""Every example runs and prints what it should."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

_EXAMPLES = Path(__file__).parents[2] / "examples"


def _output_of(name: str) -> str:
    done = subprocess.run([sys.executable, _EXAMPLES / name], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


def _rows(name: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads((_EXAMPLES / "data" / f"{name}.json").read_text("utf-8"))
    return rows


def test_every_example_is_tested() -> None:
    assert {path.name for path in _EXAMPLES.glob("*.py")} == {"demo.py", "quickstart.py"}


@pytest.mark.parametrize("name", ["quickstart.py"])
def test_prints_what_its_last_comment_says(name: str) -> None:
    _, _, comment = (_EXAMPLES / name).read_text("utf-8").partition("# Prints:\n")
    promised = [line.removeprefix("# ") for line in comment.splitlines()]
    assert _output_of(name).splitlines() == promised != []


def test_demo_reports_every_month() -> None:
    """The same sums as in the program, in Python."""
    sums: defaultdict[str, int] = defaultdict(int)
    for order in _rows("orders"):
        if order["status"] != "cancelled":
            sums[order["placed"][:7]] += sum(
                item["quantity"] * item["price_cents"] for item in order["items"]
            )
    lines = _output_of("demo.py").splitlines()
    totals = {line.split()[0]: line.split()[-1] for line in lines if line[:7] in sums}
    assert totals == {month: f"${(cents + 50) // 100:,}" for month, cents in sums.items()}


def test_demo_logs_and_stats() -> None:
    output = _output_of("demo.py")
    cancelled = sum(order["status"] == "cancelled" for order in _rows("orders"))
    assert f"loaded {len(_rows('orders'))} orders\n" in output
    assert f"  warn  left out {cancelled} cancelled orders\n" in output
    assert "13 host calls, " in output
