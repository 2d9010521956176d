"""Compare two documents of a type, and find the version bump that the changes require.

Spec: job-versioning 7, contract 30.5. Some keywords cannot be compared (`not`, `if`, patterns). If
they differ, the change counts as both narrowed and widened.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from typing import Any, Final

from jobs.domain import jsonio
from versioning.domain.schema import Document, Target
from versioning.domain.schema_load import at, token

MOST: Final = 200  # most changes in a result


class Rule(StrEnum):
    """The wording of job-versioning 7.1 and 7.2."""

    OPTIONAL_ADDED = "adding an optional field"
    WIDENED = "widening a value constraint"
    ENUM_ADDED = "adding a new enum value"
    ELEMENT_ADDED = "adding a new element at the end"
    REMOVED = "removing or renaming a field"
    TYPE_CHANGED = "changing a field's type"
    MADE_REQUIRED = "making an optional field required"
    NARROWED = "narrowing a value constraint"


class Compatibility(StrEnum):
    """The changes that count as breaking.

    Backward: old arguments must still fit, and no field be removed (job-versioning 7.2). Forward:
    new arguments must fit the version before. Full: both.
    """

    NONE = "none"
    BACKWARD = "backward"
    FORWARD = "forward"
    FULL = "full"


class OnBreaking(StrEnum):
    """The treatment of a document with breaking changes."""

    WARN = "warn"
    ENFORCE = "enforce"
    OFF = "off"


class Bump(StrEnum):
    """The part of the version that must rise."""

    MAJOR = "major"
    MINOR = "minor"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Change:
    """One difference: its place in the arguments, kind and rule, and the directions it breaks."""

    path: str  # a JSON Pointer; `*` is any element or member
    kind: str
    message: str
    rule: Rule
    backward: bool = False  # the new version refuses old arguments, or lacks a field
    forward: bool = False  # the version before refuses new arguments

    def breaks(self, mode: Compatibility) -> bool:
        """Return whether it breaks the compatibility of `mode`."""
        return {
            Compatibility.NONE: False,
            Compatibility.BACKWARD: self.backward,
            Compatibility.FORWARD: self.forward,
            Compatibility.FULL: self.backward or self.forward,
        }[mode]


def changes(old: Document, new: Document) -> list[Change]:
    """List the differences, in the order of the documents."""
    compared = _Compared(old.form, new.form)
    if old.target is new.target:
        start = "/0" if new.target is Target.FIRST else ""
        found = compared.schemas(old.form, new.form, start)
    else:
        found = compared.schemas(_whole(old), _whole(new), "")
    return list(islice(dict.fromkeys(found), MOST))


def demanded(found: Sequence[Change], mode: Compatibility) -> Bump:
    """Return the part of the version that must rise for these changes."""
    if not found:
        return Bump.NONE
    return Bump.MAJOR if any(one.breaks(mode) for one in found) else Bump.MINOR


def _whole(document: Document) -> Any:
    """Return the form for the whole array of arguments."""
    if document.target is Target.ARGS:
        return document.form
    return {"type": "array", "prefixItems": [document.form], "minItems": 1}


LOWER: Final = ("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties",
                "minContains")  # fmt: skip
UPPER: Final = ("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties",
                "maxContains")  # fmt: skip
RIGID: Final = ("pattern", "format", "multipleOf", "uniqueItems", "dependentRequired")
ALTERNATIVES: Final = ("anyOf", "oneOf")
OPAQUE: Final = (
    "not", "if", "then", "else", "contains", "propertyNames", "patternProperties",
    "dependentSchemas", "unevaluatedItems", "unevaluatedProperties",
)  # fmt: skip
TYPES: Final = frozenset({"null", "boolean", "object", "array", "number", "string"})


class _Compared:
    """Two forms to compare; each pair of references is compared once."""

    def __init__(self, old: Any, new: Any) -> None:
        self.old, self.new = old, new
        self.seen: set[tuple[str, str]] = set()

    def schemas(self, old: Any, new: Any, path: str) -> Iterator[Change]:
        """Yield the differences of two schemas for the value at `path`."""
        pair = _reference(old), _reference(new)
        if all(pair):
            if pair in self.seen:
                return
            self.seen.add(pair)
        old, new = _resolved(old, self.old), _resolved(new, self.new)
        if old is False or new is False:
            if old is not new:
                yield _closed(path) if new is False else _opened(path)
            return
        old, new = (({} if one is True else one) for one in (old, new))
        yield from _types(old, new, path)
        yield from _values(old, new, path)
        yield from _bounds(old, new, path)
        yield from self.members(old, new, path)
        yield from self.elements(old, new, path)
        yield from self.combined(old, new, path)

    # --- objects ---

    def members(
        self, old: Mapping[str, Any], new: Mapping[str, Any], path: str
    ) -> Iterator[Change]:
        before, after = old.get("properties", {}), new.get("properties", {})
        needed, needs = _names(old), _names(new)
        was_closed = old.get("additionalProperties") is False
        for name in dict.fromkeys([*before, *after, *needed, *needs]):
            here = path + token(name)
            if name in before and name not in after:
                yield _change(
                    here, "removed", "the field is gone, or has another name", Rule.REMOVED,
                    backward=True, forward=name in needed,
                )  # fmt: skip
            elif name not in before and name in after:
                yield _added(here, is_required=name in needs, was_closed=was_closed)
            else:
                yield from _requirement(here, name in needed, name in needs)
                if name in before:
                    yield from self.schemas(before[name], after[name], here)
        yield from self.rest(old, new, "additionalProperties", path)

    def rest(
        self, old: Mapping[str, Any], new: Mapping[str, Any], name: str, path: str
    ) -> Iterator[Change]:
        """Compare the schemas of members or elements without a schema of their own."""
        before, after = old.get(name, True), new.get(name, True)
        if before is not after:
            yield from self.schemas(before, after, path + "/*")

    # --- arrays ---

    def elements(
        self, old: Mapping[str, Any], new: Mapping[str, Any], path: str
    ) -> Iterator[Change]:
        before, after = old.get("prefixItems", []), new.get("prefixItems", [])
        for n, (one, other) in enumerate(zip(before, after, strict=False)):
            yield from self.schemas(one, other, f"{path}/{n}")
        for n in range(len(after), len(before)):
            yield _change(
                f"{path}/{n}", "removed", "the element is gone", Rule.REMOVED,
                backward=True, forward=n < old.get("minItems", 0),
            )  # fmt: skip
        for n in range(len(before), len(after)):
            yield _change(
                f"{path}/{n}", "element_added", "there may be an element more at the end",
                Rule.ELEMENT_ADDED, forward=old.get("items") is False,
            )  # fmt: skip
        yield from self.rest(old, new, "items", path)

    # --- combinations ---

    def combined(
        self, old: Mapping[str, Any], new: Mapping[str, Any], path: str
    ) -> Iterator[Change]:
        yield from self.alike(old.get("allOf", []), new.get("allOf", []), "allOf", path)
        for name in ALTERNATIVES:
            yield from self.alternatives(old.get(name, []), new.get(name, []), name, path)
        for name in OPAQUE:
            if name in old or name in new:
                yield from self.opaque(old.get(name), new.get(name), name, path)

    def alike(
        self, old: Sequence[Any], new: Sequence[Any], name: str, path: str
    ) -> Iterator[Change]:
        for one, other in zip(old, new, strict=False):
            yield from self.schemas(one, other, path)
        if len(new) > len(old):
            yield _narrowed(path, f"{name} asks for more")
        elif len(new) < len(old):
            yield _widened(path, f"{name} asks for less")

    def alternatives(
        self, old: Sequence[Any], new: Sequence[Any], name: str, path: str
    ) -> Iterator[Change]:
        if len(old) == len(new):
            yield from self.alike(old, new, name, path)
            return
        before, after = set(map(_text, old)), set(map(_text, new))
        if not old or (new and before - after):
            yield _narrowed(path, f"{name} no longer has all the alternatives")
        if not new or (old and after - before):
            yield _widened(path, f"{name} has further alternatives")

    def opaque(self, old: Any, new: Any, name: str, path: str) -> Iterator[Change]:
        if old is None or new is None:
            yield (_narrowed if old is None else _widened)(
                path, f"{name} is {'new' if old is None else 'gone'}"
            )
        elif _text(old) != _text(new) or self.targets_differ(old, new):
            yield _change(
                path, "narrowed", f"{name} says something else: what fits cannot be compared",
                Rule.NARROWED, backward=True, forward=True,
            )  # fmt: skip

    def targets_differ(self, old: Any, new: Any) -> bool:
        """Return whether references inside of equal schemas lead to different schemas."""
        for reference in _references(old):
            inner = {"$ref": reference}
            if any(True for _ in self.schemas(inner, inner, "")):
                return True
        return False


def _reference(schema: Any) -> str:
    return schema["$ref"] if isinstance(schema, dict) and "$ref" in schema else ""


def _references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"]
        value = list(value.values())
    if isinstance(value, list):
        for inner in value:
            yield from _references(inner)


def _resolved(schema: Any, form: Any) -> Any:
    """Follow references and merge their sibling keywords."""
    while isinstance(schema, dict) and "$ref" in schema:
        target = at(form, schema["$ref"][1:])
        beside = {name: value for name, value in schema.items() if name != "$ref"}
        schema = {**target, **beside} if isinstance(target, dict) else target
    return schema


def _names(schema: Mapping[str, Any]) -> list[str]:
    return list(schema.get("required", ()))


def _text(value: Any) -> bytes:
    return jsonio.dumps(_sorted(value))


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _sorted(value[name]) for name in sorted(value)}
    return [_sorted(one) for one in value] if isinstance(value, list) else value


# --- single keywords ------------------------------------------------------------------------------


def _types(old: Mapping[str, Any], new: Mapping[str, Any], path: str) -> Iterator[Change]:
    before, after = _kinds(old), _kinds(new)
    lost, won = before - after, after - before
    said = f"{_said(old)} is now {_said(new)}"
    if lost:
        yield _change(
            path, "type_changed", f"the type {said}", Rule.TYPE_CHANGED,
            backward=True, forward=bool(won),
        )  # fmt: skip
    elif won:
        yield _change(path, "widened", f"the type {said}", Rule.WIDENED, forward=True)


def _kinds(schema: Mapping[str, Any]) -> set[str]:
    raw = schema.get("type")
    found = set(TYPES if raw is None else [raw] if isinstance(raw, str) else raw)
    return found | {"integer"} if "number" in found else found


def _said(schema: Mapping[str, Any]) -> str:
    raw = schema.get("type", "any")
    return raw if isinstance(raw, str) else " or ".join(raw)


def _values(old: Mapping[str, Any], new: Mapping[str, Any], path: str) -> Iterator[Change]:
    before, after = _allowed(old), _allowed(new)
    if before is None and after is None:
        return
    if before is None:
        yield _narrowed(path, "only listed values are allowed now")
    elif after is None:
        yield _widened(path, "values need not be listed any more")
    else:
        if gone := before - after:
            yield _narrowed(path, f"{len(gone)} of the listed values are gone")
        if more := after - before:
            yield _change(
                path, "enum_added", f"{len(more)} values are added to those listed",
                Rule.ENUM_ADDED, forward=True,
            )  # fmt: skip


def _allowed(schema: Mapping[str, Any]) -> set[bytes] | None:
    if "const" in schema:
        return {_text(schema["const"])}
    return set(map(_text, schema["enum"])) if "enum" in schema else None


def _bounds(old: Mapping[str, Any], new: Mapping[str, Any], path: str) -> Iterator[Change]:
    for name in (*LOWER, *UPPER):
        before, after = old.get(name), new.get(name)
        if before == after:
            continue
        sign = 1 if name in LOWER else -1
        is_narrower = before is None or (after is not None and (after - before) * sign > 0)
        said = f"{name} {_or_none(before)} is now {_or_none(after)}"
        yield (_narrowed if is_narrower else _widened)(path, said)
    for name in RIGID:
        before, after = old.get(name) or None, new.get(name) or None
        if _text(before) != _text(after):
            yield _rigid(name, before, after, path)


def _or_none(value: Any) -> str:
    return "(none)" if value is None else str(value)


def _rigid(name: str, before: Any, after: Any, path: str) -> Change:
    if after is None:
        return _widened(path, f"{name} is gone")
    if before is None:
        return _narrowed(path, f"{name} is new")
    return _change(
        path, "narrowed", f"{name} is another one: what fits cannot be compared", Rule.NARROWED,
        backward=True, forward=True,
    )  # fmt: skip


def _requirement(path: str, was: bool, is_now: bool) -> Iterator[Change]:  # noqa: FBT001 - before, after
    if is_now and not was:
        yield _change(
            path, "made_required", "an optional field is required now", Rule.MADE_REQUIRED,
            backward=True,
        )  # fmt: skip
    elif was and not is_now:
        yield _change(
            path, "made_optional", "a required field is optional now", Rule.WIDENED, forward=True
        )


def _added(path: str, *, is_required: bool, was_closed: bool) -> Change:
    if is_required:
        return _change(
            path, "required_added", "a required field is new", Rule.MADE_REQUIRED,
            backward=True, forward=was_closed,
        )  # fmt: skip
    return _change(
        path, "optional_added", "an optional field is new", Rule.OPTIONAL_ADDED, forward=was_closed
    )


def _closed(path: str) -> Change:
    return _narrowed(path, "nothing is allowed there any more")


def _opened(path: str) -> Change:
    return _widened(path, "something is allowed there now")


def _narrowed(path: str, message: str) -> Change:
    return _change(path, "narrowed", message, Rule.NARROWED, backward=True)


def _widened(path: str, message: str) -> Change:
    return _change(path, "widened", message, Rule.WIDENED, forward=True)


def _change(
    path: str, kind: str, message: str, rule: Rule, *, backward: bool = False, forward: bool = False
) -> Change:
    return Change(path, kind, message, rule, backward, forward)
