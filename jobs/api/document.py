"""Join the descriptions of all operations to one OpenAPI document, with drf-spectacular.

Every operation gets the shared parameters, headers and errors of contract 3.1 and 4 by itself.
drf-spectacular belongs to the extra `server`, so the core imports this module only if it is there.
"""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from django.conf import settings
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.openapi import AutoSchema

from jobs import extensions
from jobs.api.examples import PATH as EXAMPLE_PATH
from jobs.api.examples import Example
from jobs.api.guide import INTRODUCTION, command, example_of, ordered, section, tags
from jobs.api.openapi import Operation
from jobs.api.schemas import COMPONENTS, ERROR, ID, QUEUE, WORKER_ID, Schema, integer, maybe, text
from jobs.api.wire.answer import PASSING
from jobs.api.wire.media import JSON_TYPE, OJS_TYPE, OJS_VERSION
from jobs.domain.access.permits import Required
from jobs.domain.errors import OJSError
from jobs.domain.wire.bounds import MAX_REQUEST_ID
from jobs.extensions import RequestHooks
from jobs.permits import table

TYPES = (OJS_TYPE, JSON_TYPE)
EVERYWHERE = (422, 500, 503, 504)  # a version not supported; trouble with the database
PATH = {"job_id": ID, "name": QUEUE, "worker_id": WORKER_ID}
PARAMETERS: dict[str, Schema] = {
    "OJSVersion": {
        "name": "OJS-Version",
        "in": "header",
        "description": "Version the client speaks; major 1 is understood.",
        "schema": text(pattern="^(1(\\..*)?)?$", example=OJS_VERSION),
    },
    "RequestId": {
        "name": "X-Request-Id",
        "in": "header",
        "description": f"Echoed when printable and at most {MAX_REQUEST_ID} characters long, "
        "else replaced.",
        "schema": text(),
    },
}
HEADERS: dict[str, Schema] = {
    "OJS-Version": {"required": True, "schema": {"const": OJS_VERSION}},
    "X-Request-Id": {"required": True, "schema": text(1, MAX_REQUEST_ID)},
    "Location": {"required": True, "description": "Path of the new resource", "schema": text(1)},
    "WWW-Authenticate": {"required": True, "schema": {"const": "Bearer"}},
    "Retry-After": {"description": "Seconds", "schema": integer(0)},
    "X-RateLimit-Limit": {"required": True, "schema": integer(0)},
    "X-RateLimit-Remaining": {"required": True, "schema": integer(0)},
    "X-RateLimit-Reset": {"required": True, "description": "Unix time", "schema": integer(0)},
    "X-OJS-Queue-Depth": {"description": "Waiting jobs of a queue that is nearly full",
                          "schema": integer(0)},
    "X-OJS-Queue-Bound": {"description": "Bound on the waiting jobs", "schema": integer(1)},
    "X-OJS-Queue-Pressure": {"description": "Depth by bound",
                             "schema": text(pattern="^[0-9]+[.][0-9]{2}$")},
    "X-OJS-Operation": {"description": "Operation that can be undone", "schema": integer(1)},
    "X-OJS-Replica-Lag-Ms": {"description": "Age of the data, at most, where a replica serves it."
                             " The request header `Cache-Control: no-cache` asks for the latest",
                             "schema": integer(0)},
    "OJS-Deduplicated": {"description": "A job was stored before", "schema": {"const": "true"}},
}  # fmt: skip
SHARED_HEADERS = (
    "OJS-Version", "X-Request-Id", "X-RateLimit-Limit", "X-RateLimit-Remaining",
    "X-RateLimit-Reset",
)  # fmt: skip
ERROR_HEADERS = {401: ("WWW-Authenticate",), **dict.fromkeys(PASSING, ("Retry-After",))}
SECURITY: dict[str, Schema] = {
    "key": {"type": "http", "scheme": "bearer", "bearerFormat": "ojs_<prefix>_<secret>"},
    "keyHeader": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
    "session": {"type": "apiKey", "in": "cookie", "name": settings.SESSION_COOKIE_NAME},
}


class OperationSchema(AutoSchema):
    """Writes the described operations; a method without a description is left out."""

    def get_operation(
        self, path: str, path_regex: str, path_prefix: str, method: str, registry: Any
    ) -> Schema | None:
        """Build the operation object of one method."""
        view: Any = self.view
        handler = getattr(view, method.lower())
        found: Operation | None = getattr(handler, "operation", None)
        if found is None:
            return None
        wanted: Required = view.required(method)
        scope = wanted.scope
        more = table().operations[view.optional].scope if view.optional else None
        # an operation on all tenants reads the header, too, and refuses a request that has it
        names_tenants = scope is not None and bool(tenant_parameters())
        summary, _, description = (handler.__doc__ or "").partition("\n")
        module, name = type(view).__module__, found.aliases.get(path, found.id)
        example = example_of(module, (name, found.id)) or Example()
        built: Schema = {
            "operationId": name,
            "summary": summary.strip().rstrip("."),
            "description": _described(
                description, command(method, path, example, needs_key=bool(scope or more))
            ),
            "tags": [section(module)],
            "parameters": _parameters(path, found, example, names_tenants=names_tenants),
            "responses": _responses(found, scope, names_tenants=names_tenants),
            "security": _security(scope, more),
        }
        if found.body is not None:
            # null equals no body where none is needed
            body = found.body if found.needs_body else maybe(found.body)
            built["requestBody"] = {"required": found.needs_body, "content": _json(body)}
            if example.body is not None:
                for content in built["requestBody"]["content"].values():
                    content["example"] = example.body
        if scope or more:
            built["x-ojs-scope"] = scope or more
        if found.extension:
            built["x-ojs-extension"] = found.extension
        return built


def _described(description: str, curl: str) -> str:
    """Return the description of an operation as Markdown, with its example."""
    text = " ".join(description.split())
    return f"{text}\n\n```sh\n{curl}\n```".lstrip()


def tenant_parameters() -> dict[str, Schema]:
    """Return the headers that name the tenant of a request, as the extensions read them."""
    return {
        name: one
        for extension in extensions.implementers(RequestHooks.tenant_headers)
        for name, one in extension.tenant_headers().items()
    }


def _parameters(
    path: str, found: Operation, example: Example, *, names_tenants: bool
) -> list[Schema]:
    names = [part[1:-1] for part in path.split("/") if part.startswith("{")]
    schemas = {**PATH, **found.path}
    values = {**EXAMPLE_PATH, **example.path}
    listed: list[Schema] = [
        {"name": name, "in": "path", "required": True, "schema": schemas[name]}
        | ({"example": values[name]} if name in values else {})
        for name in names
    ]
    listed += [
        {"name": name, "in": "query", "schema": schema}
        | ({"example": example.query[name]} if name in example.query else {})
        for name, schema in found.query.items()
    ]
    shared = [*PARAMETERS, *(tenant_parameters() if names_tenants else ())]
    return listed + [{"$ref": f"#/components/parameters/{name}"} for name in shared]


def _responses(found: Operation, scope: str | None, *, names_tenants: bool) -> dict[str, Schema]:
    answers = {
        str(status): _answer(status, schema, found) for status, schema in found.answers.items()
    }
    expected = {*EVERYWHERE, *found.refusals}
    expected |= {401, 403} if scope else set()
    expected |= {400, 413} if found.body is not None else set()
    expected |= {400} if found.query or names_tenants else set()
    refused = {
        str(status): {"$ref": f"#/components/responses/Error{status}"}
        for status in sorted(expected - found.answers.keys())
    }
    return answers | refused


def _answer(status: int, schema: Schema | None, found: Operation) -> Schema:
    built: Schema = {
        "description": HTTPStatus(status).phrase,
        "headers": _headers((*SHARED_HEADERS, *found.headers.get(status, ()))),
    }
    content: Schema = {} if schema is None else _json(schema)
    if status == HTTPStatus.OK:
        content |= {kind: {"schema": shape} for kind, shape in found.media.items()}
    return built | ({"content": content} if content else {})


def _json(schema: Schema) -> Schema:
    return {kind: {"schema": schema} for kind in TYPES}


def _headers(names: tuple[str, ...]) -> Schema:
    return {name: {"$ref": f"#/components/headers/{name}"} for name in names}


def _security(scope: str | None, optional_scope: str | None) -> list[Schema]:
    if scope is None and optional_scope is None:
        return []
    needed = [{name: [scope or optional_scope]} for name in SECURITY]
    return needed if scope else [{}, *needed]


class Generator(SchemaGenerator):
    """Joins the operations and the shared components to one OpenAPI 3.1 document."""

    def get_schema(self, request: Any = None, public: bool = True) -> Schema:  # noqa: FBT001, FBT002  # its signature
        """Build the document."""
        found: Schema = super().get_schema(request, public=True)  # type: ignore[no-untyped-call]  # its base has no types
        paths = ordered(found["paths"])
        return {
            "openapi": "3.1.1",
            "info": {
                "title": "Open Job Spec server",
                "version": OJS_VERSION,
                "description": INTRODUCTION,
                "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
            },
            "servers": [{"url": "/"}],
            "tags": tags(paths),
            "paths": paths,
            "components": {
                "schemas": COMPONENTS,
                "parameters": PARAMETERS | tenant_parameters(),
                "headers": HEADERS,
                "securitySchemes": SECURITY,
                "responses": _error_responses(),
            },
        }


def _error_responses() -> Schema:
    codes: dict[int, dict[str, str]] = {}
    for problem in _classes(OJSError):
        if hasattr(problem, "code"):
            cures = codes.setdefault(problem.status, {})
            cures.setdefault(problem.code, problem.hint)
    return {
        f"Error{status}": {
            "description": _cures(status, cures),
            "headers": _headers((*SHARED_HEADERS, *ERROR_HEADERS.get(status, ()))),
            "content": _json(ERROR),
        }
        for status, cures in sorted(codes.items())
    }


def _cures(status: int, cures: Mapping[str, str]) -> str:
    """Describe the errors of a status, each with its cure."""
    listed = (f"- `{code}`: {cures[code]}" for code in sorted(cures))
    return "\n".join([f"{HTTPStatus(status).phrase}. Possible codes:", "", *listed])


def _classes(base: type[OJSError]) -> list[type[OJSError]]:
    return [base, *(found for child in base.__subclasses__() for found in _classes(child))]
