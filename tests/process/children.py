"""Scripts that run in processes of their own."""

from __future__ import annotations

import subprocess
import sys
import textwrap


def run(
    script: str, *arguments: str, exit_status: int = 0, timeout: float = 120
) -> subprocess.CompletedProcess[str]:
    """Runs a script to its end, with Python's crash reports on.

    Raises:
        AssertionError: It ended with another status.
    """
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", textwrap.dedent(script), *arguments],
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    assert done.returncode == exit_status, done.stderr
    return done


def lines_of(script: str, *arguments: str, timeout: float = 120) -> list[str]:
    """What a script that has nothing to complain of writes."""
    done = run(script, *arguments, timeout=timeout)
    assert done.stderr == ""
    return done.stdout.splitlines()
