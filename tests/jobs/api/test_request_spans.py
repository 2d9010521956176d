"""Spans of requests, around the spans of their jobs. Spec: contract 32.2."""

from collections.abc import Iterator
from typing import Any

import orjson
import pytest
from django.test import Client
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from jobs.api.wire.media import JSON_TYPE
from jobs.domain.dispatch.claim import FetchRequest
from jobs.domain.wire.ids import new_id
from jobs.services.dispatch.fetch import fetch
from jobs.services.read.show import show
from tests.factories import JobFactory
from tests.spec import spec
from tests.tracing import in_memory, parent_of, traceparent

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
HIDDEN = "do-not-tell-this"
Exported = InMemorySpanExporter


@pytest.fixture
def exported(monkeypatch: pytest.MonkeyPatch) -> Iterator[Exported]:
    """Configure a provider for this test and return its exporter."""
    with in_memory(monkeypatch) as exporter:
        yield exporter


def meta_of(job_id: str) -> dict[str, Any]:
    """Return the meta of a stored job."""
    return dict(orjson.loads(show(job_id).meta))


@spec("contract 32.2")
def test_a_request_has_a_span_around_that_of_its_job(exported: Exported, api: Client) -> None:
    body = {"type": "mail.send", "args": [HIDDEN], "options": {"queue": "mail"}}
    trace_of = {"traceparent": PARENT}
    answer = api.post("/ojs/v1/jobs", body, content_type=JSON_TYPE, headers=trace_of)

    producer, server = exported.get_finished_spans()
    assert answer.status_code == 201
    assert (server.name, server.kind) == ("POST /ojs/v1/jobs", SpanKind.SERVER)
    assert (parent_of(server), parent_of(producer)) == (PARENT, traceparent(server))
    assert server.attributes == {
        "http.request.method": "POST",
        "url.path": "/ojs/v1/jobs",
        "url.scheme": "http",
        "http.route": "/ojs/v1/jobs",
        "http.response.status_code": 201,
    }
    assert HIDDEN not in server.to_json() + producer.to_json()


@spec("contract 32.2")
def test_the_route_of_a_request_has_no_ids_and_a_refusal_is_no_failure(
    exported: Exported, api: Client
) -> None:
    job = JobFactory.create()
    exported.clear()
    api.get(f"/ojs/v1/jobs/{job.id}")
    api.get(f"/ojs/v1/admin/jobs/{new_id()}")

    shown, unknown = exported.get_finished_spans()
    assert shown.name == "GET /ojs/v1/jobs/<str:job_id>"
    assert unknown.name == "GET /ojs/v1/admin/jobs/<str:job_id>"
    assert unknown.attributes is not None
    assert unknown.attributes["http.response.status_code"] == 404
    assert unknown.status.status_code is StatusCode.UNSET


@spec("contract 32.2")
def test_later_steps_of_a_workflow_name_the_request_that_began_it(
    exported: Exported, api: Client
) -> None:
    step = {"type": "mail.send", "args": [], "options": {"queue": "mail"}}
    body = {"type": "chain", "steps": [step, step]}
    made = api.post("/ojs/v1/workflows", body, content_type=JSON_TYPE)
    assert made.status_code == 201, made.content
    (server,) = [one for one in exported.get_finished_spans() if one.kind is SpanKind.SERVER]
    (first,) = fetch(FetchRequest(("mail",), worker_id="w1")).jobs
    api.post("/ojs/v1/workers/ack", {"job_id": first.id}, content_type=JSON_TYPE)

    (second,) = fetch(FetchRequest(("mail",), worker_id="w1")).jobs

    for job in (first, second):
        assert meta_of(job.id)["ojs.workflow.trace_origin"][:-2] == traceparent(server)[:-2]
