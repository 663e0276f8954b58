"""Takes one check away at a time and looks whether the test that is there for it fails.

    python tests/mutants/run.py [--list] [WORD...]

mutants.toml is the list; words choose those that have one of them in file, name or test. A copy of the tree
is changed, in build/mutants; the translated guest is taken as it was built. Exits 1 when a mutant lives.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import sysconfig
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[2]
WORK = ROOT / "build" / "mutants"
TREE = WORK / "tree"
COPIED = ("core", "ext", "guest", "src", "tests/c", "tools")
GUEST_OBJECTS = ROOT / "build" / "dev" / "CMakeFiles"

# A test that takes longer has failed: loops do not end without their checks.
LEAST_SECONDS, PATIENCE = 2, 4

DEFINES = (
    "-DWASM_RT_USE_MMAP=1",
    "-DWASM_RT_SKIP_SIGNAL_RECOVERY=1",
    "-DWASM_RT_NONCONFORMING_UNCHECKED_STACK_EXHAUSTION=1",
)
GUARD, BOUNDS = "-DWASM_RT_MEMCHECK_GUARD_PAGES=1", "-DWASM_RT_MEMCHECK_BOUNDS_CHECK=1"
SANITIZERS = {
    "address": ("-fsanitize=address,undefined", "-fno-sanitize-recover=all"),
    "thread": ("-fsanitize=thread",),
}

# Where the package is installed for development, a finder stands before sys.path.
PYTEST = """
import sys
sys.meta_path = [f for f in sys.meta_path if type(f).__name__ != "ScikitBuildRedirectingFinder"]
sys.path.insert(0, sys.argv.pop(1))
import modebox, pytest
assert modebox.__file__.startswith(sys.path[0]), modebox.__file__
sys.exit(pytest.main(sys.argv[1:]))
"""


class BuildError(Exception):
    """A mutant that cannot be built shows nothing."""


@dataclass(frozen=True)
class Mutant:
    """One change of one file, and the test that must notice."""

    what: str
    file: str
    old: str
    new: str
    test: str

    def apply(self) -> None:
        """Changes the copy of the tree."""
        text = (ROOT / self.file).read_text()
        if text.count(self.old) != 1:
            raise BuildError(f"{self.old!r} stands {text.count(self.old)} times in {self.file}")
        (TREE / self.file).write_text(text.replace(self.old, self.new))

    def undo(self) -> None:
        """Puts the file back as it was, its time too."""
        shutil.copy2(ROOT / self.file, TREE / self.file)


def read_mutants() -> list[Mutant]:
    """The list."""
    with (Path(__file__).parent / "mutants.toml").open("rb") as file:
        return [Mutant(**row) for row in tomllib.load(file)["mutant"]]


def call(command: Sequence[str | Path]) -> None:
    """Runs a build step."""
    result = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if result.returncode != 0:
        raise BuildError(" | ".join(result.stderr.strip().splitlines()[-3:]))


def compile_objects(sources: Sequence[Path], folder: Path, flags: Sequence[str]) -> list[Path]:
    """Objects of the sources; those are made anew whose source is not the one they were made from."""
    folder.mkdir(parents=True, exist_ok=True)
    objects = []
    for source in sources:
        target, kept = folder / f"{source.name}.o", folder / f"{source.name}.kept"
        if not kept.exists() or kept.read_bytes() != source.read_bytes():
            kept.unlink(missing_ok=True)
            call(["gcc", *flags, "-c", source, "-o", target])
            shutil.copy2(source, kept)
        objects.append(target)
    return objects


def core_objects(generated: Path, variant: str) -> list[Path]:
    """The core of the copied tree, for the guest in a folder."""
    flags = [*base_flags(variant), *DEFINES, GUARD, f"-I{generated}"]
    sources = sorted((TREE / "core").glob("*.[cS]"))
    return compile_objects(sources, WORK / f"{generated.name}_core_{variant or 'plain'}", flags)


def base_flags(variant: str) -> list[str]:
    """What core, extension and tests are compiled with."""
    return ["-O1", "-g", "-fPIC", "-fvisibility=hidden", *SANITIZERS.get(variant, ())]


def product_guest() -> tuple[Path, list[Path]]:
    """The folder of the product's guest, and its objects."""
    folders = [GUEST_OBJECTS / f"guest_{build}.dir" for build in ("guard", "bounds")]
    return ROOT / "generated", [next(folder.glob("**/guest.c.o")) for folder in folders]


def small_guest(name: str) -> tuple[Path, list[Path]]:
    """The same for tests/c/guests/NAME.c, translated by the copied tree."""
    folder = WORK / f"guest_{name}"
    source = TREE / "tests" / "c" / "guests" / f"{name}.c"
    work = WORK / f"guest_{name}_work"
    call(
        [
            sys.executable,
            TREE / "tools" / "generate.py",
            "--output",
            folder,
            "--work",
            work,
            "--sources",
            source,
        ]
    )
    flags = ["-O1", "-fPIC", "-fno-strict-aliasing", "-w", f"-I{folder}", *DEFINES]
    bounds_flags = [*flags, BOUNDS, "-include", str(folder / "bounds.h")]
    translated = [folder / "guest.c"]
    return folder, [
        *compile_objects(translated, folder / "guard", [*flags, GUARD]),
        *compile_objects(translated, folder / "bounds", bounds_flags),
    ]


def wrapped(source: Path) -> list[str]:
    """What the test stands in for (CMakeLists.txt)."""
    names = {part.partition("(")[0] for part in source.read_text().split("__wrap_")[1:] if "(" in part}
    return [f"-Wl,--wrap={name}" for name in sorted(names) if name.isidentifier()]


def build_c_test(test: str) -> list[str]:
    """The command that runs a test of tests/c."""
    name, _, variant = test.partition("_")
    source = TREE / "tests" / "c" / f"{name}.c"
    is_small = (TREE / "tests" / "c" / "guests" / f"{name}.c").exists()
    generated, guest = small_guest(name) if is_small else product_guest()
    program = WORK / f"test_{test}"
    objects = [*core_objects(generated, variant), *guest]
    flags = [*base_flags(variant), *DEFINES, GUARD, "-std=c11", f"-I{generated}"]
    link = ["-Wl,-z,now", *wrapped(source), "-lm", "-lpthread"]
    call(["gcc", *flags, source, *objects, *link, "-o", program])
    return [str(program)]


def build_python_test(test: str) -> list[str]:
    """The command that runs pytest on the copied tree's package."""
    generated, guest = product_guest()
    flags = [*base_flags(""), "-DMODEBOX_LIMITED_API", "-DPy_LIMITED_API=0x030a0000", "-std=c11"]
    include = f"-I{sysconfig.get_path('include')}"
    extension = compile_objects(sorted((TREE / "ext").glob("*.c")), WORK / "ext", [*flags, include])
    target = TREE / "src" / "modebox" / "_core.abi3.so"
    link = ["-Wl,-z,now", "-lm", "-lpthread"]
    call(["gcc", "-shared", *extension, *core_objects(generated, ""), *guest, *link, "-o", target])
    return [sys.executable, "-c", PYTEST, str(TREE / "src"), "-x", "-q", "-p", "no:cacheprovider", test]


def build(test: str) -> list[str]:
    """Builds a test on the copied tree; gives the command that runs it."""
    return build_python_test(test) if test.endswith(".py") else build_c_test(test)


def passes(command: Sequence[str], seconds: float | None = None) -> bool:
    """Runs a test, for so long at most."""
    try:
        return subprocess.run(command, cwd=ROOT, capture_output=True, timeout=seconds).returncode == 0
    except subprocess.TimeoutExpired:
        return False


def seconds_without_a_mutant(test: str) -> float:
    """How long the test takes; it must pass."""
    command = build(test)
    start = time.monotonic()
    if not passes(command):
        sys.exit(f"{test} fails without a mutant")
    return time.monotonic() - start


def outcome(mutant: Mutant, seconds: float) -> str:
    """One word: found, LIVES, or why it could not be tried."""
    try:
        mutant.apply()
        return "LIVES" if passes(build(mutant.test), seconds) else "found"
    except BuildError as error:
        return f"NOT BUILT: {error}"
    finally:
        mutant.undo()


def copy_tree() -> None:
    """The tree as it is."""
    shutil.rmtree(WORK, ignore_errors=True)
    for folder in COPIED:
        shutil.copytree(ROOT / folder, TREE / folder, ignore=shutil.ignore_patterns("__pycache__", "*.so"))


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--list", action="store_true", help="only print the list")
    parser.add_argument("words", nargs="*", metavar="WORD")
    options = parser.parse_args()
    mutants = [
        mutant
        for mutant in read_mutants()
        if not options.words
        or any(word in f"{mutant.file} {mutant.what} {mutant.test}" for word in options.words)
    ]
    if options.list:
        print("\n".join(f"{mutant.file:22} {mutant.test:28} {mutant.what}" for mutant in mutants))
        return 0
    copy_tree()
    seconds = {test: seconds_without_a_mutant(test) for test in sorted({mutant.test for mutant in mutants})}
    outcomes = []
    for mutant in mutants:
        outcomes.append(outcome(mutant, LEAST_SECONDS + PATIENCE * seconds[mutant.test]))
        print(f"{mutant.file:20} {mutant.what:64} {mutant.test:26} {outcomes[-1]}", flush=True)
    print(f"{outcomes.count('found')} of {len(outcomes)} found")
    return outcomes.count("found") != len(outcomes)


if __name__ == "__main__":
    sys.exit(main())
