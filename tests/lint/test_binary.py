"""The extension module and the translated guest in it, as the compiler made them."""

import re
import subprocess
from pathlib import Path

import pytest

import modebox._core

ROOT = Path(__file__).resolve().parents[2]
BINARY = modebox._core.__file__
STACK_REPORTS = sorted((ROOT / "build" / "dev").glob("CMakeFiles/guest_*.dir/generated/guest.c.su"))


def number(name: str, path: str) -> int:
    """A constant of the core: NAME = A or NAME = A << B."""
    match = re.search(rf"\b{name} = (\d+)(?: << (\d+))?", (ROOT / path).read_text())
    assert match, name
    return int(match[1]) << int(match[2] or 0)


def test_one_symbol_is_exported():
    output = subprocess.run(
        ["nm", "--dynamic", "--defined-only", BINARY], check=True, capture_output=True, text=True
    )
    assert [line.split()[-1] for line in output.stdout.splitlines()] == ["PyInit__core"]


def test_symbols_are_bound_at_load():
    """The dynamic linker never runs on a fiber."""
    output = subprocess.run(["readelf", "--dynamic", BINARY], check=True, capture_output=True, text=True)
    assert "BIND_NOW" in output.stdout


def test_no_memory_is_writable_and_executable():
    output = subprocess.run(
        ["readelf", "--segments", "--wide", BINARY], check=True, capture_output=True, text=True
    )
    flags = re.findall(r"^ +(LOAD|GNU_STACK) .*? ([R ][W ][E ]) ", output.stdout, flags=re.M)
    assert len(flags) >= 3
    assert not [line for line in flags if "W" in line[1] and "E" in line[1]]


@pytest.mark.skipif(not STACK_REPORTS, reason="not built here")
@pytest.mark.parametrize("report", STACK_REPORTS, ids=lambda path: path.parts[-3])
def test_the_hard_depth_fits_a_fiber(report):
    """The deepest recursion there can be, in the largest frame that can recurse, leaves room on the stack."""
    recursive = set(
        re.findall(
            r"^\S.* (w2c_guest_\w+)\(w2c_guest\* instance[^\n]*\{\n(?:[^\n]+\n)*?  ENTER$",
            (ROOT / "generated" / "guest.c").read_text(),
            flags=re.M,
        )
    )
    frames = re.findall(r"^[^\t]*:(\w+)\t(\d+)\t", report.read_text(), flags=re.M)
    largest = max(int(size) for name, size in frames if name in recursive)
    return_address, room = 8, 64 << 10
    needed = number("HARD_DEPTH", "core/instance.c") * (largest + return_address) + room
    assert needed < number("STACK_SIZE", "core/fiber.c")
