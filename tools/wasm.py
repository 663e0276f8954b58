"""Reads a WebAssembly module: just enough to check what it imports, exports and can change.

The opcodes are those of the core specification, release 2.0, without vectors; any other one is an error.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

KINDS = ("function", "table", "memory", "global")
TYPES = {0x7F: "i32", 0x7E: "i64", 0x7D: "f32", 0x7C: "f64", 0x70: "funcref", 0x6F: "externref"}

# What follows an opcode: l a LEB128 number, m alignment and offset, v a vector of numbers, b a byte, 4 and 8
# that many bytes.
IMMEDIATES = (
    dict.fromkeys((0x00, 0x01, 0x05, 0x0B, 0x0F, 0x1A, 0x1B, 0xD1, *range(0x45, 0xC5)), "")
    | dict.fromkeys((0x02, 0x03, 0x04, 0x0C, 0x0D, 0x10, 0x20, 0x21, 0x22, 0x23, 0x24, 0x25, 0x26), "l")
    | dict.fromkeys((0x41, 0x42, 0xD0, 0xD2), "l")
    | dict.fromkeys(range(0x28, 0x3F), "m")
    | {0x0E: "vl", 0x11: "ll", 0x1C: "v", 0x3F: "b", 0x40: "b", 0x43: "4", 0x44: "8"}
)
BULK_IMMEDIATES = dict.fromkeys(range(8), "") | {
    8: "lb",
    9: "l",
    10: "bb",
    11: "b",
    12: "ll",
    13: "l",
    14: "ll",
}
BULK_IMMEDIATES |= dict.fromkeys((15, 16, 17), "l")
STATE_CHANGES = {
    0x26: "table.set",
    (0xFC, 8): "memory.init",
    (0xFC, 9): "data.drop",
    (0xFC, 12): "table.init",
}
STATE_CHANGES |= {
    (0xFC, 13): "elem.drop",
    (0xFC, 14): "table.copy",
    (0xFC, 15): "table.grow",
    (0xFC, 17): "table.fill",
}


class WasmError(Exception):
    """The bytes are not a module that this reader knows."""


@dataclass
class Module:
    """What was found.

    Args:
        exports: Kind of each name and, for a function, its type: ``"function (i32) -> i32"``.
        initial_pages: Size of memory.
        table_size: Elements of the last table.
        state_changes: Instructions that change a table or drop a segment.
        max_offset: Largest constant offset of a load or store.
    """

    imports: list[str] = field(default_factory=list)
    exports: dict[str, str] = field(default_factory=dict)
    mutable_globals: int = 0
    tables: int = 0
    memories: int = 0
    initial_pages: int = 0
    table_size: int = 0
    passive_segments: int = 0
    state_changes: set[str] = field(default_factory=set)
    max_offset: int = 0


class Reader:
    """A cursor over the bytes of a module or a section."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def byte(self) -> int:
        """The next byte."""
        self.at += 1
        return self.data[self.at - 1]

    def bytes(self, size: int) -> bytes:
        """The next bytes."""
        self.at += size
        return self.data[self.at - size : self.at]

    def number(self) -> int:
        """An unsigned LEB128 number; also skips a signed one."""
        result = shift = 0
        while True:
            byte = self.byte()
            result |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return result

    def name(self) -> str:
        """A name: its size and its bytes."""
        return self.bytes(self.number()).decode()

    def limits(self) -> int:
        """The least size."""
        has_maximum = self.byte() & 1
        least = self.number()
        if has_maximum:
            self.number()
        return least


class Parser:
    """Fills a Module, section by section."""

    def __init__(self) -> None:
        self.module = Module()
        self.types: list[str] = []
        self.functions: list[int] = []

    def parse(self, data: bytes) -> Module:
        """Reads a whole module."""
        if data[:8] != b"\0asm\1\0\0\0":
            raise WasmError("not a WebAssembly module")
        reader = Reader(data)
        reader.at = 8
        readers = {
            1: self._read_type,
            2: self._read_import,
            3: self._read_function,
            4: self._read_table,
            5: self._read_memory,
        }
        readers |= {
            6: self._read_global,
            7: self._read_export,
            9: self._read_element,
            10: self._read_code,
            11: self._read_data,
        }
        while reader.at < len(data):
            kind, size = reader.byte(), reader.number()
            section = Reader(reader.bytes(size))
            if kind in readers:
                for _ in range(section.number()):
                    readers[kind](section)
        return self.module

    def _read_type(self, reader: Reader) -> None:
        if reader.byte() != 0x60:
            raise WasmError("not a function type")
        parameters, results = ([TYPES[reader.byte()] for _ in range(reader.number())] for _ in range(2))
        self.types.append(f"({', '.join(parameters)}) -> {', '.join(results) or 'nothing'}")

    def _read_import(self, reader: Reader) -> None:
        self.module.imports.append(f"{reader.name()}.{reader.name()}")
        kind = KINDS[reader.byte()]
        if kind == "function":
            self.functions.append(reader.number())
        elif kind == "global":
            reader.bytes(2)
        else:
            if kind == "table":
                reader.byte()
            reader.limits()

    def _read_function(self, reader: Reader) -> None:
        self.functions.append(reader.number())

    def _read_table(self, reader: Reader) -> None:
        reader.byte()
        self.module.table_size = reader.limits()
        self.module.tables += 1

    def _read_memory(self, reader: Reader) -> None:
        self.module.initial_pages = reader.limits()
        self.module.memories += 1

    def _read_global(self, reader: Reader) -> None:
        reader.byte()
        self.module.mutable_globals += reader.byte()
        self._read_expression(reader)

    def _read_export(self, reader: Reader) -> None:
        name, kind, index = reader.name(), KINDS[reader.byte()], reader.number()
        signature = f" {self.types[self.functions[index]]}" if kind == "function" else ""
        self.module.exports[name] = kind + signature

    def _read_element(self, reader: Reader) -> None:
        flags = reader.number()
        if flags & 1:
            self.module.passive_segments += 1
        elif flags & 2:
            reader.number()
        if not flags & 1:
            self._read_expression(reader)
        if flags & 3:
            reader.byte()
        for _ in range(reader.number()):
            if flags & 4:
                self._read_expression(reader)
            else:
                reader.number()

    def _read_data(self, reader: Reader) -> None:
        flags = reader.number()
        if flags == 2:
            reader.number()
        if flags & 1:
            self.module.passive_segments += 1
        else:
            self._read_expression(reader)
        reader.bytes(reader.number())

    def _read_code(self, reader: Reader) -> None:
        body = Reader(reader.bytes(reader.number()))
        for _ in range(body.number()):
            body.number()
            body.byte()
        self._read_expression(body)

    def _read_expression(self, reader: Reader) -> None:
        """Reads instructions up to the end that closes the expression."""
        depth = 1
        while depth:
            opcode: int | tuple[int, int] = reader.byte()
            if opcode == 0xFC:
                opcode = (0xFC, reader.number())
                immediates = BULK_IMMEDIATES.get(opcode[1])
            else:
                immediates = IMMEDIATES.get(opcode)
                depth += (opcode in (0x02, 0x03, 0x04)) - (opcode == 0x0B)
            if immediates is None:
                raise WasmError(f"unknown opcode {opcode}")
            if opcode in STATE_CHANGES:
                self.module.state_changes.add(STATE_CHANGES[opcode])
            self._read_immediates(reader, immediates)

    def _read_immediates(self, reader: Reader, kinds: str) -> None:
        for kind in kinds:
            if kind == "l":
                reader.number()
            elif kind == "b":
                reader.byte()
            elif kind == "v":
                for _ in range(reader.number()):
                    reader.number()
            elif kind == "m":
                reader.number()
                self.module.max_offset = max(self.module.max_offset, reader.number())
            elif kind in "48":
                reader.bytes(int(kind))


def read_module(path: Path) -> Module:
    """The module in the file."""
    return Parser().parse(path.read_bytes())
