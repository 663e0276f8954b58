"""Bare quickjs-ng from the pinned sources, compiled by the system's C compiler."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from .peers import BUILD, ROOT

COMPILER = os.environ.get("CC", "gcc")
FLAGS = ("-std=gnu11", "-O2", "-DNDEBUG", "-D_GNU_SOURCE")
UNITS = ("quickjs.c", "dtoa.c", "libregexp.c", "libunicode.c")
RUNNER = Path(__file__).parent / "native_runner.c"
PRINT_SOURCES = "import fetch, pins; print(fetch.fetch(pins.QUICKJS))"


def engine() -> Path:
    """The folder of the pinned sources in the build cache."""
    command = [sys.executable, "-c", PRINT_SOURCES]
    cached = subprocess.run(
        command, cwd=ROOT / "tools", check=True, stdout=subprocess.PIPE, text=True
    ).stdout.strip()
    return next(Path(cached).rglob("quickjs.c")).parent


def runner() -> str:
    """The compiled runner; compiles it when the pin or its own source changed."""
    sources = engine()
    folder = BUILD / f"native-{sources.parent.name}"
    program = folder / "runner"
    if not program.exists() or program.stat().st_mtime < RUNNER.stat().st_mtime:
        compile_runner(sources, folder, program)
    return str(program)


def compile_runner(sources: Path, folder: Path, program: Path) -> None:
    print("compiling native quickjs-ng", file=sys.stderr, flush=True)
    folder.mkdir(parents=True, exist_ok=True)
    units = [str(sources / unit) for unit in UNITS]
    command = [COMPILER, *FLAGS, f"-I{sources}", str(RUNNER), *units, "-lm", "-lpthread", "-o", str(program)]
    subprocess.run(command, check=True)


def version() -> str:
    """The compiler's own first line."""
    return subprocess.run(
        [COMPILER, "--version"], check=True, stdout=subprocess.PIPE, text=True
    ).stdout.split("\n")[0]
