"""The server compared with its OpenAPI document, by requests that schemathesis generates.

The requests are equal in every run. Valid requests find documents that promise too much, invalid
requests find servers that check too little.
"""

import base64
from functools import cache
from typing import Any

import orjson
import pytest
import schemathesis
from django.core.wsgi import get_wsgi_application
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from schemathesis.checks import CheckContext, not_a_server_error
from schemathesis.config import SchemathesisConfig
from schemathesis.core import NOT_SET
from schemathesis.generation.hypothesis.builder import (
    HypothesisTestConfig,
    HypothesisTestMode,
    create_test,
)
from schemathesis.specs.openapi import checks

from jobs.api.server.docs import document
from jobs.api.wire.media import OJS_TYPE
from jobs.domain.wire.bounds import MAX_WAIT_MS
from jobs.services.operate.history import kinds
from tests.effort import IS_THOROUGH, examples
from tests.jobs.api.refusals import STREAMS

EXAMPLES = 10
MEDIA = OJS_TYPE.replace("/", "~1")
# Refusals for rules that JSON Schema cannot express
BEYOND_SCHEMAS = {
    "must be above 0 and at most 90 days",
    "is not a threshold of queue_paused",
    "must have a weight above 0",
    "is in the rules twice",
    "must be above the one before it",
    "needs a second version to take the rest",
    "must be from PT0S to P1D",
    "must be from PT5S to P1D",
    "must be from PT1S to P30D",
    "must be later than scheduled_at",
    "differs from scheduled_at",
    "must not be below initial_interval",
    "must be greater than zero",
    "must be at most 100 years",
    "must not lead beyond the first 50000 entries",
    "must be a duration above zero, 30m or PT30M",
    "must be before until",
    "leads to more than 1500 points, choose a longer period",
    "is required",  # which of several members is missing depends on the type
    "differs from the other expression",
    "differs from the one in job_template",
    "must be false with overlap_policy enqueue, which uses pending jobs",
    "must be UTC or the IANA name of a zone such as Europe/Berlin",
    "never occurs",
    "must be at most 2048 ASCII characters without spaces",
    "must be a URL",
    "must be an absolute URL such as https://example.org/hooks",
    "must use https",
    "must have neither credentials nor a fragment",
    "must name a port from 1 to 65535",
    "must be at most 10000: use after, since or until",
    "is not the id of a rule",
    "is not the name of a type",
    "is not the name of a queue",
    "is not the name of an alert",
    "must be an integer from 100 to 604800000",  # absent, in an empty objective
    "must be at most 20000 characters without NUL",
    "must be a number from 90 to 99.99",
    "must be the id of an event",
    "must be 1 to 255 printable characters",
    f"must be one of {', '.join(sorted(kinds()))}",  # of the history; extensions add more
    "reaches 10000 deliveries back at most",
    "must be longer than nothing and at most 100 years",
    "must be a duration such as PT30S or 30s",
    "needs args in keys",
    "is required with meta in keys",
    "must name a member of args",
    "must be bounded by max_age or max_count",
    "must name queues of the list only",
    "differs from the weight in queues",
    "must be that of the path",
    "differs from X-OJS-Tenant",  # refers to the alias of the header
    "differs from the tenant in the header",
    "must be from one second to one day",
    "must name tenants",
    "must not name a tenant twice",
    "must be an object beside handlers",
    "accepts no version: its constraints exclude each other",
    "must equal the same member outside of worker",
    "is required: no pool names queues",
    "adds up to more than 1 over the queues",
    "must not be sent together with schema",
    'must be text such as "1.10" where it has two parts: a number loses zeros',
    "differs from job_type",
    "is required, or args_schema",
    "must be an object or a boolean",  # refers to a document in JSON Schema
    "is not JSON Schema 2020-12",
    "must use https, or the region must have allow_insecure",
    "must use https: plain HTTP is for this machine only",
    "must be a URL of at most 2048 ASCII characters",
    "must be an absolute URL such as https://eu.example.org",
    "must have neither spaces nor backslashes",
    "must not contain credentials",
    "must have neither a query nor a fragment",
    "must not be a link-local, multicast or unspecified address",
    "must be at a public address: see OJS_FEDERATION_ALLOW_PRIVATE",
    "must be at most 64 texts of 1 to 64 characters",  # printable texts
    "is required with kind 'bearer'",
    "must be 'bearer' if a token is given",
    "must name registered regions",
    "must be registered first",  # refers to the local region
    "can be set by OJS_FEDERATION_LOCAL_REGION only",
    "can be set in OJS_FEDERATION_REGIONS only",
    "is allowed in OJS_FEDERATION_REGIONS only: use auth.token",
    "must be given again if the server changes",
    "must have a host name or an address",
    "must not be on this machine: see OJS_FEDERATION_ALLOW_PRIVATE",
    "must be one of affinity, overflow",  # extended_strategies adds more
    "is an alias of failure_threshold: give only one of them",
    "is an alias of cooldown_seconds: give only one of them",
}
BEYOND_FIELDS = {"expression", "overrides"}  # overrides: some rules of findings have none
OPERATIONS = [
    pytest.param(path, method, id=operation["operationId"])
    for path, methods in orjson.loads(document())["paths"].items()
    for method, operation in methods.items()
    if not operation["operationId"].endswith("Alias")  # the alias of another operation
    and operation["operationId"] not in STREAMS
]
ANSWERS = ("Error", "Pagination", "QueueStats", "Queue", "Progress", "Event", "Health", "Manifest")
WHOLE = {"getHealth", "createJob"}
REFUSED = ["400", "401", "403", "404", "405", "409", "413", "422"]


def _closed(schema: Any) -> Any:
    """Forbid members that the document does not name, unless it allows additional members."""
    if isinstance(schema, list):
        return [_closed(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {name: _closed(item) for name, item in schema.items()}
    if "properties" in closed and closed.get("type") == "object":
        closed.setdefault("additionalProperties", False)
    return closed


def _prepared() -> dict[str, Any]:
    """Return the document with strict answers and without parts that only multiply requests."""
    found: dict[str, Any] = orjson.loads(document())
    schemas = found["components"]["schemas"]
    schemas |= {name: _closed(schemas[name]) for name in ANSWERS}
    for methods in found["paths"].values():
        for operation in methods.values():
            for answer in operation["responses"].values():
                if "content" in answer:
                    answer["content"] = _closed(answer["content"])
            for media in operation.get("requestBody", {}).get("content", {}).values():
                media.pop("examples", None)  # server/test_examples.py sends them
                media.pop("example", None)
            if operation["operationId"] not in WHOLE:
                _thin(operation)
    return found


def _thin(operation: dict[str, Any]) -> None:
    """Remove the shared headers, the second media type and the largest batch size."""
    operation["parameters"] = [p for p in operation["parameters"] if "$ref" not in p]
    if content := operation.get("requestBody", {}).get("content"):
        del content["application/json"]
        for member in content[OJS_TYPE]["schema"].get("properties", {}).values():
            member.pop("maxItems", None)


def _cursor(offset: int) -> str:
    return base64.urlsafe_b64encode(f"off:{offset}".encode()).decode().rstrip("=")


schemathesis.openapi.format("cursor", st.integers(0, 1_000_000).map(_cursor))


@pytest.fixture(scope="session")  # of the whole run: one process for all operations takes too long
def described() -> Any:
    """Return the document, connected to the application."""
    schema = schemathesis.openapi.from_dict(
        _prepared(),
        config=SchemathesisConfig.from_dict(
            {
                "generation": {"allow-x00": False, "with-security-parameters": False},
                "checks": {"negative_data_rejection": {"expected-statuses": REFUSED}},
            }
        ),
    )
    schema.app = get_wsgi_application()
    return schema


@cache
def _schema_of(path: str, method: str) -> Draft202012Validator:
    """Return the published schema of an operation's body, with all its bounds."""
    escaped = path.replace("~", "~0").replace("/", "~1")
    place = f"#/paths/{escaped}/{method.lower()}/requestBody/content/{MEDIA}/schema"
    return Draft202012Validator({**orjson.loads(document()), "$ref": place})


def accepts_valid_requests(context: CheckContext, response: Any, case: Any) -> None:
    """Check that the server accepts valid requests, but for rules beyond JSON Schema."""
    operation = case.operation
    if case.body is not NOT_SET and not _schema_of(operation.path, operation.method).is_valid(
        case.body
    ):
        return  # schemathesis generates some lists that are too long and names that break a pattern
    refused = response.json()["error"]["details"] if response.status_code >= 400 else {}
    is_a_shape = "validation_errors" in refused  # members that depend on each other, order of steps
    is_taken = "existing_job_id" in refused  # an earlier request has stored a job with the same id
    is_beyond = refused.get("field") in BEYOND_FIELDS or is_a_shape or is_taken
    if refused.get("expected") not in BEYOND_SCHEMAS and not is_beyond:
        checks.positive_data_acceptance(context, response, case)


def _read(body: Any) -> Any:
    """Return the members that the server reads: `options` win."""
    if not isinstance(body, dict):
        return body
    options = body.get("options")
    given = options if isinstance(options, dict) else {}
    read = {name: value for name, value in body.items() if given.get(name) is None}
    if isinstance(jobs := read.get("jobs"), list):
        read["jobs"] = [_read(job) for job in jobs]
    return read


def refuses_invalid_requests(context: CheckContext, response: Any, case: Any) -> None:
    """Check that the server refuses invalid requests, as a whole or item by item."""
    operation, body = case.operation, case.body
    if isinstance(body, dict) and _read(body) != body:
        schema = _schema_of(operation.path, operation.method)
        if not schema.is_valid(body) and schema.is_valid(_read(body)):
            return  # the only wrong values are those that others override
    if not (response.status_code == 207 and response.json()["failed"]):
        checks.negative_data_rejection(context, response, case)


CHECKS: list[Any] = [
    not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_headers_conformance,
    checks.response_schema_conformance,
    refuses_invalid_requests,
    accepts_valid_requests,
]
# one request for each boundary of each member takes most of the time
MODES = [HypothesisTestMode.FUZZING, *[HypothesisTestMode.COVERAGE] * IS_THOROUGH]
PLAIN = settings(
    max_examples=examples(EXAMPLES),
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)


def _check(case: Any) -> None:
    if isinstance(case.body, dict) and case.body.get("wait_ms") in range(1, MAX_WAIT_MS + 1):
        case.body["wait_ms"] = 0  # tests do not wait for jobs
    case.call_and_validate(checks=CHECKS)


@pytest.mark.usefixtures("store")
@pytest.mark.parametrize(("path", "method"), OPERATIONS)
def test_operation_answers_as_documented(described: Any, path: str, method: str) -> None:
    # `schema.parametrize()` would generate the requests of all operations at collection
    config = HypothesisTestConfig(
        project=described.config,
        modes=MODES,
        settings=PLAIN,
        seed=1,
    )

    create_test(operation=described[path][method], test_func=_check, config=config)()
