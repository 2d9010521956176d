"""Documents of the registry: accepted documents and their meaning. Spec: contract 30.3."""

from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.effort import examples
from tests.spec import spec
from versioning.domain.schema import MAX_PATTERNS, MAX_REFERENCES, Target, read
from versioning.domain.schema_errors import InvalidSchema
from versioning.domain.validator import MAX_ERRORS, Validator


def problems(document: Any, *args: Any, asserts_formats: bool = True) -> list[str]:
    """Check arguments by a document."""
    return Validator(read(document), asserts_formats=asserts_formats).problems(list(args))


def why_not(document: Any) -> InvalidSchema:
    """Return the reason for the refusal of a document."""
    with pytest.raises(InvalidSchema) as refused:
        Validator(read(document), asserts_formats=True)
    return refused.value


INVOICE = {
    "type": "array",
    "prefixItems": [
        {
            "type": "object",
            "required": ["customer_id", "amount", "currency"],
            "properties": {
                "customer_id": {"type": "string"},
                "amount": {"type": "integer"},
                "currency": {"type": "string", "pattern": "^[A-Z]{3}$"},
            },
        }
    ],
}


@spec("contract 30.3")
def test_problems_name_the_place_and_what_is_asked() -> None:
    assert problems(INVOICE, {"customer_id": "c", "amount": 1, "currency": "USD"}) == []
    assert problems(INVOICE, {"customer_id": 1, "amount": "9"}) == [
        "/0/currency: required",
        "/0/customer_id: must be of type string",
        "/0/amount: must be of type integer",
    ]
    assert problems(INVOICE, {"customer_id": "", "amount": 1, "currency": "usd"}) == [
        "/0/currency: must match ^[A-Z]{3}$"
    ]


@spec("contract 30.1")
def test_object_documents_describe_the_first_argument() -> None:
    document = {"type": "object", "required": ["to"], "properties": {"to": {"type": "string"}}}

    assert read(document).target is Target.FIRST
    assert read(INVOICE).target is Target.ARGS
    assert problems(document, {"to": "a"}, 3) == []
    assert problems(document, {"to": 1}) == ["/0/to: must be of type string"]
    assert problems(document) == ["/0: required"]


@spec("contract 30.3")
def test_items_as_an_array_are_positions() -> None:
    document = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "items": [{"type": "string"}, {"$ref": "#/items/0"}],
        "additionalItems": False,
    }

    assert problems(document, "a", "b") == []
    assert problems(document, "a", 1) == ["/1: must be of type string"]
    assert problems(document, "a", "b", "c") == ["/2: is not allowed"]


@pytest.mark.parametrize(
    ("format", "good", "bad"),
    [
        ("email", "a@example.org", "a"), ("uri", "https://example.org/a", "a b"),
        ("date-time", "2026-01-01T00:00:00Z", "yesterday"),
        ("uuid", "0197a0c2-5b1e-7c44-9a10-6f2d8c3b7e55", "0197"),
    ],
)  # fmt: skip
@spec("contract 30.3")
def test_formats_are_asserted_where_it_is_strict(format: str, good: str, bad: str) -> None:
    document = {"items": {"format": format}}

    assert problems(document, good) == []
    assert problems(document, bad) == [f"/0: must be a valid {format}"]
    assert problems(document, bad, asserts_formats=False) == []


@spec("contract 30.3")
def test_other_formats_are_remarks() -> None:
    assert problems({"items": {"format": "ipv4"}}, "x") == []


@pytest.mark.parametrize(
    ("document", "place", "problem"),
    [
        (3, "", "must be an object"), ([], "", "must be an object"),
        ({"type": "nope"}, "/type", "is not JSON Schema 2020-12"),
        ({"items": 3}, "/items", "must be an object or a boolean"),
        ({"properties": []}, "/properties", "must be an object of schemas"),
        ({"allOf": {}}, "/allOf", "must be an array of schemas"),
        ({"properties": {"a/b": {"minLength": -1}}}, "/properties/a~1b/minLength", "is not JSON"),
        ({"$schema": "https://example.org/mine"}, "/$schema", "must name draft 2020-12"),
        ({"$ref": "https://example.org/a"}, "/$ref", "must stay inside"),
        ({"items": {"$ref": "file:///etc/passwd"}}, "/items/$ref", "must stay inside"),
        ({"$ref": "other.json"}, "/$ref", "must stay inside"), ({"$ref": 3}, "/$ref", "inside"),
        ({"$ref": "#/$defs/a"}, "/$ref", "points to no schema"),
        ({"const": {"type": "string"}, "$ref": "#/const"}, "/$ref", "points to no schema"),
        ({"$dynamicRef": "#a"}, "/$dynamicRef", "is not supported"),
        ({"items": {"$id": "https://example.org/a"}}, "/items/$id", "at the root alone"),
        ({"items": [True], "prefixItems": [True]}, "", "must not have both"),
        ({"pattern": "("}, "/pattern", "must be a regular expression"),
        ({"pattern": "(?=a)"}, "/pattern", "without look-around"),
        ({"pattern": r"(a)\1"}, "/pattern", "without look-around"),
        ({"$ref": "#"}, "", "comes back to itself"),
    ],
)  # fmt: skip
@spec("contract 30.3")
def test_wrong_documents_are_refused_with_the_place(
    document: Any, place: str, problem: str
) -> None:
    refused = why_not(document)

    assert problem in refused.message
    assert refused.details["pointer"] == place


@spec("contract 30.3")
def test_large_and_deep_documents_are_refused() -> None:
    deep: dict[str, Any] = {}
    for _ in range(70):
        deep = {"not": deep}

    assert "at most 262144" in why_not({"title": "x" * 262_144}).message
    assert "deeper than 64" in why_not(deep).message
    many = {f"p{n}": {"pattern": "a"} for n in range(MAX_PATTERNS + 1)}
    assert "pattern after the first 64" in why_not({"properties": many}).message
    many = {f"p{n}": {"$ref": "#/$defs/a"} for n in range(MAX_REFERENCES + 1)}
    assert "first 1000" in why_not({"properties": many, "$defs": {"a": True}}).message


def _doubling(levels: int) -> dict[str, Any]:
    names = [f"a{n}" for n in range(levels)]
    following = zip(names, [*names[1:], "end"], strict=True)
    defined = {one: {"anyOf": [{"$ref": f"#/$defs/{n}"}] * 2} for one, n in following}
    return {"$defs": {**defined, "end": {"type": "string"}}, "items": {"$ref": "#/$defs/a0"}}


@pytest.mark.parametrize(
    "document",
    [
        _doubling(40),
        {"allOf": [{"properties": {"a": {"$ref": "#"}}}, {"properties": {"a": {"$ref": "#"}}}]},
        # descends one level and two levels at once: Fibonacci's numbers
        {"properties": {"a": {"allOf": [{"$ref": "#"}, {"properties": {"a": {"$ref": "#"}}}]}}},
        {"properties": {"a": {"$ref": "#"}}, "patternProperties": {"": {"$ref": "#"}}},
        # a second path begins at each level: polynomial growth of any degree
        {
            "items": {"$ref": "#"},
            "contains": {"$ref": "#/$defs/b"},
            "$defs": {"b": {"items": {"$ref": "#/$defs/b"}}},
        },
    ],
    ids=["doubling", "twice the same member", "fibonacci", "patterns", "further ways"],
)
@spec("contract 30.3")
def test_bombs_are_refused(document: Any) -> None:
    assert "may apply more than 1000 schemas to one value" in why_not(document).message


@pytest.mark.parametrize(
    "document",
    [
        {"properties": {"left": {"$ref": "#"}, "right": {"$ref": "#"}}},
        {"properties": {"children": {"items": {"$ref": "#"}}, "name": {"type": "string"}}},
        {
            "type": ["array", "object"],
            "items": {"$ref": "#"},
            "additionalProperties": {"$ref": "#"},
        },
        {"oneOf": [{"const": n} for n in range(500)]},
        {"properties": {f"p{n}": {"type": "string"} for n in range(5000)}},
    ],
    ids=["tree", "children", "any value", "many alternatives", "many members"],
)
@spec("contract 30.3")
def test_what_repeats_harmlessly_is_taken(document: Any) -> None:
    Validator(read(document), asserts_formats=True)


@spec("contract 30.3")
def test_catastrophic_patterns_are_linear() -> None:
    assert problems({"items": {"pattern": "^(a+)+$"}}, "a" * 100_000 + "!") != []


@spec("contract 30.3")
def test_very_large_patterns_are_refused() -> None:
    assert "and small" in why_not({"pattern": r"(\w{1000}){1000}"}).message


@spec("contract 30.4")
def test_problems_are_at_most_twenty_and_do_not_repeat_arguments() -> None:
    secret = {f"x{n}": "secret" for n in range(50)}
    found = problems({"items": {"additionalProperties": {"type": "null"}}}, secret)

    assert len(found) == MAX_ERRORS
    assert "secret" not in "".join(found)
    assert problems({"items": {"type": "null"}}, *range(100_000)) == ["/0: must be of type null"]


# --- two validators agree -------------------------------------------------------------------------

values = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["", "a", "ab", "b1", "é"])
    | st.sampled_from([0.5, 1.0, -2.5]),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.sampled_from(["a", "b", "c"]), inner, max_size=3),
    max_leaves=6,
)  # fmt: skip
names = st.sampled_from(["a", "b", "c"])
kinds = st.sampled_from(["null", "boolean", "integer", "number", "string", "array", "object"])
small = st.integers(0, 3)


def _keywords(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    some = st.lists(inner, min_size=1, max_size=3)
    named = st.dictionaries(names, inner, max_size=3)
    return st.fixed_dictionaries(
        {},
        optional={
            "type": kinds | st.lists(kinds, min_size=1, max_size=3, unique=True),
            "enum": st.lists(values, min_size=1, max_size=3),
            "const": values,
            "required": st.lists(names, max_size=2, unique=True),
            "properties": named,
            "patternProperties": st.dictionaries(
                st.sampled_from(["^a", "b$", "[0-9]"]), inner, max_size=2
            ),
            "additionalProperties": inner,
            "items": inner | some,
            "minItems": small,
            "maxItems": small,
            "minLength": small,
            "maxLength": small,
            "minimum": st.integers(-3, 3),
            "maximum": st.integers(-3, 3),
            "exclusiveMinimum": st.integers(-3, 3),
            "minProperties": small,
            "maxProperties": small,
            "multipleOf": st.sampled_from([1, 2, 0.5]),
            "uniqueItems": st.booleans(),
            "pattern": st.sampled_from(["^a", "b", "^.$", "[0-9]+"]),
            "allOf": some,
            "anyOf": some,
            "oneOf": some,
            "not": inner,
            "if": inner,
            "then": inner,
            "else": inner,
        },
    )


documents = st.recursive(
    st.booleans() | _keywords(st.just(True)), _keywords, max_leaves=6
).filter(lambda one: isinstance(one, dict))  # fmt: skip


@settings(max_examples=examples(300), deadline=None)
@given(documents, st.lists(values, max_size=3))
@spec("contract 30.3")
def test_a_second_validator_agrees(document: Any, args: list[Any]) -> None:
    form = read(document)
    other = jsonschema.Draft202012Validator(form.form)
    value = args if form.target is Target.ARGS else (args or [None])[0]

    fits = not Validator(form, asserts_formats=False).problems(args)

    if args or form.target is Target.ARGS:
        assert fits == other.is_valid(value)
