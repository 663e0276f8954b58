"""Values beyond JSON-like ones: types that stand for JavaScript's, and what Python's other types cross as.

`ext/` converts the built-in types by itself and asks `plain` for all others.
"""

from __future__ import annotations

import sys

from modebox import _core

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from dataclasses import dataclass as record
    from datetime import timedelta
    from typing import Any

    Plain = tuple[int, Any]
else:
    from modebox._record import record


class JsMap(dict):  # type: ignore[type-arg]
    """A JavaScript Map: a dict that crosses as a Map, whatever its keys are."""

    def __repr__(self) -> str:
        return f"JsMap({super().__repr__()})"


class JsEntries(list):  # type: ignore[type-arg]
    """A JavaScript Map as a list of pairs: where keys are unhashable in Python, or equal there (1, True)."""

    def __repr__(self) -> str:
        return f"JsEntries({super().__repr__()})"


class JsSet(list):  # type: ignore[type-arg]
    """A JavaScript Set as a list of its members: where they are unhashable in Python, or equal there."""

    def __repr__(self) -> str:
        return f"JsSet({super().__repr__()})"


class JsDate:
    """A JavaScript Date that `datetime` cannot hold: before year 1, after year 9999, or invalid.

    Attributes:
        ms: Milliseconds since 1970-01-01 UTC; NaN: an invalid date. Dates are equal when these are, NaN too.
    """

    __slots__ = ("ms",)
    ms: float

    def __init__(self, ms: float) -> None:
        object.__setattr__(self, "ms", float(ms))

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"cannot assign to field {name!r}: JsDate is frozen")

    def __reduce__(self) -> tuple[type[JsDate], tuple[float]]:
        return JsDate, (self.ms,)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, JsDate):
            return NotImplemented
        return self.ms == other.ms or (self.ms != self.ms and other.ms != other.ms)

    def __hash__(self) -> int:
        return hash(("JsDate", None if self.ms != self.ms else self.ms))

    def __repr__(self) -> str:
        return f"JsDate({self.ms!r})"


@record(frozen=True)
class JsRegExp:
    """A JavaScript regular expression.

    Attributes:
        source: The pattern.
        flags: Letters among "dgimsuvy".
    """

    source: str
    flags: str = ""


@record(frozen=True)
class JsError:
    """A JavaScript Error as a value.

    Attributes:
        name: "TypeError", or what else it calls itself.
        message: Its message.
        stack: The program's frames; None: not known.
        code: Its `code`, where that is a string.
        cause: Its `cause`, as it crosses.
        errors: Its `errors`, as those of an AggregateError.
        properties: Its other own enumerable properties.
    """

    name: str = "Error"
    message: str = ""
    stack: str | None = None
    code: str | None = None
    cause: Any = None
    errors: Any = None
    properties: dict[str, Any] = None  # type: ignore[assignment]  # {}

    def __post_init__(self) -> None:
        if self.properties is None:
            self.__dict__["properties"] = {}


# ---- from JavaScript

_FEW = 64
_HASHED_BITS = 60  # integers of more bits have hashes that others have too: sys.hash_info.modulus
_SAME_HASH = 8
_TYPECODES = "bhHiIqQffd"  # by value_numbers
_EPOCH: Any = None


def map_of(pairs: list[tuple[Any, Any]]) -> JsMap | JsEntries:
    """A Map of these entries."""
    if not _hash_apart([key for key, _ in pairs] if len(pairs) > _FEW else ()):
        return JsEntries(pairs)
    try:
        made = JsMap(pairs)
    except TypeError:
        return JsEntries(pairs)
    return made if len(made) == len(pairs) else JsEntries(pairs)


def set_of(members: list[Any]) -> set[Any] | JsSet:
    """A Set of these members."""
    if not _hash_apart(members if len(members) > _FEW else ()):
        return JsSet(members)
    try:
        made = set(members)
    except TypeError:
        return JsSet(members)
    return made if len(made) == len(members) else JsSet(members)


def _hash_apart(keys: Iterable[Any]) -> bool:
    """Whether no more than a few large integers, whose hashes a program can choose, have the same hash."""
    counts: dict[int, int] = {}
    for key in keys:
        if type(key) is int and key.bit_length() > _HASHED_BITS:
            hashed = hash(key)
            counts[hashed] = count = counts.get(hashed, 0) + 1
            if count > _SAME_HASH:
                return False
    return True


def date_of(ms: float) -> Any:
    """A datetime in UTC, or a JsDate where there is none."""
    from datetime import datetime, timedelta, timezone

    global _EPOCH
    if _EPOCH is None:
        _EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
    try:
        return _EPOCH + timedelta(milliseconds=ms)
    except (OverflowError, ValueError):
        return JsDate(ms)


def numbers_of(kind: int, data: bytes) -> Any:
    """An array.array of value_numbers; half floats were made floats."""
    from array import array

    return array(_TYPECODES[kind], data)


def error_of(fields: dict[str, Any]) -> JsError:
    """A JsError of the fields of an error value."""
    named = {name: fields[name] for name in JsError.__match_args__ if name in fields}
    named["stack"] = named.get("stack") or None
    return JsError(**named)


# ---- to JavaScript

VALUE, OBJECT, ARRAY, MAP, SET, DATE, REGEXP, ERROR, NUMBERS, REFUSED = range(10)  # ext_plain in ext/ext.h


def plain(value: Any) -> Plain:
    """What a value of no built-in type crosses as: one of the numbers above, and what it is made from."""
    for handler in _HANDLERS:
        found = handler(value)
        if found is not None:
            return found
    return REFUSED, _advice(value)


def _own(value: Any) -> Plain | None:
    if isinstance(value, JsDate):
        return DATE, value.ms
    if isinstance(value, JsRegExp):
        return REGEXP, (_text(value.source, "JsRegExp.source"), _text(value.flags, "JsRegExp.flags"))
    if isinstance(value, JsError):
        fields = {name: each for name, each in value.__dict__.items() if each is not None}
        if not value.properties:
            del fields["properties"]
        return ERROR, fields
    if isinstance(value, BaseException):
        from modebox._errors import chain_of

        return ERROR, chain_of(value)
    return None


def _text(value: object, name: str) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a str, not {type(value).__name__}")
    return value


def _from_datetime(value: Any) -> Plain | None:
    datetime = sys.modules.get("datetime")
    if datetime is None:
        return None
    if isinstance(value, datetime.datetime):
        zone = datetime.timezone.utc
        aware = value if value.tzinfo is not None else value.replace(tzinfo=zone)
        since = aware - datetime.datetime(1970, 1, 1, tzinfo=zone)
        return DATE, float(since // datetime.timedelta(milliseconds=1))
    if isinstance(value, (datetime.date, datetime.time)):
        return VALUE, value.isoformat()
    if isinstance(value, datetime.timedelta):
        return VALUE, _iso_duration(value)
    return None


def _iso_duration(delta: timedelta) -> str:
    """ISO 8601: P1DT2H3M4.5S."""
    sign, delta = ("-", -delta) if delta.days < 0 else ("", delta)
    minutes, seconds = divmod(delta.seconds, 60)
    hours, minutes = divmod(minutes, 60)
    fraction = f".{delta.microseconds:06}".rstrip("0") if delta.microseconds else ""
    time = f"{hours}H" * (hours > 0) + f"{minutes}M" * (minutes > 0)
    if seconds or fraction or not (delta.days or time):
        time += f"{seconds}{fraction}S"
    return f"{sign}P" + f"{delta.days}D" * (delta.days > 0) + f"T{time}" * (time != "")


def _from_text_like(value: Any) -> Plain | None:
    for module, name in (("decimal", "Decimal"), ("uuid", "UUID"), ("pathlib", "PurePath")):
        loaded = sys.modules.get(module)
        if loaded is not None and isinstance(value, getattr(loaded, name)):
            return VALUE, str(value)
    enum = sys.modules.get("enum")
    if enum is not None and isinstance(value, enum.Enum):
        return VALUE, value.value
    return None


def _from_collections(value: Any) -> Plain | None:
    collections = sys.modules.get("collections")
    if collections is not None and isinstance(value, collections.deque):
        return ARRAY, list(value)
    if isinstance(value, (set, frozenset)):
        return SET, list(value)
    return None


def _from_fields(value: Any) -> Plain | None:
    """Dataclasses, and the classes of attrs, msgspec and pydantic: their fields, in order."""
    cls = type(value)
    names: Iterable[str]
    if "__dataclass_fields__" in dir(cls):
        names = cls.__dataclass_fields__
    elif hasattr(cls, "__attrs_attrs__"):
        names = [attribute.name for attribute in cls.__attrs_attrs__]
    elif hasattr(cls, "__struct_fields__"):
        names = cls.__struct_fields__
    elif hasattr(cls, "__pydantic_fields__") or hasattr(cls, "model_fields"):
        names = [*cls.model_fields, *(getattr(value, "model_extra", None) or ())]
    else:
        return None
    return OBJECT, {name: getattr(value, name) for name in names if hasattr(value, name)}


def _from_numpy(value: Any) -> Plain | None:
    numpy = sys.modules.get("numpy")
    if numpy is None or not isinstance(value, numpy.generic):
        return None
    item = value.item()
    return None if type(item) is type(value) else (VALUE, item)


def _from_buffer(value: Any) -> Plain | None:
    try:
        return NUMBERS, memoryview(value)
    except (TypeError, ValueError, BufferError):
        return None


_HANDLERS: tuple[Callable[[Any], Plain | None], ...] = (
    _own,
    _from_datetime,
    _from_text_like,
    _from_collections,
    _from_fields,
    _from_numpy,
    _from_buffer,
)


def _advice(value: Any) -> str | None:
    """What it is, and what to do instead; None: nothing comes to mind."""
    if hasattr(type(value), "__await__"):
        advice = "is an await missing?"
    elif hasattr(type(value), "__next__"):
        advice = "make a list of it"
    else:
        return None
    return f"is a {type(value).__name__}, which cannot cross the sandbox boundary; {advice}"


_core.set_values(
    {
        "plain": plain,
        "JsMap": JsMap,
        "JsEntries": JsEntries,
        "JsSet": JsSet,
        "map": map_of,
        "set": set_of,
        "date": date_of,
        "regexp": JsRegExp,
        "error": error_of,
        "numbers": numbers_of,
    }
)
