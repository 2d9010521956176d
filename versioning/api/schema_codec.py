"""Encode and decode schemas, in the seed's form and in the SDKs' form.

Spec: contract 30.1, 30.2.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from jobs.api.schemas import (
    ANY,
    BOOLEAN,
    OBJECT,
    TIME,
    TYPE,
    Schema,
    array,
    component,
    integer,
    matching,
    maybe,
    obj,
    text,
)
from jobs.domain.errors import InvalidRequest, Unprocessable
from jobs.domain.wire.bounds import MAX_TYPE
from jobs.domain.wire.names import TYPE_PATTERN, URI_PATTERN
from ojs_tasks.versions import DIGITS
from versioning.domain.compatibility import Bump
from versioning.domain.schema import Mode
from versioning.domain.schema_errors import InvalidVersion
from versioning.domain.schema_version import parse_key, shown_version
from versioning.models import Schema as Row
from versioning.services.routing import shares_by_type
from versioning.services.schemas import Difference, Registered, Registration, shown

MAX_COMPATIBLE, MAX_URI = 100, 2000
SEED, UPSTREAM = "args_schema", "schema"  # member that decides the form of a body
MEMBERS = {
    "type", "job_type", "version", "args_schema", "schema", "compatible_with", "validation_mode",
    "uri",
}  # fmt: skip
REPLACE, ERROR = "replace", "error"

VERSION: Schema = {"anyOf": [integer(0), text(1)]}
SENT_VERSION: Schema = {
    "anyOf": [
        integer(0, 10**DIGITS - 1),
        text(1, 3 * DIGITS + 2, pattern=r"^(0|[1-9][0-9]{0,8})(\.(0|[1-9][0-9]{0,8})){0,2}$"),
    ]
}
MODE: Schema = {"type": "string", "enum": [str(one) for one in Mode]}
DOCUMENT: Schema = {**OBJECT, "description": "JSON Schema 2020-12"}
ROUTING = obj(
    {
        "strategy": {"const": "weighted"},
        "versions": array(obj({"version": VERSION, "weight": {"type": "number"}})),
    }
)
FLAT_MEMBERS: Schema = {
    "type": text(1),
    "job_type": text(1),
    "version": VERSION,
    "schema": OBJECT,
    "args_schema": OBJECT,
    "compatible_with": array(VERSION),
    "validation_mode": MODE,
    "target": {"type": "string", "enum": ["args", "first"]},
    "uri": maybe(text(1)),
    "created_at": TIME,
    "updated_at": TIME,
    "is_latest": BOOLEAN,
    "routing": ROUTING,
}
FLAT = component("RegisteredSchema", obj(FLAT_MEMBERS))
CHANGE = component(
    "SchemaChange",
    obj(
        {
            "path": {**text(), "description": "JSON Pointer into the arguments; * is any"},
            "kind": text(1),
            "message": text(1),
            "rule": {**text(1), "description": "In the words of job-versioning 7"},
            "breaking": BOOLEAN,
            "breaks": array({"type": "string", "enum": ["backward", "forward"]}),
            "required_bump": {"type": "string", "enum": ["major", "minor"]},
        }
    ),
)
PUT_ANSWER = component(
    "SchemaRegistration",
    obj(
        {
            **FLAT_MEMBERS,
            "schema_entry": FLAT,
            "breaking_changes": array(CHANGE),
            "compared_with": maybe(text(1)),
        }
    ),
)
OF_TYPE = component(
    "SchemasOfType", obj({**FLAT_MEMBERS, "versions": array(FLAT), "items": array(FLAT)})
)
SUMMARY = obj(
    {
        "version": VERSION,
        "created_at": TIME,
        "is_latest": BOOLEAN,
        "compatible_with": array(VERSION),
    }
)
VERSIONS = obj({"type": text(1), "job_type": text(1), "versions": array(SUMMARY)})
DELETED = obj({"deleted": {"const": True}, "type": text(1), "version": maybe(VERSION)})
CHECKED = obj({"valid": BOOLEAN, "errors": array(text(1))})
BUMP: Schema = {"type": "string", "enum": [str(one) for one in Bump]}
DIFFERENCE = component(
    "SchemaDifference",
    obj(
        {
            "type": text(1),
            "from": VERSION,
            "to": VERSION,
            "breaking": BOOLEAN,
            "required_bump": BUMP,
            "given_bump": BUMP,
            "changes": array(CHANGE),
        }
    ),
)
_OPTIONAL: Schema = {
    "compatible_with": maybe(array(SENT_VERSION, maxItems=MAX_COMPATIBLE)),
    "validation_mode": maybe(MODE),
}
PUT = obj(
    {},
    {
        "type": maybe(TYPE),
        "job_type": maybe(TYPE),
        "version": maybe(SENT_VERSION),
        "args_schema": maybe(DOCUMENT),
        "schema": maybe(DOCUMENT),
        **_OPTIONAL,
    },
    additionalProperties=False,
)
POST = obj(
    {"version": SENT_VERSION, "schema": DOCUMENT},
    {
        "job_type": maybe(TYPE),
        "type": maybe(TYPE),
        "uri": maybe(matching(URI_PATTERN, maxLength=MAX_URI)),
        **_OPTIONAL,
    },
    additionalProperties=False,
)
ENTRY_MEMBERS: Schema = {
    "job_type": text(1),
    "type": text(1),
    "uri": maybe(text(1)),
    "version": VERSION,
    "schema": OBJECT,
    "created_at": TIME,
}
ENTRY = component("SchemaEntry", obj(ENTRY_MEMBERS))
ENTRY_ANSWER = obj(
    {**{name: kind for name, kind in ENTRY_MEMBERS.items() if name != "schema"}, "schema": ENTRY}
)
VALIDATE = obj({"args": array(ANY)}, {"version": maybe(SENT_VERSION)}, additionalProperties=False)


# --- answers --------------------------------------------------------------------------------------


def encode_schema(
    row: Row, *, is_latest: bool, routed: Mapping[str, list[dict[str, Any]]]
) -> dict[str, Any]:
    """Encode a schema flat, with the names of both forms; `routed` has the rules of types."""
    document = orjson.Fragment(row.document)
    return {
        "type": row.type,
        "job_type": row.type,
        "version": shown_version(row.version),
        "schema": document,
        "args_schema": document,
        "compatible_with": [shown_version(one) for one in row.compatible_with],
        "validation_mode": row.mode,
        "target": row.target,
        "uri": row.uri,
        "created_at": row.created_at,
        "updated_at": row.updated_at,
        "is_latest": is_latest,
        "routing": {"strategy": "weighted", "versions": routed.get(row.type, [])},
    }


def encode_registered(done: Registered, *, is_latest: bool) -> dict[str, Any]:
    """Encode the result of a registration."""
    flat = encode_schema(
        done.schema, is_latest=is_latest, routed=shares_by_type([done.schema.type])
    )
    return {
        **flat,
        "schema_entry": flat,
        "breaking_changes": [shown(one) for one in done.breaking],
        "compared_with": done.before and done.before.version,
    }


def encode_of_type(rows: Sequence[Row]) -> dict[str, Any]:
    """Encode all schemas of a type, newest first, with the members of the latest at top level."""
    routed = shares_by_type([rows[0].type])
    every = [encode_schema(row, is_latest=row is rows[0], routed=routed) for row in rows]
    return {**every[0], "versions": every, "items": every}


def encode_versions(rows: Sequence[Row]) -> dict[str, Any]:
    """Encode the versions of a type, newest first."""
    return {
        "type": rows[0].type,
        "job_type": rows[0].type,
        "versions": [
            {
                "version": shown_version(row.version),
                "created_at": row.created_at,
                "is_latest": row is rows[0],
                "compatible_with": [shown_version(one) for one in row.compatible_with],
            }
            for row in rows
        ],
    }


def encode_entry(row: Row) -> dict[str, Any]:
    """Encode a schema in the SDKs' form."""
    return {
        "job_type": row.type,
        "type": row.type,
        "uri": row.uri,
        "version": shown_version(row.version),
        "schema": orjson.Fragment(row.document),
        "created_at": row.created_at,
    }


def encode_wrapped(row: Row) -> dict[str, Any]:
    """Encode a schema under `schema`, and its members at top level."""
    entry = encode_entry(row)
    return {**entry, "schema": entry}


def encode_difference(found: Difference) -> dict[str, Any]:
    """Encode the difference of two versions."""
    return {
        "type": found.new.type,
        "from": shown_version(found.old.version),
        "to": shown_version(found.new.version),
        "breaking": bool(found.breaking),
        "required_bump": str(found.demanded),
        "given_bump": str(found.given),
        "changes": [shown(one) for one in found.changes],
    }


# --- requests -------------------------------------------------------------------------------------


def decode_put(
    body: Mapping[str, Any], job_type: str, version: str, on_conflict: str
) -> Registration:
    """Read a registration whose path names type and version. Raises OJSError."""
    _require_members(body)
    valid_type(job_type, "type")
    key = valid_version(version)
    for name in ("type", "job_type"):
        if body.get(name) not in (None, job_type):
            raise Unprocessable.field(name, "must be that of the path", body[name])
    if body.get("version") is not None and valid_version(body["version"]) != key:
        raise Unprocessable.field("version", "must be that of the path", body["version"])
    form, document = _document(body)
    return Registration(
        type=job_type,
        version=version,
        document=document,
        mode=_mode(body) or (Mode.STRICT if form == SEED else Mode.WARN),
        replaces=(on_conflict or (REPLACE if form == SEED else ERROR)) == REPLACE,
        compatible_with=_compatible(body),
    )


def decode_post(body: Mapping[str, Any]) -> Registration:
    """Read a registration in the SDKs' form. Raises OJSError."""
    _require_members(body)
    given = [body[name] for name in ("job_type", "type") if body.get(name) is not None]
    if not given:
        raise InvalidRequest.field("job_type", "is required")
    if given[0] != given[-1]:
        raise Unprocessable.field("type", "differs from job_type", body["type"])
    if body.get("version") is None:
        raise InvalidRequest.field("version", "is required")
    valid_version(body["version"])
    form, document = _document(body)
    if form == SEED:
        raise Unprocessable.field(SEED, f"must be {UPSTREAM} here")
    return Registration(
        type=valid_type(given[0], "job_type"),
        version=str(body["version"]),
        document=document,
        mode=_mode(body) or Mode.WARN,
        must_be_new=True,
        compatible_with=_compatible(body),
        uri=_uri(body.get("uri")),
    )


def decode_args(body: Mapping[str, Any]) -> tuple[str | None, list[Any]]:
    """Read a check of arguments; returns version (or None) and arguments. Raises OJSError."""
    for name in body:
        if name not in {"version", "args"}:
            raise Unprocessable.field(name, "is not a member of this request", body[name])
    if not isinstance(body.get("args"), list):
        raise InvalidRequest.field("args", "is required and must be an array", body.get("args"))
    version = body.get("version")
    if version is not None:
        valid_version(version)
    return None if version is None else str(version), body["args"]


def valid_type(raw: object, name: str) -> str:
    """Return a job type. Raises Unprocessable."""
    if not isinstance(raw, str) or len(raw) > MAX_TYPE or not TYPE_PATTERN.fullmatch(raw):
        raise Unprocessable.field(name, "must be dot-separated lower-case words", raw)
    return raw


def valid_version(raw: object) -> tuple[int, int, int]:
    """Return the comparison key of a version. Raises InvalidVersion."""
    try:
        return parse_key(raw)
    except ValueError as problem:
        raise InvalidVersion.field("version", str(problem), raw) from None


def require_version(raw: str, name: str) -> None:
    """Check a version of the query. Raises InvalidRequest."""
    try:
        parse_key(raw)
    except ValueError as problem:
        raise InvalidRequest.field(name, str(problem), raw) from None


def _require_members(body: Mapping[str, Any]) -> None:
    for name in body:
        if name not in MEMBERS:
            raise Unprocessable.field(name, "is not a member of a schema", body[name])


def _document(body: Mapping[str, Any]) -> tuple[str, Any]:
    given = [name for name in (SEED, UPSTREAM) if body.get(name) not in (None, {})]
    if not given:
        raise InvalidRequest.field(UPSTREAM, f"is required, or {SEED}", body.get(UPSTREAM))
    if len(given) > 1:
        raise Unprocessable.field(SEED, f"must not be sent together with {UPSTREAM}")
    return given[0], body[given[0]]


def _mode(body: Mapping[str, Any]) -> Mode | None:
    raw = body.get("validation_mode")
    if raw is None:
        return None
    if raw not in [str(one) for one in Mode]:
        raise Unprocessable.field("validation_mode", f"must be one of {', '.join(Mode)}", raw)
    return Mode(raw)


def _compatible(body: Mapping[str, Any]) -> list[str]:
    raw = body.get("compatible_with")
    if raw is None:
        return []
    if not isinstance(raw, list) or len(raw) > MAX_COMPATIBLE:
        raise Unprocessable.field(
            "compatible_with", f"must be an array of at most {MAX_COMPATIBLE} versions", raw
        )
    for n, one in enumerate(raw):
        try:
            parse_key(one)
        except ValueError as problem:
            raise InvalidVersion.field(f"compatible_with[{n}]", str(problem), one) from None
    return [str(one) for one in raw]


def _uri(raw: object) -> str | None:
    if raw is None:
        return None
    if not isinstance(raw, str) or len(raw) > MAX_URI or not URI_PATTERN.fullmatch(raw):
        raise Unprocessable.field("uri", f"must be an absolute URI of at most {MAX_URI}", raw)
    return raw
