"""The fuzz targets find nothing in a short run, and do find a planted bug."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

# A check that is taken out of a copy: file, what it says, what it says then.
PLANTED = {
    "reader": ("core/value.c", "if (size > left(reader))", "if (size > left(reader) + 8)"),
    "mailbox": ("core/outbox.c", "padded > left - sizeof head ||", "padded > UINT32_MAX ||"),
}


def fuzz(*arguments):
    command = [sys.executable, str(ROOT / "fuzz" / "run.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True)


def test_a_short_run_finds_nothing():
    result = fuzz("--seconds", "3")
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout.count("no crash") == len(PLANTED)


@pytest.mark.parametrize("target", PLANTED)
def test_a_planted_bug_is_found(target, tmp_path):
    for folder in ("core", "guest", "fuzz"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    name, check, weaker = PLANTED[target]
    text = (tmp_path / name).read_text()
    assert text.count(check) == 1
    (tmp_path / name).write_text(text.replace(check, weaker))
    result = fuzz("--seconds", "20", "--tree", str(tmp_path), target)
    assert result.returncode == 1 and "ERROR: AddressSanitizer" in result.stderr, (
        result.stdout + result.stderr
    )
