"""Values of every row of the table come back from the program as what they went in as."""

import math
from array import array
from collections import deque
from datetime import datetime, timedelta, timezone

from hypothesis import given, settings
from hypothesis import strategies as st

import modebox
from modebox import JsDate, JsEntries, JsError, JsMap, JsRegExp, JsSet, _core

LIMIT = 1 << 24
EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
FARTHEST_MS = 8_640_000_000_000_000  # of a JavaScript Date


def through_bytes(value):
    return _core.decode(_core.encode(value, LIMIT))


def through_program(value):
    return modebox.run_sync("await give()", host_functions={"give": lambda: value}).value


def same(a, b):
    """Equal with equal types, all the way down; NaN is NaN, and -0.0 is not 0.0."""
    if type(a) is not type(b):
        return False
    if isinstance(a, float):
        return (math.isnan(a) and math.isnan(b)) or (a == b and math.copysign(1, a) == math.copysign(1, b))
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return same(list(a.items()), list(b.items()))
    if isinstance(a, JsError):
        return all(same(getattr(a, name), getattr(b, name)) for name in JsError.__match_args__)
    return a == b


def is_index(key):
    return key.isascii() and key.isdigit() and str(int(key)) == key and int(key) < 2**32 - 1


def in_program_order(value):
    """The same, with the keys of objects as JavaScript orders them: indexes first, by number."""
    if type(value) is dict:
        indexes = sorted((key for key in value if is_index(key)), key=int)
        keys = [*indexes, *(key for key in value if not is_index(key))]
        return {key: in_program_order(value[key]) for key in keys}
    if isinstance(value, JsMap):
        return JsMap({key: in_program_order(each) for key, each in value.items()})
    if isinstance(value, JsError):
        return JsError(**{name: in_program_order(getattr(value, name)) for name in JsError.__match_args__})
    if isinstance(value, (list, tuple)):
        return type(value)(map(in_program_order, value))
    return value


integers = st.integers(-(2**53) + 1, 2**53 - 1) | st.integers(-(2**200), 2**200)
floats = st.floats().filter(lambda x: not x.is_integer() or (x == 0 and math.copysign(1, x) < 0))
texts = st.text(st.characters())
moments = st.datetimes(timezones=st.just(timezone.utc)).map(
    lambda moment: moment.replace(microsecond=moment.microsecond // 1000 * 1000)
)
far_moments = st.integers(253_402_300_800_000, FARTHEST_MS).map(JsDate) | st.just(JsDate(math.nan))
_RANGES = {"b": 7, "h": 15, "i": 31, "q": 63}
arrays = st.one_of(
    *(
        st.lists(st.integers(-(2**bits), 2**bits - 1)).map(lambda v, code=code: array(code, v))
        for code, bits in _RANGES.items()
    ),
    *(
        st.lists(st.integers(0, 2 ** (bits + 1) - 1)).map(lambda v, code=code: array(code.upper(), v))
        for code, bits in _RANGES.items()
        if code != "b"
    ),
    st.lists(st.floats(width=32, allow_nan=False)).map(lambda v: array("f", v)),
    st.lists(st.floats(allow_nan=False)).map(lambda v: array("d", v)),
)
regexps = st.builds(
    JsRegExp,
    st.sampled_from(["a+", "(?:)", "[\\d/]", "\\u{1f600}|é"]),
    st.sets(st.sampled_from("dgimsuy")).map(lambda flags: "".join(sorted(flags))),
)
scalars = st.one_of(
    st.none(), st.booleans(), integers, floats, texts, st.binary(), moments, far_moments, arrays, regexps
)
hashable = st.one_of(st.none(), integers, texts, st.binary(), moments)


def errors(inner):
    return st.builds(
        JsError,
        name=st.sampled_from(["Error", "TypeError", "MyError"]),
        message=texts,
        stack=st.sampled_from([None, "    at agent.ts:1:9", "    at f (agent.ts:2:1)\n    at agent.ts:3:1"]),
        code=st.none() | texts,
        cause=inner,
        errors=st.none() | st.lists(inner, max_size=3),
        properties=st.dictionaries(st.sampled_from(["a", "b c", "é"]), inner, max_size=2),
    )


def entries(inner):
    """A Map that no dict can be: with a key that is unhashable."""
    return st.lists(st.tuples(st.lists(inner, max_size=2), inner), min_size=1, max_size=3).map(JsEntries)


def ordered(inner):
    return st.one_of(
        st.lists(inner),
        st.dictionaries(texts, inner),
        st.dictionaries(hashable, inner).map(JsMap),
        entries(inner),
        st.lists(st.lists(inner, max_size=2), min_size=1, max_size=3).map(JsSet),
        errors(inner),
    )


values = st.recursive(scalars, lambda inner: ordered(inner) | st.sets(hashable), max_leaves=20)
ordered_values = st.recursive(scalars, ordered, max_leaves=20)


@given(values)
def test_any_value_comes_back_from_its_bytes(value):
    assert same(through_bytes(value), value)


@given(values)
@settings(max_examples=150, deadline=None)
def test_any_value_comes_back_from_the_program(value):
    assert same(through_program(value), in_program_order(value))


@given(ordered_values)
def test_the_same_value_has_the_same_bytes(value):
    encoded = _core.encode(value, LIMIT)
    assert _core.encode(_core.decode(encoded), LIMIT) == encoded


merging = st.one_of(
    st.tuples(scalars, scalars).map(lambda v: (v, list(v))),
    st.lists(scalars).map(lambda v: (deque(v), v)),
    st.integers(0, 20).map(lambda n: (range(n), list(range(n)))),
    st.frozensets(hashable).map(lambda v: (v, set(v))),
    st.binary().map(lambda v: (bytearray(v), v)),
    st.datetimes().map(
        lambda v: (v, (v - timedelta(microseconds=v.microsecond % 1000)).replace(tzinfo=timezone.utc))
    ),
    st.dictionaries(st.integers(), scalars, min_size=1).map(lambda v: (v, JsMap(v))),
    st.integers(-(2**53) + 1, 2**53 - 1).map(lambda n: (float(n), n) if float(n) == n else (n, n)),
)


@given(merging)
@settings(deadline=None)
def test_types_that_merge_come_back_as_the_other(pair):
    value, expected = pair
    assert same(through_bytes(value), expected)
    assert same(through_program(value), expected)


# ---- sharing

graphs = st.lists(st.lists(st.integers(0, 30), max_size=4), min_size=1, max_size=12)


def graph_of(rows):
    """Lists that hold lists before them: shared, never circular."""
    made = []
    for row in rows:
        made.append([made[i % len(made)] if made and i % 3 else i for i in row])
    return made


def shape_of(value, seen=None):
    """A text in which every list has a number, by identity."""
    seen = {} if seen is None else seen
    if not isinstance(value, list):
        return repr(value)
    if id(value) in seen:
        return f"#{seen[id(value)]}"
    number = seen[id(value)] = len(seen)
    return f"{number}=[{','.join(shape_of(each, seen) for each in value)}]"


@given(graphs)
@settings(deadline=None)
def test_shared_lists_stay_shared(rows):
    value = graph_of(rows)
    assert shape_of(through_bytes(value)) == shape_of(value)
    assert shape_of(through_program(value)) == shape_of(value)


@given(st.integers(1, 24))
def test_the_size_limit_counts_the_expanded_tree(doublings):
    value = ["x" * 100]
    for _ in range(doublings):
        value = [value, value]
    expanded = 102 * 2**doublings
    if expanded > LIMIT:
        try:
            _core.encode(value, LIMIT)
        except TypeError as error:
            assert "max_value_bytes" in str(error)
        else:
            raise AssertionError("it was not refused")
    else:
        assert len(_core.encode(value, LIMIT)) < 300
