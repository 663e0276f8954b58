"""A file includes only what stands below it; guest/abi.h is the one header on both sides of the wall."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

ENGINE = {"quickjs.h", "libregexp.h", "libunicode.h", "dtoa.h", "cutils.h", "list.h"} | {
    path.name for path in (ROOT / "tools" / "engine").glob("*.h")
}
GENERATED = {"guest.h", "bounds.h", "guest_bounds.h", "engine_id.h", "wasm-rt.h"}
SYSTEM = re.compile(r"[a-z0-9_/]+\.h")

FILES = sorted(path for layer in ("guest", "core", "ext") for path in (ROOT / layer).glob("*.[chS]"))


def headers(layer: str) -> set[str]:
    return {path.name for path in (ROOT / layer).glob("*.h")}


def allowed(layer: str) -> set[str]:
    """What a file of this layer may include in quotes, besides system headers in angle brackets."""
    return {
        "guest": headers("guest") | ENGINE,
        "core": headers("core") | GENERATED | {"../guest/abi.h"},
        "ext": headers("ext") | {"../core/modebox.h"},
    }[layer]


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_includes(path):
    text = path.read_text()
    quoted = set(re.findall(r'^\s*#\s*include "([^"]+)"', text, flags=re.M))
    assert quoted <= allowed(path.parent.name)
    system = set(re.findall(r"^\s*#\s*include <([^>]+)>", text, flags=re.M))
    assert ("Python.h" in system) <= (path.parent.name == "ext")
    assert not system & (ENGINE | GENERATED)


def test_core_knows_no_python():
    for path in (ROOT / "core").iterdir():
        assert not re.search(r"\bPy[A-Z]\w*|\bPyObject\b", path.read_text()), path
