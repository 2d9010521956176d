"""JSON Schemas of requests and answers, for the OpenAPI document only, not for validation.

Spec: contract 1, 3, 4. The schema of a single view is beside the view. This module has the building
blocks; `jobs` and `workers` have the most frequent schemas. `component` names a schema in the
document.
"""

import re
from typing import Any

from jobs.domain.states import State
from jobs.domain.wire import durations, ids, names
from jobs.domain.wire.bounds import MAX_MS, MAX_REQUEST_ID, MAX_TYPE, MAX_WORKER_ID, MIN_LEASE_MS

Schema = dict[str, Any]

COMPONENTS: dict[str, Schema] = {}


def component(name: str, schema: Schema) -> Schema:
    """Name a schema in the document; returns the reference to it."""
    if COMPONENTS.setdefault(name, schema) != schema:
        raise ValueError(f"two different schemas are called {name}")
    return {"$ref": f"#/components/schemas/{name}"}


def obj(required: Schema, optional: Schema | None = None, /, **more: Any) -> Schema:
    """Describe an object by its members."""
    members = {**required, **(optional or {})}
    needed = {"required": list(required)} if required else {}
    return {"type": "object", "properties": members, **needed, **more}


def array(items: Schema, **more: Any) -> Schema:
    """Describe a list."""
    return {"type": "array", "items": items, **more}


def integer(low: int | None = None, high: int | None = None) -> Schema:
    """Describe a whole number."""
    bounds = {"minimum": low, "maximum": high}
    return {"type": "integer", **{name: n for name, n in bounds.items() if n is not None}}


def text(low: int = 0, high: int | None = None, **more: Any) -> Schema:
    """Describe a string by its length in characters."""
    bounds = ({"minLength": low} if low else {}) | ({"maxLength": high} if high else {})
    return {"type": "string", **bounds, **more}


def matching(pattern: re.Pattern[str], **more: Any) -> Schema:
    """Describe a string by a pattern of the domain, in the regular expressions of JSON Schema."""
    return {"type": "string", "pattern": f"^{re.sub(r'[?]P<[^>]+>', '', pattern.pattern)}$", **more}


def maybe(schema: Schema) -> Schema:
    """Allow null: for optional members of a request it means "not given"."""
    kind = schema.get("type")
    if isinstance(kind, str) and not {"enum", "format"} & schema.keys():
        return {**schema, "type": [kind, "null"]}
    return {"anyOf": [schema, {"type": "null"}]}


def optional(members: Schema) -> Schema:
    """Allow null for every member."""
    return {name: maybe(schema) for name, schema in members.items()}


ANY: Schema = {}
BOOLEAN: Schema = {"type": "boolean"}
NUMBER: Schema = {"type": "number"}
OBJECT: Schema = {"type": "object"}
META: Schema = {
    "type": "object",
    "propertyNames": {"pattern": f"^{names.META_NAME.pattern}$"},
}  # sent
TIME = text(format="date-time")
ID = matching(ids.PATTERN, description="UUIDv7 in lower case")
QUEUE = matching(names.QUEUE_PATTERN)
TYPE = matching(names.TYPE_PATTERN, maxLength=MAX_TYPE)
STATE: Schema = {"type": "string", "enum": [state.value for state in State]}
WORKER_ID = text(1, MAX_WORKER_ID)
LEASE_MS = integer(MIN_LEASE_MS, MAX_MS)
DURATION = matching(durations.PATTERN, description="ISO 8601 duration, at most 100 years")
SHORT_DURATION: Schema = {
    "description": "ISO 8601, or short such as 30m; at most 100 years",
    "anyOf": [DURATION, matching(durations.SHORT)],
}
SPAN: Schema = {
    "description": "ISO 8601 duration, a short one such as 30m, or a unit: longer than nothing",
    "anyOf": [
        DURATION,
        matching(durations.SHORT),
        {"type": "string", "enum": list(durations.NAMED_MS)},
    ],
}
WHEN: Schema = {
    "description": "RFC 3339 time with an offset, or `+` and an ISO 8601 duration from now",
    "anyOf": [TIME, text(pattern=DURATION["pattern"].replace("^", "^\\+", 1))],
}

PROBLEM = component(
    "Problem",
    obj(
        {
            "code": text(1),
            "type": {
                "type": "string",
                "enum": [
                    "validation_error", "not_found", "conflict", "rate_limit", "auth",
                    "unsupported", "backend_error",
                ],
            },
            "message": text(1),
            "retryable": BOOLEAN,
            "details": OBJECT,
            "hint": text(1),
            "docs_url": text(),
            "doc_url": text(),
            "request_id": text(1, MAX_REQUEST_ID),
        },
        additionalProperties=True,  # a code may bring members of its own
    ),
)  # fmt: skip
ERROR = component("Error", obj({"error": PROBLEM}))

PAGINATION = component(
    "Pagination",
    obj(
        {
            **dict.fromkeys(("total", "offset"), integer(0)),
            **dict.fromkeys(("page", "per_page", "limit"), integer(1)),
            "has_more": BOOLEAN,
        },
        {"next_cursor": text(1)},
    ),
)
