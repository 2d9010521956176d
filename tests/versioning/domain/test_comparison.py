"""The differences of two documents. Spec: job-versioning 7, contract 30.5."""

from typing import Any

from tests.spec import spec
from tests.versioning.documents import NO_FIELD, TEXT, WHOLE, field, found
from versioning.domain.comparison import MOST
from versioning.domain.compatibility import Rule


@spec("VER-7.2-a")
def test_renamed_field_is_one_removed_and_one_added() -> None:
    first, second = found(field(TEXT), {"type": "object", "properties": {"b": TEXT}})

    assert (first.path, first.rule) == ("/0/a", Rule.REMOVED)
    assert (second.path, second.rule) == ("/0/b", Rule.OPTIONAL_ADDED)


@spec("contract 30.5")
def test_references_are_followed() -> None:
    def document(kind: Any) -> Any:
        return {"items": [{"$ref": "#/$defs/k"}, {"not": {"$ref": "#/$defs/k"}}],
                "$defs": {"k": kind}}  # fmt: skip

    assert found(document(TEXT), document(TEXT)) == []
    assert next(one.path for one in found(document(TEXT), document(WHOLE))) == "/0"
    opaque = {"not": {"$ref": "#/$defs/k"}}
    narrowed = found({**opaque, "$defs": {"k": TEXT}}, {**opaque, "$defs": {"k": WHOLE}})
    assert [one.message for one in narrowed] == [
        "not differs: the accepted values cannot be compared"
    ]


@spec("contract 30.5")
def test_documents_that_refer_to_themselves_are_compared() -> None:
    def tree(kind: Any) -> Any:
        return {
            "type": "object",
            "properties": {"left": {"$ref": "#"}, "right": {"$ref": "#"}, "value": kind},
        }

    assert {one.rule for one in found(tree(TEXT), tree(WHOLE))} == {Rule.TYPE_CHANGED}


@spec("contract 30.5")
def test_object_and_array_documents_are_compared_as_arrays() -> None:
    assert found(field(TEXT), {"type": "array", "items": [field(TEXT)], "minItems": 1}) == []
    (change,) = found({"type": "array", "items": [field(TEXT)], "minItems": 1}, field(WHOLE))
    assert (change.path, change.rule) == ("/0/a", Rule.TYPE_CHANGED)


@spec("contract 30.5")
def test_changes_that_are_told_are_bounded() -> None:
    many = {f"p{n}": TEXT for n in range(1000)}

    assert len(found({"type": "object", "properties": many}, NO_FIELD)) == MOST
