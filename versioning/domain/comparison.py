"""Compare two documents of a type and list their differences. Spec: job-versioning 7.

Some keywords cannot be compared (`not`, `if`, patterns). If they differ, the change counts as both
narrowed and widened. `keywords.py` compares the keywords of one value.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final

from versioning.domain.compatibility import Change, Rule
from versioning.domain.keywords import (
    added,
    bounds,
    canonical,
    closed,
    narrowed,
    opened,
    requirement,
    types,
    values,
    widened,
)
from versioning.domain.schema import Document, Target
from versioning.domain.schema_load import at, token

MOST: Final = 200  # most changes in a result


def changes(old: Document, new: Document) -> list[Change]:
    """List the differences, in the order of the documents."""
    compared = _Compared(old.form, new.form)
    if old.target is new.target:
        start = "/0" if new.target is Target.FIRST else ""
        found = compared.schemas(old.form, new.form, start)
    else:
        found = compared.schemas(_whole(old), _whole(new), "")
    return list(islice(dict.fromkeys(found), MOST))


def _whole(document: Document) -> Any:
    """Return the form for the whole array of arguments."""
    if document.target is Target.ARGS:
        return document.form
    return {"type": "array", "prefixItems": [document.form], "minItems": 1}


ALTERNATIVES: Final = ("anyOf", "oneOf")
OPAQUE: Final = (
    "not", "if", "then", "else", "contains", "propertyNames", "patternProperties",
    "dependentSchemas", "unevaluatedItems", "unevaluatedProperties",
)  # fmt: skip


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
                yield closed(path) if new is False else opened(path)
            return
        old, new = (({} if one is True else one) for one in (old, new))
        yield from types(old, new, path)
        yield from values(old, new, path)
        yield from bounds(old, new, path)
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
                yield Change(
                    here, "removed", "the field is gone, or has another name", Rule.REMOVED,
                    backward=True, forward=name in needed,
                )  # fmt: skip
            elif name not in before and name in after:
                yield added(here, is_required=name in needs, was_closed=was_closed)
            else:
                yield from requirement(here, name in needed, name in needs)
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
            yield Change(
                f"{path}/{n}", "removed", "the element is gone", Rule.REMOVED,
                backward=True, forward=n < old.get("minItems", 0),
            )  # fmt: skip
        for n in range(len(before), len(after)):
            yield Change(
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
            yield narrowed(path, f"{name} asks for more")
        elif len(new) < len(old):
            yield widened(path, f"{name} asks for less")

    def alternatives(
        self, old: Sequence[Any], new: Sequence[Any], name: str, path: str
    ) -> Iterator[Change]:
        if len(old) == len(new):
            yield from self.alike(old, new, name, path)
            return
        before, after = set(map(canonical, old)), set(map(canonical, new))
        if not old or (new and before - after):
            yield narrowed(path, f"{name} no longer has all the alternatives")
        if not new or (old and after - before):
            yield widened(path, f"{name} has further alternatives")

    def opaque(self, old: Any, new: Any, name: str, path: str) -> Iterator[Change]:
        if old is None or new is None:
            yield (narrowed if old is None else widened)(
                path, f"{name} is {'new' if old is None else 'gone'}"
            )
        elif canonical(old) != canonical(new) or self.targets_differ(old, new):
            yield Change(
                path, "narrowed", f"{name} differs: the accepted values cannot be compared",
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
