"""Runs the fuzz targets, one after the other, under address and undefined-behaviour sanitizers.

    python fuzz/run.py [--seconds N] [--seed N] [TARGET...]

A target is a C file here with a LLVMFuzzerTestOneInput. Where clang is installed it is linked with libFuzzer,
else with driver.c.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WORK = ROOT / "build" / "fuzz"
OBJECTS = ROOT / "build" / "dev" / "CMakeFiles"

DEFINES = ("-DWASM_RT_USE_MMAP=1", "-DWASM_RT_SKIP_SIGNAL_RECOVERY=1", "-DWASM_RT_MEMCHECK_GUARD_PAGES=1")
FLAGS = ("-std=gnu11", "-g", "-O1", "-fno-omit-frame-pointer", "-fno-sanitize-recover=all", *DEFINES)


def targets() -> dict[str, Path]:
    """Fuzz targets by name."""
    return {path.stem: path for path in sorted((ROOT / "fuzz").glob("*.c")) if path.stem != "driver"}


def compile_target(name: str, source: Path) -> tuple[Path, bool]:
    """The program, and whether it is linked with libFuzzer. The translated guest is taken as it was built."""
    has_clang = shutil.which("clang") is not None
    compiler, sanitizers = (
        ("clang", "fuzzer,address,undefined") if has_clang else ("gcc", "address,undefined")
    )
    sources = [source, *sorted((ROOT / "core").glob("*.[cS]"))] + (
        [] if has_clang else [ROOT / "fuzz" / "driver.c"]
    )
    guests = [
        str(path) for build in ("guard", "bounds") for path in OBJECTS.glob(f"guest_{build}.dir/**/*.o")
    ]
    WORK.mkdir(parents=True, exist_ok=True)
    program = WORK / f"fuzz_{name}"
    command = [
        compiler,
        *FLAGS,
        f"-fsanitize={sanitizers}",
        f"-I{ROOT / 'generated'}",
        *map(str, sources),
        *guests,
    ]
    subprocess.run([*command, "-o", str(program), "-lm", "-lpthread"], check=True)
    return program, has_clang


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=int, default=60, help="for each target (60)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=", ".join(targets()))
    options = parser.parse_args()
    for name in options.targets or targets():
        program, is_libfuzzer = compile_target(name, targets()[name])
        arguments = [f"-max_total_time={options.seconds}", f"-seed={options.seed}"] if is_libfuzzer else []
        arguments = arguments or [str(options.seconds), str(options.seed)]
        print(f"{name}: ", end="", flush=True)
        if subprocess.run([str(program), *arguments], cwd=WORK).returncode != 0:
            print(f"{name} failed; its input is in {WORK.relative_to(ROOT)}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
