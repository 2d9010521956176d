"""No bound is written twice: decoders and the document read jobs/domain/wire/bounds.py."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from jobs.api.server.docs import document
from jobs.conf import Conf
from jobs.domain.wire import bounds
from tests.conftest import ROOT

KEYWORDS = {
    "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength",
    "minItems", "maxItems", "minProperties", "maxProperties",
}  # fmt: skip
BUILDERS = {"integer", "text", "array", "matching"}  # of jobs/api/schemas
SCHEMAS = sorted(
    path
    for api in ROOT.glob("*/api")
    for path in api.rglob("*.py")
    if "jobs.api.schemas" in path.read_text() or path.parent.name == "schemas"
)


def own_numbers(tree: ast.AST) -> Iterator[int]:
    """Yield the lines of a schema that has a bound above 1 as a literal number."""
    for node in ast.walk(tree):
        given: list[ast.expr] = []
        match node:
            case ast.Call(func=ast.Name(id=name)) if name in BUILDERS:
                given = [*node.args, *(one.value for one in node.keywords if one.arg in KEYWORDS)]
            case ast.Dict():
                given = [
                    value
                    for key, value in zip(node.keys, node.values, strict=True)
                    if isinstance(key, ast.Constant) and key.value in KEYWORDS
                ]
        yield from (one.lineno for one in given if is_number(one))


def is_number(node: ast.expr) -> bool:
    """Return whether an expression is a number above 1, written without a name."""
    if any(
        isinstance(one, ast.Name | ast.Attribute | ast.Call | ast.Dict) for one in ast.walk(node)
    ):
        return False
    value = eval(ast.unparse(node))  # noqa: S307 - a literal of this repository
    return isinstance(value, int | float) and abs(value) > 1


@pytest.mark.parametrize("path", SCHEMAS, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_schema_has_no_number_of_its_own(path: Path) -> None:
    assert list(own_numbers(ast.parse(path.read_text()))) == []


# The bounds of members of requests, wherever the document has them
PUBLISHED: dict[tuple[str, str], set[int]] = {
    ("worker_id", "maxLength"): {bounds.MAX_WORKER_ID},
    ("hostname", "maxLength"): {bounds.MAX_WORKER_ID},
    ("request_id", "maxLength"): {bounds.MAX_REQUEST_ID},
    ("tags", "maxItems"): {bounds.MAX_TAGS},
    ("handlers", "maxItems"): {bounds.MAX_HANDLERS},
    ("queues", "maxItems"): {bounds.MAX_QUEUES},
    ("wait_ms", "maximum"): {bounds.MAX_WAIT_MS},
    ("count", "maximum"): {bounds.MAX_WHOLE},
    ("pid", "maximum"): {bounds.MAX_WHOLE},
    ("initial_interval_ms", "maximum"): {bounds.MAX_INTERVAL_MS},
    ("retry_after_ms", "maximum"): {bounds.MAX_INTERVAL_MS},
    ("active_jobs", "maximum"): {bounds.MAX_INT},
    ("timeout", "maximum"): {bounds.MAX_RESULT_WAIT_S, bounds.MAX_MS // 1000},
    ("visibility_timeout_ms", "minimum"): {bounds.MIN_LEASE_MS},
    ("visibility_timeout_ms", "maximum"): {bounds.MAX_MS},
    ("result_ttl", "maximum"): {bounds.MAX_MS // 1000},
    ("per_page", "maximum"): {bounds.MAX_OFFSET},
    ("offset", "maximum"): {bounds.MAX_OFFSET},
    ("acks", "maxItems"): {bounds.MAX_BATCH},
}


def published(schema: Any, member: str = "") -> Iterator[tuple[tuple[str, str], Any]]:
    """Yield each bound of the document with the member or parameter that it belongs to."""
    if isinstance(schema, list):
        for one in schema:
            yield from published(one, member)
    if not isinstance(schema, dict):
        return
    if {"in", "schema"} <= schema.keys():
        member = schema["name"]
    for name, value in schema.items():
        if name in KEYWORDS and isinstance(value, int | float):
            yield (member, name), value
        for inner, found in value.items() if name == "properties" else [(member, value)]:
            yield from published(found, inner)


def test_the_published_document_has_the_bounds_of_the_table() -> None:
    found: dict[tuple[str, str], set[Any]] = defaultdict(set)
    for place, value in published(orjson.loads(document())):
        found[place].add(value)

    assert {place: found[place] for place in PUBLISHED} == PUBLISHED


def test_a_batch_is_published_with_the_default_of_its_setting() -> None:
    assert Conf().max_batch == bounds.MAX_BATCH
