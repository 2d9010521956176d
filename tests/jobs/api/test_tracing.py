"""Trace context and request id of stored jobs, over real HTTP. Spec: contract 32.2."""

from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import httpx
import pytest
from django.test import Client

from jobs.api.wire.media import OJS_TYPE
from tests.factories import JobFactory
from tests.processes import DEADLINE_S
from tests.spec import spec

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
OWN = "00-11111111111111111111111111111111-2222222222222222-00"
TRACE = {"traceparent": PARENT, "tracestate": "rojo=00f067aa0ba902b7"}


@pytest.fixture
def http(server: str, store: None) -> Iterator[httpx.Client]:
    """Return a client of the server, with an empty store."""
    with httpx.Client(base_url=f"{server}/ojs/v1/", timeout=DEADLINE_S) as client:
        yield client


def to(queue: str, **more: Any) -> dict[str, Any]:
    """Return a job for a queue of its own: the server outlives the stores of tests."""
    return {"type": "a.b", "args": [], "options": {"queue": queue}, **more}


def push(http: httpx.Client, meta: dict[str, Any], **headers: str) -> Any:
    """Enqueue a job and return its meta as a worker receives it."""
    queue = f"traced-{uuid4()}"
    body = to(queue, meta=meta)
    assert http.post("jobs", json=body, headers=headers).status_code == 201
    return fetched(http, queue)["meta"]


def fetched(http: httpx.Client, queue: str) -> Any:
    """Return the next job; wait if a loop holds its lane for a moment."""
    body = {"queues": [queue], "wait_ms": 20_000}
    (job,) = http.post("workers/fetch", json=body).json()["jobs"]
    return job


@spec("contract 32.2")
def test_a_job_carries_the_trace_of_its_request(http: httpx.Client) -> None:
    assert push(http, {"a": 1}, **TRACE) == {"a": 1, **TRACE}


@pytest.mark.parametrize("own", [{"traceparent": OWN}, {"traceparent": None}, {"tracestate": "x"}])
@spec("contract 32.2")
def test_a_jobs_own_trace_is_kept_verbatim(http: httpx.Client, own: dict[str, Any]) -> None:
    assert push(http, own, **TRACE) == own


@spec("contract 32.2")
def test_what_is_no_trace_and_the_id_of_the_request_are_left_out(http: httpx.Client) -> None:
    headers = {"traceparent": "00-xyz-1-01", "tracestate": "a=1", "X-Request-ID": "r-1"}

    assert push(http, {}, **headers) == {}


@spec("contract 32.2")
def test_every_job_of_a_batch_carries_it(http: httpx.Client) -> None:
    jobs = [to("batch"), to("batch", meta={"traceparent": OWN})]

    stored = http.post("jobs/batch", json={"jobs": jobs}, headers=TRACE).json()["jobs"]

    assert [job["meta"] for job in stored] == [TRACE, {"traceparent": OWN}]


@spec("contract 32.2")
def test_steps_of_a_workflow_name_the_trace_that_began_it(http: httpx.Client) -> None:
    queue = f"traced-{uuid4()}"
    steps = [to(queue), to(queue, meta={"traceparent": OWN})]
    made = http.post("workflows", json={"type": "chain", "steps": steps}, headers=TRACE)
    assert made.status_code == 201, made.text

    first = fetched(http, queue)
    http.post("workers/ack", json={"job_id": first["id"]})
    following = fetched(http, queue)

    origin = {"ojs.workflow.trace_origin": PARENT}
    assert first["meta"] == {**TRACE, **origin}
    assert following["meta"] == {"traceparent": OWN, **origin}


def send(api: Client, **headers: str) -> Any:
    body = {"type": "a.b", "args": [], "meta": {}}
    answer = api.post("/ojs/v1/jobs", body, content_type=OJS_TYPE, headers=headers)
    return answer.json()["job"]["meta"]


@spec("contract 32.2")
def test_injecting_can_be_switched_off(api: Client, settings: Any) -> None:
    settings.OJS = {**settings.OJS, "TRACE_INJECT": False}

    assert send(api, **TRACE) == {}


@spec("contract 32.2")
def test_the_id_of_the_request_is_stamped_where_asked_for(api: Client, settings: Any) -> None:
    settings.OJS = {**settings.OJS, "STAMP_REQUEST_ID": True}

    assert send(api, **{"X-Request-ID": "r-1"}) == {"request_id": "r-1"}


@spec("contract 32.2")
def test_operators_see_which_request_stored_a_job(api: Client) -> None:
    sent = {"type": "a.b", "args": [1]}
    batch = {"jobs": [sent, {**sent, "options": {"unique": {}}}]}
    one = api.post("/ojs/v1/jobs", sent, content_type=OJS_TYPE, headers={"X-Request-ID": "one"})
    many = api.post(
        "/ojs/v1/jobs/batch", batch, content_type=OJS_TYPE, headers={"X-Request-ID": "many"}
    )
    jobs = [one.json()["job"], *many.json()["jobs"]]

    assert [seen(api, job["id"]).get("request_id") for job in jobs] == ["one", "many", "many"]
    assert all("request_id" not in job for job in jobs)  # it is not a member of the envelope
    assert "request_id" not in seen(api, JobFactory.create().id)


def seen(api: Client, job_id: str) -> Any:
    return api.get(f"/ojs/v1/admin/jobs/{job_id}").json()
