"""Makes generated/: the guest translated to C, with all that a C compiler needs to build it.

    python tools/generate.py                                the product's guest
    python tools/generate.py --output DIR --sources A.c...  a test's own module; --engine adds the engine

When nothing has changed nothing is done, no network is needed and files keep their times.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import build_guest
import edits
import fetch
import licences
import translate
import wasm

ROOT = Path(__file__).resolve().parent.parent
FRAME_FORMAT = 1  # of a suspended run; part of the engine id

# The tools that decide what is generated.
TOOLS = ("build_guest", "edits", "fetch", "generate", "licences", "pins", "translate", "wasm")

ERRORS = (build_guest.GuestError, edits.EditError, fetch.FetchError, translate.TranslateError, wasm.WasmError)


@dataclass(frozen=True)
class Guest:
    """What is translated, and where to.

    Args:
        sources: The guest's C files.
        headers: What they include besides the engine's headers.
        with_engine: Whether the engine is linked in.
        output: The folder that is filled.
        work: A folder for what is made on the way; may hold an earlier build.
    """

    sources: Sequence[Path]
    headers: Sequence[Path]
    with_engine: bool
    output: Path
    work: Path


def product() -> Guest:
    """The product's own guest."""
    folder = ROOT / "guest"
    sources, headers = sorted(folder.glob("*.c")), sorted(folder.glob("*.h"))
    return Guest(sources, headers, True, ROOT / "generated", ROOT / "build" / "guest")


def generate_product() -> None:
    """Brings generated/ up to date."""
    generate(product())


def up_to_date() -> bool:
    """Whether generated/ is what the sources say."""
    return is_current(product())


def generate(guest: Guest) -> None:
    """Brings the guest's output up to date."""
    if not is_current(guest):
        for name, content in generated_files(guest).items():
            write_if_changed(guest.output / name, content)
        write_if_changed(guest.output / "stamp", stamp_of(guest).encode())
    (guest.output / "stamp").touch()


def is_current(guest: Guest) -> bool:
    """Whether the output was made from these inputs."""
    stamp = guest.output / "stamp"
    return stamp.exists() and stamp.read_text() == stamp_of(guest)


def stamp_of(guest: Guest) -> str:
    """A text that changes with any input."""
    tools = [Path(__file__).with_name(f"{name}.py") for name in TOOLS]
    inputs = [*guest.sources, *guest.headers, *tools, *build_guest.ENGINE_PARTS]
    digests = [f"{hashlib.sha256(path.read_bytes()).hexdigest()} {path.name}\n" for path in inputs]
    return "".join(digests) + f"engine: {guest.with_engine}\n"


def generated_files(guest: Guest) -> dict[str, bytes]:
    """Everything but the stamp, by name."""
    work = guest.work
    module = build_guest.build(guest.sources, guest.headers, guest.with_engine, work)
    translate.wasm2c(module, work / "guest.c")
    header = translate.instrument_header((work / "guest.h").read_text(), wasm.read_module(module))
    source = translate.instrument_source((work / "guest.c").read_text())
    texts = {
        "guest.c": source,
        "guest.h": header,
        "bounds.h": translate.bounds_names(header),
        "guest_bounds.h": translate.bounds_header(header),
        "engine_id.h": f'#define MB_ENGINE_ID "{engine_id(module.read_bytes(), source)}"\n',
        "wasm-rt.h": translate.runtime_header().read_text(),
    } | {f"licences/{name}": text for name, text in licences.texts().items()}
    return {"guest.wasm": module.read_bytes()} | {name: text.encode() for name, text in texts.items()}


def engine_id(module: bytes, source: str) -> str:
    """64 hex digits over everything that decides a run."""
    digests = [hashlib.sha256(part).hexdigest() for part in (module, source.encode())]
    return hashlib.sha256(" ".join([*digests, str(FRAME_FORMAT)]).encode()).hexdigest()


def write_if_changed(path: Path, content: bytes) -> None:
    """Writes the file, unless it has this content: then what was built from it stays valid."""
    if path.exists() and path.read_bytes() == content:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    default = product()
    parser.add_argument("--output", type=Path, default=default.output)
    parser.add_argument("--work", type=Path, default=default.work)
    parser.add_argument("--sources", type=Path, nargs="+", help="compile these instead of guest/*.c")
    parser.add_argument("--engine", action="store_true", help="with --sources: link the engine in")
    options = parser.parse_args()
    sources, with_engine = (options.sources, options.engine) if options.sources else (default.sources, True)
    try:
        generate(Guest(sources, default.headers, with_engine, options.output, options.work))
    except ERRORS as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
