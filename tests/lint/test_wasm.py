"""guest.wasm: nothing comes in, nothing but memory and one global can change."""

import re
from pathlib import Path

import build_guest
import pytest
import wasm

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def module():
    return wasm.read_module(ROOT / "generated" / "guest.wasm")


def test_no_imports(module):
    assert module.imports == []


def test_exact_exports(module):
    assert module.exports == build_guest.EXPORTS


def test_exports_are_those_of_the_abi():
    """abi.h's opening comment lists the functions."""
    comment = (ROOT / "guest" / "abi.h").read_text().partition("*/")[0]
    named = set(re.findall(r"^ \*   \w+ (guest_\w+)\(", comment, flags=re.M))
    assert named == {name for name in build_guest.EXPORTS if name.startswith("guest_")}


def test_state_census(module):
    """A snapshot is memory and the stack pointer: there is nothing else that could have changed."""
    assert module.mutable_globals == 1
    assert module.memories == 1
    assert module.tables == 1
    assert module.passive_segments == 0
    assert module.state_changes == set()


def test_offsets_fit_the_guard(module):
    """A load or store reaches at most this far past 4 GiB; the core reserves for it."""
    assert module.max_offset < 64 << 20


def test_check_names_what_is_wrong():
    bad = wasm.Module(imports=["env.puts"], exports={"memory": "memory"}, mutable_globals=2, memories=1)
    bad.state_changes = {"table.set"}
    with pytest.raises(build_guest.GuestError) as caught:
        build_guest.check(bad)
    for part in (
        "imports env.puts",
        "does not export guest_init",
        "uses table.set",
        "2 mutable globals, not 1",
    ):
        assert part in str(caught.value)


@pytest.mark.parametrize(
    "body, found",
    [
        (b"\x41\x00\xd0\x70\x26\x00\x0b", {"table.set"}),
        (b"\xfc\x09\x00\x0b", {"data.drop"}),
        (b"\x41\x00\x41\x00\x41\x00\xfc\x08\x00\x00\x0b", {"memory.init"}),
        (b"\x02\x40\x41\x7f\x0d\x00\x0b\x0b", set()),
    ],
)
def test_reader_finds_state_changes(body, found):
    """A module with one function of this body."""
    code = b"\x01" + bytes([len(body) + 1]) + b"\x00" + body
    data = b"\0asm\1\0\0\0" + b"\x0a" + bytes([len(code)]) + code
    assert wasm.Parser().parse(data).state_changes == found


def test_reader_refuses_unknown_opcodes():
    with pytest.raises(wasm.WasmError):
        wasm.Parser().parse(b"\0asm\1\0\0\0\x0a\x05\x01\x03\x00\xfd\x0b")
