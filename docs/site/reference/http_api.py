"""The HTTP API, from the OpenAPI document of the server."""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any, Final

from jobs.api.server.docs import document

Schema = Mapping[str, Any]
OPERATIONS: Final = ("get", "put", "post", "patch", "delete", "head", "options")
EVERYWHERE: Final = {"OJSVersion", "RequestId", "Tenant", "TenantID"}
LONGEST: Final = 8  # values of an enumeration in a row
HEAD: Final = """# HTTP API

A running server also has this document at `/ojs/v1/openapi.json`, and at `/ojs/v1/docs` a page that
sends requests. The scope is the permission that a key needs. Each operation also answers with the
errors of the [list of errors](../errors.md): 401, 403, 422, 500, 503 and 504.

The commands use `OJS_URL`, the address of the server, and `OJS_API_KEY`.
"""


def page() -> str:
    """Return the page in Markdown."""
    found = json.loads(document())
    by_tag: dict[str, list[str]] = defaultdict(list)
    for path, item in found["paths"].items():
        for method in OPERATIONS:
            if method in item:
                operation = item[method]
                by_tag[operation["tags"][0]] += _operation(method.upper(), path, operation)
    lines = [HEAD, *_parameters("Headers of every request", found["components"]["parameters"])]
    for tag in found["tags"]:
        lines += ["", f"## {tag['name']}", "", tag.get("description", "")]
        lines += by_tag[tag["name"]]
    lines += ["", "## Schemas"]
    for name, schema in sorted(found["components"]["schemas"].items()):
        lines += ["", f"### {name}", "", schema.get("description", ""), *_members(schema)]
    return "\n".join([*lines, ""])


def _operation(method: str, path: str, operation: Schema) -> Iterator[str]:
    yield from ("", f"### `{method} {path}`", "", f"{operation['summary']}.")
    yield from ("", operation.get("description", ""), "")
    if scope := operation.get("x-ojs-scope"):
        yield f"Scope: `{scope}`"
    own = [one for one in operation["parameters"] if _last(one) not in EVERYWHERE]
    if own:
        yield from ("", "| parameter | in | value | meaning |", "|---|---|---|---|")
        yield from (_parameter(one) for one in own)
    if body := operation.get("requestBody"):
        yield from ("", f"Body: {_content(body)}")
        yield from _members(_schema(body) or {})
    yield from ("", "| status | answer |", "|---|---|")
    for status, answer in sorted(operation["responses"].items()):
        if "$ref" not in answer:
            yield f"| {status} | {_content(answer) or answer['description']} |"
    refusals = sorted(s for s, answer in operation["responses"].items() if "$ref" in answer)
    yield f"| {', '.join(refusals)} | error |"


def _parameters(title: str, parameters: Mapping[str, Schema]) -> Iterator[str]:
    yield from (f"## {title}", "", "| parameter | in | value | meaning |", "|---|---|---|---|")
    yield from (_parameter(one) for one in parameters.values())


def _parameter(one: Schema) -> str:
    name = f"`{one['name']}`" + (" (required)" if one.get("required") else "")
    return f"| {name} | {one['in']} | {_type(one['schema'])} | {_cell(one)} |"


def _last(one: Schema) -> str:
    return str(one.get("$ref", "")).rpartition("/")[2]


def _schema(message: Schema) -> Schema | None:
    """Return the schema of a body: all media types of an operation share it."""
    content = message.get("content", {})
    return next((one["schema"] for one in content.values() if "schema" in one), None)


def _content(message: Schema) -> str:
    schema = _schema(message)
    return _type(schema) if schema else ""


def _members(schema: Schema) -> Iterator[str]:
    """Yield a table of the members of an object."""
    properties = schema.get("properties")
    if not properties:
        return
    required = set(schema.get("required", ()))
    yield from ("", "| member | value | meaning |", "|---|---|---|")
    for name, member in properties.items():
        mark = " (required)" if name in required else ""
        yield f"| `{name}`{mark} | {_type(member)} | {_cell(member)} |"


def _cell(schema: Schema) -> str:
    text = schema.get("description") or schema.get("schema", {}).get("description", "")
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


def _type(schema: Schema) -> str:
    """Return the type of a value in a few words."""
    if "$ref" in schema:
        name = _last(schema)
        return f"[{name}](#{name.lower()})"
    if "const" in schema:
        return f"`{json.dumps(schema['const'])}`"
    if "enum" in schema:
        values = [f"`{json.dumps(value)}`" for value in schema["enum"]]
        return ", ".join(values[:LONGEST]) + (", …" if len(values) > LONGEST else "")
    for word in ("anyOf", "oneOf", "allOf"):
        if word in schema:
            return (" and " if word == "allOf" else " or ").join(map(_type, schema[word]))
    kind = schema.get("type", "any")
    kinds = kind if isinstance(kind, list) else [kind]
    return " or ".join(_plain(one, schema) for one in kinds) + _bounds(schema)


def _plain(kind: str, schema: Schema) -> str:
    if kind == "array" and schema.get("items"):
        return f"array of {_type(schema['items'])}"
    if kind == "string" and "format" in schema:
        return str(schema["format"])
    return kind


def _bounds(schema: Schema) -> str:
    """Return the bounds of a number in words."""
    low, high = schema.get("minimum"), schema.get("maximum")
    if low is not None and high is not None:
        return f", {low} to {high}"
    if low is not None:
        return f", from {low}"
    return "" if high is None else f", up to {high}"
