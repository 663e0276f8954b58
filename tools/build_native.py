"""Compiles the guest's sources natively, with the mathematics that the wasm module has: a test's oracle.

python tools/build_native.py OUTPUT
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path

import build_guest
from fetch import fetch
from pins import ZIG

ROOT = Path(__file__).resolve().parent.parent

# musl's libm is the one that wasi-libc is made from.
FLAGS = (
    "-std=gnu11",
    "-O1",
    "-DNDEBUG",
    "-D_GNU_SOURCE",
    "-DMODEBOX_NATIVE_GUEST",
    "-fno-math-errno",
    "-ffp-contract=off",
)


def build(output: Path) -> None:
    """Compiles tests/native/harness.c with guest/*.c and the edited engine to the program `output`."""
    work = output.parent / "native-guest"
    sources = [*sorted((ROOT / "guest").glob("*.c")), ROOT / "tests/native/harness.c"]
    build_guest.lay_out(sources, sorted((ROOT / "guest").glob("*.h")), work)
    files = [f"guest/{path.name}" for path in sources] + [
        f"engine/{name}" for name in build_guest.ENGINE_SOURCES
    ]
    target = f"{platform.machine()}-linux-musl"
    command = [
        str(fetch(ZIG) / "ziglang" / "zig"),
        "cc",
        "-target",
        target,
        *FLAGS,
        "-Iguest",
        "-Iengine",
        *files,
    ]
    environment = os.environ | dict.fromkeys(
        ("ZIG_GLOBAL_CACHE_DIR", "ZIG_LOCAL_CACHE_DIR"), str(work.resolve() / "cache")
    )
    subprocess.run([*command, "-o", str(output.resolve())], cwd=work, env=environment, check=True)


if __name__ == "__main__":
    build(Path(sys.argv[1]))
