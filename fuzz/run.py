"""Runs the fuzz targets, one after the other, under address and undefined-behaviour sanitizers.

    python fuzz/run.py [--seconds N] [--seed N] [--tree DIR] [TARGET...]

A target is a C file here with a LLVMFuzzerTestOneInput. Where clang is installed it is linked with libFuzzer,
else with driver.c; then the line coverage of the code under test is printed too.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WORK = ROOT / "build" / "fuzz"
OBJECTS = ROOT / "build" / "dev" / "CMakeFiles"

# What each target is there to test.
UNDER_TEST = {"reader": "value.c", "mailbox": "outbox.c"}

DEFINES = ("-DWASM_RT_USE_MMAP=1", "-DWASM_RT_SKIP_SIGNAL_RECOVERY=1", "-DWASM_RT_MEMCHECK_GUARD_PAGES=1")
FLAGS = ("-std=gnu11", "-g", "-O1", "-fno-omit-frame-pointer", "-fno-sanitize-recover=all", *DEFINES)
GCC = ("gcc", "-fsanitize=address,undefined", "--coverage")
CLANG = ("clang", "-fsanitize=fuzzer,address,undefined")


def compile_target(name: str, tree: Path, has_clang: bool) -> Path:
    """The program. The translated guest is taken as it was built."""
    driver = [] if has_clang else [tree / "fuzz" / "driver.c"]
    sources = [tree / "fuzz" / f"{name}.c", *sorted((tree / "core").glob("*.[cS]")), *driver]
    guests = [
        str(path) for build in ("guard", "bounds") for path in OBJECTS.glob(f"guest_{build}.dir/**/*.o")
    ]
    work = WORK / name
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    command = [*(CLANG if has_clang else GCC), *FLAGS, f"-I{ROOT / 'generated'}", *map(str, sources), *guests]
    subprocess.run([*command, "-o", "target", "-lm", "-lpthread"], cwd=work, check=True)
    return work / "target"


def coverage(program: Path, source: str) -> str:
    """The share of the source's lines that have run, as gcov says it."""
    data = next(program.parent.glob(f"*{source.removesuffix('.c')}.gcda"))
    report = subprocess.run(
        ["gcov", "-n", data], cwd=program.parent, check=True, capture_output=True, text=True
    )
    lines = re.search(rf"{re.escape(source)}'\nLines executed:(\S+)", report.stdout)
    return f"{lines[1]} of the lines of core/{source}" if lines else "unknown"


def run(name: str, options: argparse.Namespace) -> bool:
    """One target; False: it crashed."""
    has_clang = shutil.which("clang") is not None
    program = compile_target(name, options.tree.resolve(), has_clang)
    arguments = [str(options.seconds), str(options.seed)]
    if has_clang:
        arguments = [f"-max_total_time={options.seconds}", f"-seed={options.seed}"]
    print(f"{name}: ", end="", flush=True)
    if subprocess.run([str(program), *arguments], cwd=program.parent).returncode != 0:
        print(f"{name} failed; its input is in {program.parent.relative_to(ROOT)}", file=sys.stderr)
        return False
    if not has_clang:
        print(f"{name}: {coverage(program, UNDER_TEST[name])}")
    return True


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=int, default=60, help="for each target (60)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tree", type=Path, default=ROOT, help="where core/ and fuzz/ are")
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=", ".join(UNDER_TEST))
    options = parser.parse_args()
    results = [run(name, options) for name in options.targets or UNDER_TEST]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
