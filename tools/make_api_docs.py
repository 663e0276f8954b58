"""Writes docs/api.md: every public name of modebox with its signature and docstring, as Markdown.

    python tools/make_api_docs.py           writes the page
    python tools/make_api_docs.py --check   tells whether it is up to date

The page depends on the sources alone, not on the version of Python.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import modebox

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "api.md"

_HEAD = """# API

Every public name of modebox, made from its docstrings by `tools/make_api_docs.py`. The other pages say more:
[programs](programs.md), [values](values.md), [errors](errors.md), [limits](limits.md), [async](async.md).
"""
_ALIASES = {
    "HostFunctions": "_functions.py",
    "Mode": "_options.py",
    "OnCall": "_options.py",
    "OnLog": "_options.py",
}
_SECTION = re.compile(r"(Args|Attributes|Raises|Returns):$")
_ITEM = re.compile(r"([^:]+?):(?:\s+|$)(.*)", re.DOTALL)
_RULE = re.compile(r"=+( +=+)+$")
_WIDTH = 100


def make_page() -> str:
    """The whole page."""
    names = sorted(modebox.__all__, key=_rank)
    index = ", ".join(f"[`{name}`](#{name.lower()})" for name in names)
    sections = [_HEAD, index, *(_section(name) for name in names), _aliases()]
    return "\n\n".join(section.strip("\n") for section in sections) + "\n"


def _rank(name: str) -> tuple[int, str]:
    """run and run_sync, Runner, other classes, other functions, constants."""
    value = getattr(modebox, name)
    if inspect.ismethod(value):
        return 0, name
    if isinstance(value, type):
        return (1 if value is modebox.Runner else 2), name
    return (3 if callable(value) else 4), name


# ---- one name


def _section(name: str) -> str:
    value = getattr(modebox, name)
    if inspect.ismethod(value):
        text = f"[`Runner.{name}`](#runner{name}) of a Runner that the whole process shares."
        return f"## `{name}`\n\n{_block(_signature(name, value))}\n\n{text}"
    if isinstance(value, type):
        return _class(name, value)
    if callable(value):
        return _function(f"## `{name}`", name, value)
    return f"## `{name}`\n\n{_CONSTANTS[name]}"


_CONSTANTS = {
    "UNDEFINED": "JavaScript's `undefined`, where None would be `null`. It is false, and there is only one.",
    "__version__": "The version, a str.",
}


def _class(name: str, cls: type) -> str:
    parts = [f"## `{name}`", _block(_class_line(name, cls)), render(inspect.getdoc(cls) or "")]
    init = vars(cls).get("__init__")
    if init is not None and init.__doc__:
        parts.append(render(inspect.getdoc(init) or ""))
    for member, function in vars(cls).items():
        if not member.startswith("_") and inspect.isfunction(function):
            parts.append(_function(f"### `{name}.{member}`", member, function))
    return "\n\n".join(parts)


def _class_line(name: str, cls: type) -> str:
    base = cls.__bases__[0]
    if base is not object:
        return f"class {name}({base.__name__})"
    return "class " + _signature(name, cls.__init__)  # type: ignore[misc]


def _function(heading: str, name: str, function: Callable[..., object]) -> str:
    return "\n\n".join([heading, _block(_signature(name, function)), render(inspect.getdoc(function) or "")])


def _block(code: str) -> str:
    return f"```python\n{code}\n```".replace("'", '"')


# ---- signatures


def _signature(name: str, function: Callable[..., object]) -> str:
    signature = inspect.signature(function)
    parameters = list(_parameters(signature))
    is_init = function.__name__ == "__init__"
    prefix = "async def " if inspect.iscoroutinefunction(function) else "" if is_init else "def "
    result = "" if is_init else f" -> {_annotation(signature.return_annotation)}"
    line = f"{prefix}{name}({', '.join(parameters)}){result}"
    if len(line) <= _WIDTH:
        return line
    indented = "".join(f"    {parameter},\n" for parameter in parameters)
    return f"{prefix}{name}(\n{indented}){result}"


def _parameters(signature: inspect.Signature) -> Iterator[str]:
    had_star = False
    for parameter in signature.parameters.values():
        if parameter.name == "self":
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and not had_star:
            had_star = True
            yield "*"
        text = f"{parameter.name}: {_annotation(parameter.annotation)}"
        if parameter.default is not parameter.empty:
            text += f" = {_default(parameter.default)}"
        yield text


def _annotation(annotation: object) -> str:
    return annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))


def _default(default: object) -> str:
    factory = getattr(default, "default_factory", None)
    return repr(factory()) if factory is not None else repr(default)


# ---- docstrings


def render(docstring: str) -> str:
    """A docstring in Google's style, as Markdown."""
    parts: list[str] = []
    for paragraph in _paragraphs(docstring.splitlines()):
        title = _SECTION.match(paragraph[0])
        if title:
            parts.append(f"**{title[1]}**")
            parts.append("\n".join(_items(paragraph[1:])))
        else:
            parts.append("\n".join(paragraph))
    return "\n\n".join(parts)


def _paragraphs(lines: list[str]) -> Iterator[list[str]]:
    """Runs of lines; a section goes on over blank lines while it is indented."""
    paragraph: list[str] = []
    for line in [*lines, ""]:
        in_section = bool(paragraph) and _SECTION.match(paragraph[0]) is not None
        starts_anew = in_section and line != "" and not line.startswith(" ")
        if (starts_anew or (line == "" and not in_section)) and paragraph:
            yield paragraph
            paragraph = []
        if line or paragraph:
            paragraph.append(line)
    if paragraph:
        yield paragraph


def _items(lines: list[str]) -> Iterator[str]:
    """`name: what it is`, with indented lines and tables below."""
    item: list[str] = []
    for line in [*lines, "    end:"]:
        if re.match(r" {4}\S", line) and item:
            yield _item(item)
            item = []
        item.append(line.strip())


def _item(lines: list[str]) -> str:
    text, table, between = [], [], 0
    for line in lines:
        if _RULE.match(line):
            between += 1
            table.append(line)
        elif between == 1:
            table.append(line)
        elif line:
            text.append(line)
    found = _ITEM.match(" ".join(text))
    assert found, lines
    names = ", ".join(f"`{name.strip()}`" for name in found[1].split(","))
    bullet = f"* {names}: {found[2]}"
    return f"{bullet}\n\n{_table(table)}\n" if table else bullet


def _table(lines: list[str]) -> str:
    """A simple table of reStructuredText without a head, indented as part of a list item."""
    width = lines[0].index(" ")
    rows = [(line[:width].strip(), line[width:].strip()) for line in lines[1:-1]]
    cells = [f"  | `{name}` | {meaning} |" for name, meaning in rows]
    return "\n".join(["  | | |", "  |---|---|", *cells])


# ---- names in signatures


def _aliases() -> str:
    lines = [f"* `{name}` is `{_alias(name, file)}`" for name, file in _ALIASES.items()]
    return "\n".join(["## Names in signatures", "", *lines])


def _alias(name: str, file: str) -> str:
    tree = ast.parse((ROOT / "src" / "modebox" / file).read_text("utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name:
            return ast.unparse(node.value).replace("'", '"').replace('"HostFunctions"', "HostFunctions")
    raise LookupError(name)


def main() -> int:
    """Writes the page, or checks it."""
    page = make_page()
    if sys.argv[1:] == ["--check"]:
        return 0 if PAGE.read_text("utf-8") == page else 1
    PAGE.write_text(page, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
