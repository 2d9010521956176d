"""JSON input and output. Spec: contract 1.5, 1.6."""

import math
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.domain.errors import InvalidPayload
from jobs.domain.wire import jsonio
from jobs.domain.wire.jsonio import MAX_DEPTH, dumps, loads, loads_object
from tests.spec import spec


def nested(levels: int, opening: str = "[", closing: str = "]", inside: str = "") -> bytes:
    """Return a document with this number of levels."""
    return (opening * levels + inside + closing * levels).encode()


@pytest.mark.parametrize(
    "body",
    [
        b"", b"   ", b"\n", b"{", b"[1,]", b"{'a': 1}", b'{"a": 1,}', b"{a: 1}", b"nul", b"01",
        b"1 2", b'{"a": 1} x', b'"\\x41"', b'"\t"', b"\xff\xfe", b'"\xc3"', b"\xef\xbb\xbf{}",
        b"NaN", b"Infinity", b"-Infinity", b"[1e999]", b"[-1e999]", b'"\\ud800"', b'"\\udc00x"',
        b'"\\ud800\\u0041"', b"\x00", b'"\x00"',
    ],
)  # fmt: skip
@pytest.mark.parametrize("long", [False, True], ids=["", "with a long number"])
@spec("contract 1.5")
def test_what_is_no_storable_json_is_refused(body: bytes, long: bool) -> None:
    document = b"[" + body + b", 123456789012345678901234567890]" if long else body

    with pytest.raises(InvalidPayload):
        loads(document)


@pytest.mark.parametrize("body", [b"[]", b"1", b'"x"', b"null", b"true", b"1.5"])
@spec("contract 1.5")
def test_a_body_that_is_no_object_is_refused(body: bytes) -> None:
    with pytest.raises(InvalidPayload, match="must be a JSON object"):
        loads_object(body)


@pytest.mark.parametrize(
    "body", [b'"\\u0000"', b'{"\\u0000": 1}', b'{"a": {"b\\u0000": 1}}', b'[["x\\u0000y"]]']
)
@spec("contract 1.5")
def test_the_character_nul_is_refused_anywhere(body: bytes) -> None:
    with pytest.raises(InvalidPayload, match=r"U\+0000"):
        loads(body)


@pytest.mark.parametrize(
    ("body", "value"),
    [
        (b'"\\\\u0000"', "\\u0000"),
        (b'{"a": "\\\\u0000"}', {"a": "\\u0000"}),
        (b'"\\ud83d\\ude00"', "\U0001f600"),
        (b'"\\u00e4\xc3\xa4"', "\u00e4\u00e4"),
        (b'{"a": 1, "a": 2}', {"a": 2}),
        (b'{"a": 12345678901234567890123, "a": 2}', {"a": 2}),
        (b"-0", 0),
        (b"1e-999", 0.0),
        (b"1E2", 100.0),
        (b" {} \n", {}),
    ],
)
@spec("contract 1.5")
def test_what_looks_odd_but_is_legal_is_read(body: bytes, value: object) -> None:
    assert loads(body) == value


@pytest.mark.parametrize("power", [53, 62, 63, 64, 65, 128, 300])
@pytest.mark.parametrize("change", [-1, 0, 1])
@spec("contract 1.5")
def test_integers_of_any_size_come_back_unchanged(power: int, change: int) -> None:
    for number in (2**power + change, -(2**power) + change):
        assert loads(str(number).encode()) == number
        assert dumps({"n": [number]}) == b'{"n":[%d]}' % number


@spec("contract 1.5")
def test_an_integer_beyond_the_range_of_a_number_is_refused() -> None:
    assert loads(b"1" + b"0" * 308) == 10**308

    for zeros in (309, 1000, 100_000):
        with pytest.raises(InvalidPayload, match="infinity"):
            loads(b"1" + b"0" * zeros)


@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}")])
@spec("contract 1.5")
def test_a_hundred_levels_are_read_and_one_more_is_refused(opening: str, closing: str) -> None:
    assert loads(nested(MAX_DEPTH, opening, closing, "1")) is not None

    with pytest.raises(InvalidPayload, match="deeper than 100"):
        loads(nested(MAX_DEPTH + 1, opening, closing, "1"))


@spec("contract 1.5")
def test_depth_is_not_the_number_of_brackets() -> None:
    assert len(loads(b"[" + b",".join([b"[{}]"] * 500) + b"]")) == 500


@spec("contract 1.5")
def test_brackets_in_strings_are_no_depth() -> None:
    text = '[{"' * 200 + '\\"'

    assert loads(orjson.dumps([text, {text: 1}])) == [text, {text: 1}]


@pytest.mark.parametrize(
    "body",
    [nested(5000), nested(100_000), nested(5000, '{"a":', "}", "1"), b"[" * 5000, b'"' * 999],
)
@spec("contract 1.5")
def test_absurd_documents_are_refused_not_a_crash(body: bytes) -> None:
    with pytest.raises(InvalidPayload):
        loads(body)


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)


@given(JSON)
def test_what_is_written_is_read_back(value: Any) -> None:
    assert loads(dumps(value)) == value


@given(st.binary(max_size=40) | st.text(max_size=40).map(lambda t: t.encode(errors="replace")))
def test_any_bytes_are_a_value_or_a_refusal(body: bytes) -> None:
    try:
        value = loads(body)
    except InvalidPayload:
        return
    assert loads(dumps(value)) == value


@pytest.mark.parametrize("inner", [1, 2**70])
def test_dumps_splices_fragments_whatever_stands_beside_them(inner: int) -> None:
    found = dumps([{"n": inner, "f": orjson.Fragment(b'{"x": [1, "\\u00e4"]}')}])

    assert loads(found) == [{"n": inner, "f": {"x": [1, "\u00e4"]}}]


@pytest.mark.parametrize("value", [object(), {"a": {2, 3}}, "\ud800", {"\ud800": 2**70}])
def test_dumps_refuses_what_is_no_json(value: object) -> None:
    with pytest.raises(InvalidPayload, match="cannot be written"):
        dumps(value)


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_dumps_writes_no_number_that_json_lacks(number: float) -> None:
    """Check numbers that a handler may return and the database would refuse."""
    for value in ([number], [number, 2**70]):
        try:
            found = jsonio.dumps(value)
        except InvalidPayload:
            continue
        assert loads(found)[0] is None
