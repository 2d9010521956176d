"""Compare the keywords of two schemas for one value: types, listed values, bounds, requirements."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from jobs.domain.wire import jsonio
from versioning.domain.compatibility import Change, Rule

LOWER: Final = ("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties",
                "minContains")  # fmt: skip
UPPER: Final = ("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties",
                "maxContains")  # fmt: skip
RIGID: Final = ("pattern", "format", "multipleOf", "uniqueItems", "dependentRequired")
TYPES: Final = frozenset({"null", "boolean", "object", "array", "number", "string"})


def canonical(value: Any) -> bytes:
    """Return a value as bytes that are equal for equal values."""
    return jsonio.dumps(_sorted(value))


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _sorted(value[name]) for name in sorted(value)}
    return [_sorted(one) for one in value] if isinstance(value, list) else value


def types(old: Mapping[str, Any], new: Mapping[str, Any], path: str) -> Iterator[Change]:
    """Compare `type`."""
    before, after = _kinds(old), _kinds(new)
    lost, won = before - after, after - before
    said = f"{_said(old)} is now {_said(new)}"
    if lost:
        yield Change(
            path, "type_changed", f"the type {said}", Rule.TYPE_CHANGED,
            backward=True, forward=bool(won),
        )  # fmt: skip
    elif won:
        yield Change(path, "widened", f"the type {said}", Rule.WIDENED, forward=True)


def _kinds(schema: Mapping[str, Any]) -> set[str]:
    raw = schema.get("type")
    found = set(TYPES if raw is None else [raw] if isinstance(raw, str) else raw)
    return found | {"integer"} if "number" in found else found


def _said(schema: Mapping[str, Any]) -> str:
    raw = schema.get("type", "any")
    return raw if isinstance(raw, str) else " or ".join(raw)


def values(old: Mapping[str, Any], new: Mapping[str, Any], path: str) -> Iterator[Change]:
    """Compare `enum` and `const`."""
    before, after = _allowed(old), _allowed(new)
    if before is None and after is None:
        return
    if before is None:
        yield narrowed(path, "only listed values are allowed now")
    elif after is None:
        yield widened(path, "values need not be listed any more")
    else:
        if gone := before - after:
            yield narrowed(path, f"{len(gone)} of the listed values are gone")
        if more := after - before:
            yield Change(
                path, "enum_added", f"{len(more)} values are added to those listed",
                Rule.ENUM_ADDED, forward=True,
            )  # fmt: skip


def _allowed(schema: Mapping[str, Any]) -> set[bytes] | None:
    if "const" in schema:
        return {canonical(schema["const"])}
    return set(map(canonical, schema["enum"])) if "enum" in schema else None


def bounds(old: Mapping[str, Any], new: Mapping[str, Any], path: str) -> Iterator[Change]:
    """Compare the keywords that bound a value, then the keywords that have no order."""
    for name in (*LOWER, *UPPER):
        before, after = old.get(name), new.get(name)
        if before == after:
            continue
        sign = 1 if name in LOWER else -1
        is_narrower = before is None or (after is not None and (after - before) * sign > 0)
        said = f"{name} {_or_none(before)} is now {_or_none(after)}"
        yield (narrowed if is_narrower else widened)(path, said)
    for name in RIGID:
        before, after = old.get(name) or None, new.get(name) or None
        if canonical(before) != canonical(after):
            yield _rigid(name, before, after, path)


def _or_none(value: Any) -> str:
    return "(none)" if value is None else str(value)


def _rigid(name: str, before: Any, after: Any, path: str) -> Change:
    if after is None:
        return widened(path, f"{name} is gone")
    if before is None:
        return narrowed(path, f"{name} is new")
    return Change(
        path, "narrowed", f"{name} differs: the accepted values cannot be compared", Rule.NARROWED,
        backward=True, forward=True,
    )  # fmt: skip


def requirement(path: str, was: bool, is_now: bool) -> Iterator[Change]:  # noqa: FBT001 - before, after
    """Compare whether a field is required."""
    if is_now and not was:
        yield Change(
            path, "made_required", "an optional field is required now", Rule.MADE_REQUIRED,
            backward=True,
        )  # fmt: skip
    elif was and not is_now:
        yield Change(
            path, "made_optional", "a required field is optional now", Rule.WIDENED, forward=True
        )


def added(path: str, *, is_required: bool, was_closed: bool) -> Change:
    """Return the change that a new field is."""
    if is_required:
        return Change(
            path, "required_added", "a required field is new", Rule.MADE_REQUIRED,
            backward=True, forward=was_closed,
        )  # fmt: skip
    return Change(
        path, "optional_added", "an optional field is new", Rule.OPTIONAL_ADDED, forward=was_closed
    )


def closed(path: str) -> Change:
    """Return the change of a schema to `false`."""
    return narrowed(path, "nothing is allowed there any more")


def opened(path: str) -> Change:
    """Return the change of a schema from `false`."""
    return widened(path, "something is allowed there now")


def narrowed(path: str, message: str) -> Change:
    """Return a change after which old arguments may not fit."""
    return Change(path, "narrowed", message, Rule.NARROWED, backward=True)


def widened(path: str, message: str) -> Change:
    """Return a change after which new arguments may not fit the version before."""
    return Change(path, "widened", message, Rule.WIDENED, forward=True)
