"""Breaking changes, in the words of the specification. Spec: job-versioning 7, contract 30.5."""

from typing import Any

import pytest

from tests.spec import spec
from tests.versioning.documents import NO_FIELD, TEXT, WHOLE, field, found
from versioning.domain.compatibility import Bump, Compatibility, Rule, demanded

ADDITIVE = [
    (NO_FIELD, field(TEXT), Rule.OPTIONAL_ADDED, "/0/a"),
    (field({"maxLength": 3}), field({"maxLength": 5}), Rule.WIDENED, "/0/a"),
    (field({"minimum": 3}), field({"minimum": 1}), Rule.WIDENED, "/0/a"),
    (field({"maximum": 3}), field(True), Rule.WIDENED, "/0/a"),
    (field(WHOLE), field({"type": "number"}), Rule.WIDENED, "/0/a"),
    (field(TEXT), field({"type": ["string", "null"]}), Rule.WIDENED, "/0/a"),
    (field({"pattern": "^a"}), field({}), Rule.WIDENED, "/0/a"),
    (field(TEXT, required=True), field(TEXT), Rule.WIDENED, "/0/a"),
    (field(TEXT, additionalProperties=False), field(TEXT), Rule.WIDENED, "/0/*"),
    (field({"enum": ["x"]}), field({"enum": ["x", "y"]}), Rule.ENUM_ADDED, "/0/a"),
    ({"items": [TEXT]}, {"items": [TEXT, TEXT]}, Rule.ELEMENT_ADDED, "/1"),
    ({"anyOf": [{"maxItems": 1}]}, {"anyOf": [{"maxItems": 1}, {"minItems": 3}]}, Rule.WIDENED, ""),
]
BREAKING = [
    (field(TEXT), NO_FIELD, Rule.REMOVED, "/0/a"),
    (field(TEXT), field(WHOLE), Rule.TYPE_CHANGED, "/0/a"),
    (field({"type": "number"}), field(WHOLE), Rule.TYPE_CHANGED, "/0/a"),
    (field(TEXT), field(TEXT, required=True), Rule.MADE_REQUIRED, "/0/a"),
    (NO_FIELD, field(TEXT, required=True), Rule.MADE_REQUIRED, "/0/a"),
    (field({"maxLength": 5}), field({"maxLength": 3}), Rule.NARROWED, "/0/a"),
    (field({}), field({"minLength": 1}), Rule.NARROWED, "/0/a"),
    (field({"minimum": 1}), field({"minimum": 1.5}), Rule.NARROWED, "/0/a"),
    (field({"enum": ["x", "y"]}), field({"enum": ["x"]}), Rule.NARROWED, "/0/a"),
    (field({}), field({"enum": ["x"]}), Rule.NARROWED, "/0/a"),
    (field({"pattern": "^a"}), field({"pattern": "^b"}), Rule.NARROWED, "/0/a"),
    (field({}), field({"format": "email"}), Rule.NARROWED, "/0/a"),
    (field(TEXT), field(TEXT, additionalProperties=False), Rule.NARROWED, "/0/*"),
    ({"items": [TEXT, TEXT]}, {"items": [TEXT]}, Rule.REMOVED, "/1"),
    ({"items": [TEXT]}, {"items": [TEXT], "minItems": 1}, Rule.NARROWED, ""),
    ({"items": TEXT}, {"items": False}, Rule.NARROWED, "/*"),
    ({"not": {"minItems": 3}}, {"not": {"minItems": 2}}, Rule.NARROWED, ""),
]


@pytest.mark.parametrize(("old", "new", "rule", "path"), ADDITIVE)
@spec("VER-7.1-a")
def test_additive_changes_demand_a_minor_version(old: Any, new: Any, rule: Rule, path: str) -> None:
    (change,) = found(old, new)

    assert (change.rule, change.path) == (rule, path)
    assert not change.breaks(Compatibility.BACKWARD)
    assert demanded([change], Compatibility.BACKWARD) is Bump.MINOR


@pytest.mark.parametrize(("old", "new", "rule", "path"), BREAKING)
@spec("VER-7.2-a")
def test_breaking_changes_demand_a_major_version(old: Any, new: Any, rule: Rule, path: str) -> None:
    (change,) = found(old, new)

    assert (change.rule, change.path) == (rule, path)
    assert change.breaks(Compatibility.BACKWARD)
    assert demanded([change], Compatibility.BACKWARD) is Bump.MAJOR


@pytest.mark.parametrize(
    ("old", "new", "backward", "forward"),
    [
        (field({"maxLength": 3}), field({"maxLength": 5}), False, True),
        (field({"maxLength": 5}), field({"maxLength": 3}), True, False),
        (field(TEXT), field(WHOLE), True, True),
        (field({"enum": [1]}), field({"enum": [1, 2]}), False, True),
        (NO_FIELD, field(TEXT), False, False),
        ({**NO_FIELD, "additionalProperties": False},
         field(TEXT, additionalProperties=False), False, True),
        (field(TEXT), field(TEXT, required=True), True, False),
        (field(TEXT, required=True), field(TEXT), False, True),
        (field(TEXT), NO_FIELD, True, False),
        (field(TEXT, required=True), NO_FIELD, True, True),
    ],
)  # fmt: skip
@spec("contract 30.5")
def test_modes_say_whom_a_change_breaks(old: Any, new: Any, backward: bool, forward: bool) -> None:
    (change,) = found(old, new)

    assert change.breaks(Compatibility.BACKWARD) is backward
    assert change.breaks(Compatibility.FORWARD) is forward
    assert change.breaks(Compatibility.FULL) is (backward or forward)
    assert not change.breaks(Compatibility.NONE)


@spec("contract 30.5")
def test_remarks_and_order_are_no_change() -> None:
    old = {**field(TEXT), "title": "one", "required": ["a", "b"]}
    new = {"required": ["b", "a"], **field({**TEXT, "description": "two"})}

    assert found(old, {**new, "required": ["b", "a"]}) == []
    assert demanded([], Compatibility.FULL) is Bump.NONE
