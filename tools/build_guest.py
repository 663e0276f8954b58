"""Compiles guest and edited engine to one WebAssembly module that imports nothing."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import edits
import wasm
from fetch import fetch
from pins import QUICKJS, ZIG

ENGINE_SOURCES = ("quickjs.c", "dtoa.c", "libregexp.c", "libunicode.c")
ENGINE_PARTS = tuple(sorted((Path(__file__).parent / "engine").glob("*.h")))  # included by edited sources
STACK_SIZE = 2 << 20

# The module's whole surface.
EXPORTS = {
    "memory": "memory",
    "__stack_pointer": "global",
    "_initialize": "function () -> nothing",
    "guest_init": "function () -> nothing",
    "guest_mailbox": "function () -> i32",
    "guest_input": "function (i32) -> i32",
    "guest_start": "function (i32) -> i32",
    "guest_settle": "function (i32, i32, i32) -> i32",
    "guest_depth": "function () -> i32",
}

# No reference types and no vectors: nothing but memory and one global can then change.
CPU = "generic+bulk_memory+sign_ext+nontrapping_fptoint+mutable_globals-reference_types-simd128"

# EMSCRIPTEN turns the engine's computed goto off and nothing else: a switch is faster once translated.
COMPILE_FLAGS = (
    "-std=gnu11",
    "-O2",
    "-DNDEBUG",
    "-D_GNU_SOURCE",
    "-DEMSCRIPTEN",
    "-fno-math-errno",
    "-Wno-undefined-internal",
)
LINK_FLAGS = ("-Wl,--strip-all", f"-Wl,-z,stack-size={STACK_SIZE}", "-Wl,--export=__stack_pointer")


class GuestError(Exception):
    """The guest does not compile, or is not a module that the core can hold."""


def build(sources: Sequence[Path], headers: Sequence[Path], with_engine: bool, work: Path) -> Path:
    """Compiles sources to work/guest.wasm and checks the module.

    Args:
        sources: C files; all names differ.
        headers: What they include besides the engine's headers.
        with_engine: Whether the engine is linked in.
        work: Folder for everything that is made; may hold an earlier build.
    """
    lay_out(sources, headers, work)
    files = [f"guest/{path.name}" for path in sources]
    if with_engine:
        files += [f"engine/{name}" for name in ENGINE_SOURCES]
    compiler = [
        str(fetch(ZIG) / "ziglang" / "zig"),
        "cc",
        "-target",
        "wasm32-wasi",
        f"-mcpu={CPU}",
        "-mexec-model=reactor",
    ]
    command = [*compiler, *COMPILE_FLAGS, "-Iguest", "-Iengine", *files, "-o", "guest.wasm", *LINK_FLAGS]
    environment = os.environ | dict.fromkeys(
        ("ZIG_GLOBAL_CACHE_DIR", "ZIG_LOCAL_CACHE_DIR"), str(work.resolve() / "cache")
    )
    # Relative names and the work folder as the current one: the module holds no path of this machine.
    if subprocess.run(command, cwd=work, env=environment).returncode != 0:
        raise GuestError("the guest does not compile")
    check(wasm.read_module(work / "guest.wasm"))
    return work / "guest.wasm"


def lay_out(sources: Sequence[Path], headers: Sequence[Path], work: Path) -> None:
    """Copies the sources to work/guest and the edited engine to work/engine."""
    for folder in ("guest", "engine"):
        shutil.rmtree(work / folder, ignore_errors=True)
    (work / "guest").mkdir(parents=True)
    for path in (*sources, *headers):
        shutil.copy(path, work / "guest")
    shutil.copytree(engine_folder(), work / "engine")
    edits.apply(work / "engine")
    for path in ENGINE_PARTS:
        shutil.copy(path, work / "engine")


def engine_folder() -> Path:
    """The engine's sources as they were published."""
    return fetch(QUICKJS) / f"quickjs_ng-{QUICKJS.version}" / "upstream-quickjs"


def check(module: wasm.Module) -> None:
    """Raises GuestError unless memory and one global are all that can change and the surface is EXPORTS."""
    failures = [f"it imports {name}" for name in module.imports]
    failures += [
        f"it exports {name} ({kind})" for name, kind in module.exports.items() if EXPORTS.get(name) != kind
    ]
    failures += [
        f"it does not export {name} ({EXPORTS[name]})" for name in EXPORTS if name not in module.exports
    ]
    failures += [f"it uses {name}" for name in sorted(module.state_changes)]
    counts = {"mutable globals": (module.mutable_globals, 1), "memories": (module.memories, 1)}
    counts |= {"passive segments": (module.passive_segments, 0)}
    failures += [f"it has {is_} {name}, not {must}" for name, (is_, must) in counts.items() if is_ != must]
    if module.tables > 1:
        failures.append("it has more than one table")
    if failures:
        raise GuestError("the guest cannot be held by the core:\n  " + "\n  ".join(failures))
