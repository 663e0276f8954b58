"""Builds the C tests for aarch64 and runs them under qemu's user mode; skipped where that is missing.

    python tools/test_aarch64.py NATIVE

Every engine has the bounds build: the guard build's address space is too much for qemu. NATIVE is
tests/aarch64/outcomes.c built for this machine: both must print the same of every program in tests/cases.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import generate
from fetch import fetch
from pins import ZIG

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "aarch64"
EMULATORS = ("qemu-aarch64", "qemu-aarch64-static")
SECONDS = 600  # for one test

# Tests that do not run here, and why.
LEFT_OUT = {"allocation": "it would count the requests of a static libc too, and takes a process for each"}

# As in CMakeLists.txt; but bounds.h and the checks are for all files: both tables of the core name one build.
FLAGS = (
    "-static",
    "-std=c11",
    "-O1",
    "-w",
    "-fno-strict-aliasing",
    "-ffp-contract=off",
    "-fno-math-errno",
    "-fvisibility=hidden",
    "-UNDEBUG",
    "-DBOUNDS_ONLY=1",
    "-DWASM_RT_USE_MMAP=1",
    "-DWASM_RT_SKIP_SIGNAL_RECOVERY=1",
    "-DWASM_RT_NONCONFORMING_UNCHECKED_STACK_EXHAUSTION=1",
    "-DWASM_RT_MEMCHECK_BOUNDS_CHECK=1",
)


def main(arguments: Sequence[str]) -> int:
    """The command line."""
    emulator = next(filter(None, map(shutil.which, EMULATORS)), None)
    if emulator is None:
        print(f"aarch64: all C tests skipped: {EMULATORS[0]} is missing")
        return 0
    (native,) = arguments
    generate.generate_product()
    failures = list(run_tests(emulator)) + list(compare(Path(native), emulator))
    for failure in failures:
        print(f"failed: {failure}", file=sys.stderr)
    return len(failures) > 0


# ---- the C tests


def run_tests(emulator: str) -> Iterator[str]:
    """Builds and runs each; yields those that failed."""
    for source in sorted((ROOT / "tests" / "c").glob("*.c")):
        if source.stem in LEFT_OUT:
            print(f"{source.stem}: left out: {LEFT_OUT[source.stem]}")
            continue
        program = build(source, guest_folder(source))
        print(f"{source.stem}: ", end="", flush=True)
        start = time.monotonic()
        try:
            code = subprocess.run([emulator, program], timeout=SECONDS).returncode
        except subprocess.TimeoutExpired:
            code = 124
        print(f"    {time.monotonic() - start:.1f} s", flush=True)
        if code:
            yield f"{source.stem}: exit code {code}"


def guest_folder(source: Path) -> Path:
    """The translated guest that a test runs on: the product's, or its own from tests/c/guests."""
    own = source.parent / "guests" / source.name
    if not own.exists():
        return generate.product().output
    folder = BUILD / "guests" / source.stem
    generate.generate(generate.Guest([own], generate.product().headers, False, folder, folder / "work"))
    return folder


def build(source: Path, guest: Path) -> Path:
    """Compiles and links core, guest and test; what has not changed comes from zig's cache."""
    program = BUILD / source.stem
    program.parent.mkdir(parents=True, exist_ok=True)
    zig = fetch(ZIG) / "ziglang" / "zig"
    files = [*sorted((ROOT / "core").glob("*.[cS]")), guest / "guest.c", source]
    command = [str(zig), "cc", "-target", "aarch64-linux-musl", *FLAGS, *wrapped(source)]
    command += ["-include", f"{guest}/bounds.h", f"-I{guest}", f"-I{ROOT}/core", *map(str, files)]
    command += ["-o", str(program)]
    caches = dict.fromkeys(("ZIG_GLOBAL_CACHE_DIR", "ZIG_LOCAL_CACHE_DIR"), str(BUILD / "cache"))
    subprocess.run(command, env=os.environ | caches, check=True)
    return program


def wrapped(source: Path) -> list[str]:
    """Options for the functions that the test stands in for."""
    names = sorted(set(re.findall(r"__wrap_([a-z_]+)\(", source.read_text())))
    return [f"-Wl,--wrap={name}" for name in names]


# ---- equal outcomes


def compare(native: Path, emulator: str) -> Iterator[str]:
    """Runs every program of the cases here and there; yields those with different outcomes."""
    source = ROOT / "tests" / "aarch64" / "outcomes.c"
    emulated = build(source, generate.product().output)
    programs = dict(case_programs())
    stdin = "".join(text + "\0" for text in programs.values()).encode("utf-8", "surrogatepass")
    here, there = outcomes([str(native)], stdin), outcomes([emulator, str(emulated)], stdin)
    names = ["the engine", *programs]
    if not len(here) == len(there) == len(names):
        yield f"outcomes: {len(here)} and {len(there)} lines for {len(programs)} programs"
    different = [
        names[i] for i, (ours, theirs) in enumerate(zip(here, there, strict=False)) if ours != theirs
    ]
    print(f"outcomes: {here[0]}\n{len(programs)} programs, {len(different)} differ")
    yield from (f"outcomes: {name}" for name in different)


def outcomes(command: list[str], stdin: bytes) -> list[str]:
    """A line for the engine and one for each program."""
    done = subprocess.run(command, input=stdin, stdout=subprocess.PIPE, timeout=SECONDS)
    return done.stdout.decode().splitlines()


def case_programs() -> Iterator[tuple[str, str]]:
    """Name and text of all programs in tests/cases, and of the training program."""
    for path in sorted((ROOT / "tests" / "cases").glob("*.jsonl")):
        for line in path.read_text().splitlines():
            case = json.loads(line)
            for number, program in enumerate(case.get("programs", [case])):
                text = program.get("source") or program.get("expression")
                if text and "\0" not in text:
                    yield f"{path.stem}: {case['id']} {number}", text
    yield "training.js", (ROOT / "tools" / "training.js").read_text()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
