"""Parse and check documents of the schema registry. Spec: contract 30.3.

A document is JSON Schema 2020-12 without references outside itself. It is stored as sent. `read`
returns the form that checks arguments: an array in `items`, as in draft-07, becomes `prefixItems`,
and only asserted values of `format` remain.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final
from urllib.parse import unquote

from jobs.domain.wire import jsonio
from versioning.domain.schema_errors import InvalidSchema
from versioning.domain.schema_load import Involved, check_load, token

MAX_BYTES: Final = 262_144
MAX_DEPTH: Final = 64
MAX_REFERENCES: Final = 1_000
MAX_PATTERNS: Final = 64  # each may take a megabyte when it is compiled

# keywords that hold schemas: one, a list, or one under each name; see also `schema_load`
ONE: Final = frozenset(
    {
        "not", "if", "then", "else", "items", "contains", "additionalProperties", "propertyNames",
        "unevaluatedItems", "unevaluatedProperties", "additionalItems", "contentSchema",
    }
)  # fmt: skip
LISTS: Final = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
MAPS: Final = frozenset(
    {"properties", "patternProperties", "dependentSchemas", "$defs", "definitions"}
)
FORMATS: Final = frozenset({"email", "uri", "date-time", "uuid"})
DRAFTS: Final = frozenset(
    {
        "https://json-schema.org/draft/2020-12/schema",
        "https://json-schema.org/draft/2019-09/schema",
        "http://json-schema.org/draft-07/schema",
    }
)
X_ENCODED: Final = "x-encoded"  # of the document: whether it describes encoded arguments
REFUSED: Final = ("$dynamicRef", "$recursiveRef", "$vocabulary")


class Target(StrEnum):
    """The value that a document describes."""

    ARGS = "args"  # the whole array
    FIRST = "first"  # its first element


class Mode(StrEnum):
    """The treatment of a job whose arguments do not fit."""

    STRICT = "strict"
    WARN = "warn"
    OFF = "off"


@dataclass(frozen=True, slots=True)
class Document:
    """A checked document: its form for checks, and the value that it describes."""

    form: dict[str, Any]
    target: Target
    takes_encoded: bool = False  # it describes encoded arguments too; else they are not checked


def read(raw: object) -> Document:
    """Check a document, as far as possible without compiling it.

    Raises InvalidSchema, whose details name the place in the document.
    """
    if not isinstance(raw, dict):
        raise refusal("", "must be an object", raw)
    size = len(jsonio.dumps(raw))
    if size > MAX_BYTES:
        raise refusal("", f"has {size} bytes, at most {MAX_BYTES} are taken")
    _check_depth(raw)
    reader = _Reader()
    form = reader.rewritten(raw, "", "")
    reader.resolve()
    try:
        check_load(form)
    except Involved as problem:
        raise refusal("", str(problem)) from None
    is_object = raw.get("type") == "object"
    target = Target.FIRST if is_object else Target.ARGS
    return Document(form, target, takes_encoded=_takes_encoded(raw))


def _takes_encoded(raw: dict[str, Any]) -> bool:
    """Read the keyword `x-encoded`. Spec: contract 35."""
    value = raw.get(X_ENCODED)
    if value not in {None, "allow"}:
        raise refusal(f"/{X_ENCODED}", 'must be "allow" or absent', value)
    return value == "allow"


def refusal(place: str, problem: str, received: object = None) -> InvalidSchema:
    """Return the error for a document; `place` is a JSON Pointer into it."""
    found = InvalidSchema.field("schema" + place, problem, received)
    found.details["pointer"] = place
    return found


def _check_depth(raw: object) -> None:
    level = [raw]
    for _ in range(MAX_DEPTH):
        level = [
            inner
            for outer in level
            if isinstance(outer, dict | list)
            for inner in (outer.values() if isinstance(outer, dict) else outer)
        ]
        if not level:
            return
    raise refusal("", f"is nested deeper than {MAX_DEPTH} levels")


def _renamed(raw: Mapping[str, Any]) -> Iterator[tuple[str, str, Any]]:
    """Yield the relevant members: name as sent, name in draft 2020-12, value."""
    has_tuple = isinstance(raw.get("items"), list)
    renamed = {"items": "prefixItems", "additionalItems": "items"} if has_tuple else {}
    for name, value in raw.items():
        is_remark = name == "format" and (not isinstance(value, str) or value not in FORMATS)
        # additionalItems has no effect without a tuple
        if name != "$schema" and not is_remark and (has_tuple or name != "additionalItems"):
            yield name, renamed.get(name, name), value


class _Reader:
    """Rewrites one document, and collects references to resolve at the end."""

    def __init__(self) -> None:
        self.places: dict[str, str] = {}  # of every schema: as sent, and in the form
        self.anchors: set[str] = set()
        self.references: list[tuple[str, dict[str, Any]]] = []
        self.patterns = 0

    def rewritten(self, raw: object, place: str, to: str) -> Any:
        self.places[place] = to
        if isinstance(raw, bool):
            return raw
        if not isinstance(raw, dict):
            raise refusal(place, "must be an object or a boolean", raw)
        self.check(raw, place)
        form = {
            new: self.member(new, value, (place + token(name), to + token(new)))
            for name, new, value in _renamed(raw)
        }
        if "$ref" in form:
            self.references.append((place, form))
            if len(self.references) > MAX_REFERENCES:
                raise refusal(place, f"has the reference after the first {MAX_REFERENCES}")
        return form

    def member(self, name: str, value: Any, places: tuple[str, str]) -> Any:
        place, to = places
        if name in ONE:
            return self.rewritten(value, place, to)
        if name in LISTS:
            if not isinstance(value, list):
                raise refusal(place, "must be an array of schemas", value)
            return [self.rewritten(one, f"{place}/{n}", f"{to}/{n}") for n, one in enumerate(value)]
        if name in MAPS:
            if not isinstance(value, dict):
                raise refusal(place, "must be an object of schemas", value)
            return {
                key: self.rewritten(one, place + token(key), to + token(key))
                for key, one in value.items()
            }
        return value

    def check(self, raw: Mapping[str, Any], place: str) -> None:
        draft = raw.get("$schema")
        if draft is not None and str(draft).removesuffix("#") not in DRAFTS:
            raise refusal(place + "/$schema", "must name draft 2020-12", draft)
        if isinstance(raw.get("items"), list) and "prefixItems" in raw:
            raise refusal(place, "must not have both prefixItems and items as an array")
        for name in REFUSED:
            if name in raw:
                raise refusal(place + token(name), "is not supported here", raw[name])
        if place and "$id" in raw:
            raise refusal(place + "/$id", "is allowed at the root alone", raw["$id"])
        if isinstance(raw.get("$anchor"), str):
            self.anchors.add(raw["$anchor"])
            self.places["#" + raw["$anchor"]] = place
        named = raw.get("patternProperties")
        self.patterns += ("pattern" in raw) + (len(named) if isinstance(named, dict) else 0)
        if self.patterns > MAX_PATTERNS:
            raise refusal(place, f"has the pattern after the first {MAX_PATTERNS} of the document")

    def resolve(self) -> None:
        """Rewrite references to the places of their targets in the form."""
        for place, form in self.references:
            reference = form["$ref"]
            if not isinstance(reference, str) or not reference.startswith("#"):
                raise refusal(
                    place + "/$ref", "must stay inside the document: '#' and a pointer", reference
                )
            pointer = unquote(reference[1:])
            if pointer in self.anchors:
                pointer = self.places["#" + pointer]
            if pointer not in self.places:
                raise refusal(place + "/$ref", "points to no schema of the document", reference)
            form["$ref"] = "#" + _fragment(self.places[pointer])


def _fragment(pointer: str) -> str:
    """Return a pointer, encoded as a URI fragment."""
    return "".join(
        char if char.isascii() and (char.isalnum() or char in "/~$-._!'()*+,;=:@") else
        "".join(f"%{byte:02X}" for byte in char.encode())
        for char in pointer
    )  # fmt: skip
