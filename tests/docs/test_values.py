"""Each row of the tables of docs/values.md is so."""

from __future__ import annotations

import array
import collections
import dataclasses
import datetime
import decimal
import enum
import math
import pathlib
import uuid
from types import SimpleNamespace

import pytest
from docs.pages import code, examples

import modebox


class Color(enum.Enum):
    RED = "red"


@dataclasses.dataclass
class Point:
    x: int
    y: int


class Record:
    """What attrs and msgspec make of a class, as far as it shows."""

    __struct_fields__ = ("x",)
    x = 1


_NAMES = {
    **vars(modebox),
    **{module.__name__: module for module in (array, collections, datetime, decimal, math, pathlib, uuid)},
    "nan": math.nan,
    "inf": math.inf,
    "array": array.array,
    "Color": Color,
    "Point": Point,
    "timezone": datetime.timezone,
}

_SHOW = """
const show = v =>
    v === null || v === undefined ? String(v)
    : typeof v === "bigint" ? `${v}n`
    : typeof v === "number" ? (Object.is(v, -0) ? "-0" : String(v))
    : typeof v === "string" ? JSON.stringify(v)
    : typeof v !== "object" ? String(v)
    : v instanceof Date ? `Date ${isNaN(v) ? "NaN" : v.toISOString()}`
    : v instanceof Error ? `${v.constructor.name} ${v}`
    : v instanceof RegExp ? `RegExp ${v}`
    : v instanceof Map || v instanceof Set ? `${v.constructor.name} ${JSON.stringify([...v])}`
    : ArrayBuffer.isView(v) ? `${v.constructor.name} [${[...v]}]`
    : `${v.constructor.name} ${JSON.stringify(v)}`;
show(await give())
"""


@pytest.mark.parametrize(("python", "javascript"), examples("values.md", "Python"))
def test_python_to_javascript(python: str, javascript: str) -> None:
    value = eval(code(python), _NAMES)
    assert modebox.run_sync(_SHOW, host_functions={"give": lambda: value}).value == code(javascript)


@pytest.mark.parametrize(("javascript", "python"), examples("values.md", "JavaScript"))
def test_javascript_to_python(javascript: str, python: str) -> None:
    value = modebox.run_sync(f"({code(javascript)})", mode="script").value
    expected = eval(code(python), _NAMES)
    if isinstance(expected, modebox.JsError):
        value = dataclasses.replace(value, stack=None)
    assert type(value) is type(expected)
    assert repr(value) == repr(expected)


@pytest.mark.parametrize(("javascript", "message"), examples("values.md", "Refused"))
def test_refused_from_javascript(javascript: str, message: str) -> None:
    error = modebox.run_sync(code(javascript), throw_on_error=False).error
    assert (error.kind, error.message) == ("Unserializable", code(message))


@pytest.mark.parametrize(("python", "message"), examples("values.md", "Refused return"))
def test_refused_from_python(python: str, message: str) -> None:
    value = eval(code(python), _NAMES)
    error = modebox.run_sync(
        "await give()", host_functions={"give": lambda: value}, throw_on_error=False
    ).error
    assert (error.kind, error.message) == ("Uncaught", code(message))


@pytest.mark.parametrize(("python", "back"), examples("values.md", "Merged"))
def test_what_merges(python: str, back: str) -> None:
    value = eval(code(python), _NAMES)
    again = modebox.run_sync("await give()", host_functions={"give": lambda: value}).value
    assert repr(again) == repr(eval(code(back), _NAMES))


def test_fields_of_other_libraries() -> None:
    pydantic_like = type("Model", (), {"__pydantic_fields__": {}, "model_fields": {"x": 1}, "x": 1})()
    attrs_like = type("Class", (), {"__attrs_attrs__": (SimpleNamespace(name="x"),), "x": 1})()
    for value in (pydantic_like, attrs_like, Record()):
        found = modebox.run_sync("await give()", host_functions={"give": lambda value=value: value}).value
        assert found == {"x": 1}


def test_numpy() -> None:
    numpy = pytest.importorskip("numpy")
    values = [numpy.float64(1.5), numpy.int64(3), numpy.array([1.5]), numpy.array([1], dtype="int64")]
    source = "(await give()).map(v => typeof v === 'object' ? v.constructor.name : typeof v)"
    kinds = modebox.run_sync(source, host_functions={"give": lambda: values}).value
    assert kinds == ["number", "number", "Float64Array", "BigInt64Array"]
