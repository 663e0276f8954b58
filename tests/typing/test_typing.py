"""Type checkers see the public names as they are meant."""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[2]
_USE = "tests/typing/use.py"


def _check(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", *command, _USE],
        cwd=_ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_mypy() -> None:
    done = _check("mypy", "--strict")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.skipif(
    importlib.util.find_spec("pyright") is None or shutil.which("node") is None,
    reason="pyright is not installed",
)
def test_pyright() -> None:
    done = _check("pyright", "--outputjson", "--pythonpath", sys.executable)
    try:
        found = json.loads(done.stdout)["generalDiagnostics"]
    except ValueError:
        pytest.skip(f"pyright does not run here: {done.stderr[-200:]}")
    assert [(each["range"]["start"]["line"] + 1, each["message"]) for each in found] == []
