"""Values between Python and JavaScript: both ways, refusals, limits, hostile bytes."""

import collections
import contextlib
import copy
import math
import pickle
import random
import types

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import modebox
from modebox import UNDEFINED, _core

LIMIT = 1 << 24
SAFE = 2**53 - 1


def through_bytes(value):
    return _core.decode(_core.encode(value, LIMIT))


def through_program(value):
    return modebox.run_sync("await give()", host_functions={"give": lambda: value}).value


def nested(depth):
    value = []
    for _ in range(depth - 1):
        value = [value]
    return value


# ---- what crosses

SAME = [
    None,
    True,
    False,
    0,
    -1,
    1,
    SAFE,
    -SAFE,
    SAFE + 1,
    -SAFE - 1,
    2**63,
    -(2**63),
    2**64,
    -(2**127),
    2**127,
    10**300,
    -(10**300),
    0.5,
    -1e300,
    5e-324,
    math.inf,
    -math.inf,
    "",
    "ascii",
    "\x00",
    "é",
    "漢字",
    "😀",
    "\ud800",
    "a\udfffb",
    "x" * 100_000,
    b"",
    b"\x00\xff",
    bytes(100_000),
    [],
    {},
    [None, [True, [1.5, ["x"]]]],
    {"a": {"b": {"a": 1}}, "b": 2, "": 3, "__proto__": 4, "constructor": 5, "1": 6, "\ud800": 7, "a b": 8},
    [{"id": i, "name": f"row {i}"} for i in range(100)],
    {str(i): i for i in range(1000)},
    nested(256),
]


@pytest.mark.parametrize("value", SAME, ids=lambda value: repr(value)[:30])
def test_crosses_unchanged(value):
    assert through_bytes(value) == value
    if value != {"a": {"b": {"a": 1}}}:
        assert through_program(value) == value


BECOMES = [
    (UNDEFINED, None),
    ((1, (2,)), [1, [2]]),
    (bytearray(b"xy"), b"xy"),
    (memoryview(b"xyz"), b"xyz"),
    (memoryview(b"abcdef")[::2], b"ace"),
    (memoryview(bytes(6)).cast("B", (2, 3)), bytes(6)),
    (2.0, 2),
    (-3e5, -300000),
    ("\ud83d\ude00", "😀"),
    (collections.OrderedDict(b=1, a=2), {"b": 1, "a": 2}),
    (collections.defaultdict(int, a=1), {"a": 1}),
    (collections.UserDict(a=1), {"a": 1}),
    (collections.ChainMap({"a": 1}, {"b": 2}), {"a": 1, "b": 2}),
    (types.MappingProxyType({"a": 1}), {"a": 1}),
    (collections.namedtuple("Point", "x y")(1, 2), [1, 2]),
]


@pytest.mark.parametrize(("value", "expected"), BECOMES, ids=lambda value: repr(value)[:30])
def test_crosses_as(value, expected):
    assert through_bytes(value) == expected
    assert through_program(value) == expected


def test_whole_floats_become_ints_and_others_stay_floats():
    assert type(through_program(2.0)) is int
    assert type(through_program(2.5)) is float
    assert type(through_program(2.0**53)) is float
    for value in (-0.0, math.nan):
        assert str(through_program(value)) == str(value)
        assert str(through_bytes(value)) == str(value)


def test_order_of_keys_is_kept():
    moved = collections.OrderedDict(a=1, b=2)
    moved.move_to_end("a")
    assert list(through_program(moved)) == ["b", "a"]


def test_subclasses_cross_as_what_they_are():
    class Text(str):
        __slots__ = ()

        def __hash__(self):
            return 1

        def __eq__(self, other):
            return self is other

    class Number(int):
        def __pos__(self):
            raise AssertionError

    value = {Text("a"): Number(2**70), Text("b"): [Text("c")]}
    result = through_bytes(value)
    assert result == {"a": 2**70, "b": ["c"]}
    assert [type(key) for key in result] == [str, str]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("undefined", None),
        ("null", None),
        ("[1, , 3]", [1, None, 3]),
        ("2 ** 53", float(2**53)),
        ("2n ** 80n", 2**80),
        ("-(2n ** 63n)", -(2**63)),
        ("7n", 7),
        ("({ a: undefined })", {"a": None}),
        ("'\\ud800'", "\ud800"),
        ("new Uint8Array([1, 2])", b"\x01\x02"),
        ("({ __proto__: { inherited: 1 }, own: 2 })", {"own": 2}),
        ("JSON.parse('{\"__proto__\": 1}')", {"__proto__": 1}),
    ],
)
def test_from_the_program(source, expected):
    value = modebox.run_sync(source).value
    assert value == expected
    assert type(value) is type(expected)


def test_what_kind_of_value_the_program_sees():
    values = [None, UNDEFINED, True, 1, 2**60, 1.5, "s", b"b", [1], {"k": 1}]
    source = """
        const kind = x => x === null ? "null" : typeof x === "object" ? x.constructor.name : typeof x;
        (await give()).map(kind)
    """
    kinds = modebox.run_sync(source, host_functions={"give": lambda: values}).value
    assert kinds == (
        [
            "null",
            "undefined",
            "boolean",
            "number",
            "bigint",
            "number",
            "string",
            "Uint8Array",
            "Array",
            "Object",
        ]
    )


# ---- what is refused


class Thing:
    pass


def circular():
    inner = {}
    outer = [1, {"a b": inner}]
    inner["again"] = outer
    return outer


REFUSED = [
    ([0, {"k": [Thing()]}], "value[1].k[0] is a Thing, which cannot cross"),
    ({"a b": object()}, "value['a b'] is an object, which cannot cross"),
    ({"": print}, "value[''] is a builtin_function_or_method, which cannot cross"),
    (1j, "value is a complex, which cannot cross"),
    (int, "value is a type, which cannot cross"),
    (circular(), "value[1]['a b'].again is circular, which cannot cross"),
    (nested(257), "value is nested more than 256 deep"),
    ({"x": {1: Thing()}}, "value.x.entries()[0][1] is a Thing, which cannot cross"),
    ({(1, Thing()): 2}, "value.entries()[0][0][1] is a Thing, which cannot cross"),
    ({Thing()}, "value.values()[0] is a Thing, which cannot cross"),
    (memoryview(bytes(8)).cast("d").cast("B").cast("d", (1, 1)), "value is a buffer of 2 dimensions"),
    (memoryview(bytes(1)).cast("?"), "value is a buffer of format ?"),
]


@pytest.mark.parametrize(("value", "message"), REFUSED, ids=[message for _, message in REFUSED])
def test_refused_by_path_and_name(value, message):
    with pytest.raises(TypeError) as caught:
        _core.encode(value, LIMIT)
    assert str(caught.value).startswith(message)


def test_a_refused_return_is_a_type_error_in_the_program():
    source = "try { await bank.pay() } catch (e) { [e instanceof Error, e.name, e.message] }"
    value = modebox.run_sync(source, host_functions={"bank": {"pay": lambda: {"to": print}}}).value
    assert value == [
        True,
        "TypeError",
        "bank.pay: result.to is a builtin_function_or_method, which cannot cross the sandbox boundary",
    ]


@pytest.mark.parametrize(
    "value", ["x" * 101, b"x" * 101, [0] * 101, 1 << 900, {"k": "x" * 99}, ("y" * 60, "y" * 60)]
)
def test_the_size_limit(value):
    with pytest.raises(
        _core.RefusedError, match="value is larger than the 100 bytes that max_value_bytes allows"
    ):
        _core.encode(value, 100)


def test_what_a_mapping_raises_is_what_encode_raises():
    class Broken(collections.UserDict):
        def items(self):
            raise LookupError("broken")

    class NoPairs(collections.UserDict):
        def items(self):
            return [1]

    with pytest.raises(LookupError, match="broken"):
        _core.encode([Broken(a=1)], LIMIT)
    with pytest.raises(TypeError, match="pairs"):
        _core.encode(NoPairs(a=1), LIMIT)


def test_containers_may_change_while_they_are_read():
    outer = []

    class Meddler(collections.UserDict):
        def items(self):
            outer.clear()
            outer.append({"k": 1})
            return super().items()

    outer.extend([Meddler(a=1), "second", {"third": 3}])
    assert through_bytes(outer) == [{"a": 1}, "second", {"third": 3}]


def test_bytes_do_not_depend_on_which_strings_are_shared():
    shared = "key"
    apart = ["".join(["k", "e", "y"]) for _ in range(3)]
    assert len({id(key) for key in apart}) == 3
    assert _core.encode([{shared: 1} for _ in range(3)], LIMIT) == _core.encode(
        [{key: 1} for key in apart], LIMIT
    )


# ---- properties

scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False).filter(lambda x: x != int(x) if math.isfinite(x) else True)
    | st.text(st.characters())
    | st.binary()
)
values = st.recursive(
    scalars, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=30
)


@given(values)
def test_any_value_comes_back(value):
    assert through_bytes(value) == value


@given(st.integers(-(2**80), 2**80))
def test_any_int_comes_back_and_has_one_form(value):
    encoded = _core.encode(value, LIMIT)
    assert _core.decode(encoded) == value
    assert len(encoded) <= 2 + value.bit_length() // 7 + 1


@given(values)
@settings(max_examples=30)
def test_any_value_comes_back_from_the_program(value):
    assert through_program(value) == value


@given(st.binary(max_size=60))
def test_random_bytes_are_malformed_or_a_value(data):
    try:
        value = _core.decode(data)
    except _core.MalformedError:
        return
    assert repr(_core.decode(_core.encode(value, LIMIT))) == repr(value)


def test_damaged_bytes_are_malformed_or_a_value():
    pick = random.Random(1)
    whole = _core.encode([{"a": [1, 2.5, "é\ud800", b"x", 10**30, None]}, {"a": {}, "bb": True}] * 3, LIMIT)
    for _ in range(20_000):
        damaged = bytearray(whole)
        for _ in range(pick.randrange(1, 4)):
            damaged[pick.randrange(len(damaged))] = pick.choice([pick.randrange(256), pick.randrange(14)])
        with contextlib.suppress(_core.MalformedError):
            _core.decode(bytes(damaged[: pick.randrange(1, len(damaged) + 1)]))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x13",  # no such tag
        b"\x01\x01",  # something follows the value
        b"\x04",  # an int without its varint
        b"\x04\x80\x00",  # a varint that is not the shortest
        b"\x07\x05abc",  # a string longer than the bytes
        b"\x07\x01\xff",  # no UTF-8
        b"\x09\xff\xff\xff\xff\x0f",  # an array of 2**32 values
        b"\x0a\x01\x01\x01",  # a key that was not written before
        b"\x05\x01\x00\x00\x00\x00\x00\xf8\x7f",  # another NaN
        b"\x0b\x09\x00",  # an error without its object
        b"\x0c\x02\x01\x01",  # a map of more than there is
        b"\x0d\x02\x01",  # a set of more than there is
        b"\x0f\x00\x08\x00",  # a regular expression whose source is no string
        b"\x10\x0a\x00",  # numbers of no kind
        b"\x10\x01\x03abc",  # one and a half numbers
        b"\x11\x01",  # a number for what is no container
        b"\x12\x00",  # a container that was not numbered
        b"\x11\x09\x01\x12\x00",  # a container inside itself
        b"\x09\x01" * 256 + b"\x09\x00",  # 257 arrays
        b"\x0c\x01\x00" * 256 + b"\x0c\x00",  # 257 maps
        b"\x0a\x01\x02a" + b"\x0a\x01\x01" * 255 + b"\x0a\x00",  # 257 objects
    ],
)
def test_malformed(data):
    with pytest.raises(_core.MalformedError, match="malformed value bytes"):
        _core.decode(data)


def test_a_value_is_larger_than_its_bytes_where_a_container_comes_again():
    shared = b"\x11\x09\x01\x07\x64" + b"x" * 100  # a list of a string
    data = b"\x09\x03" + shared + b"\x12\x00" * 2
    assert _core.decode(data, 400) == [["x" * 100]] * 3
    with pytest.raises(_core.MalformedError):
        _core.decode(data, 300)


# ---- UNDEFINED


def test_undefined_is_one_false_object():
    assert repr(UNDEFINED) == "UNDEFINED"
    assert not UNDEFINED
    assert pickle.loads(pickle.dumps(UNDEFINED)) is UNDEFINED
    assert copy.deepcopy([UNDEFINED])[0] is UNDEFINED
    with pytest.raises(TypeError):
        type(UNDEFINED)()
