"""GET /ojs/v1/metrics and /metrics. Spec: contract 32.4."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from jobs.domain.states import State
from jobs.loops import run_once
from jobs.services.health import exposition
from tests.concurrency import wait_until_complete
from tests.factories import JobFactory
from tests.spec import spec

OJS = "application/openjobspec+json"
PATH = "/ojs/v1/metrics"
TEXT = "text/plain; version=0.0.4; charset=utf-8"
COUNTS = {
    "uptime_seconds", "jobs_enqueued_total", "jobs_completed_total", "jobs_failed_total",
    "jobs_active", "queues_active", "workers_active",
}  # fmt: skip


@pytest.fixture
def numbers(api: Client) -> Callable[[], dict[str, Any]]:
    """Return a function that aggregates the events and reads the metrics."""

    def read() -> dict[str, Any]:
        wait_until_complete()
        run_once(["fold"])
        found: dict[str, Any] = api.get(PATH).json()
        return found

    return read


@spec("contract 32.4")
def test_metrics_of_an_empty_store_are_zeros(numbers: Callable[[], dict[str, Any]]) -> None:
    found = numbers()

    assert {name: found[name] for name in COUNTS - {"uptime_seconds"}} == dict.fromkeys(
        COUNTS - {"uptime_seconds"}, 0
    )
    assert found["avg_latency_ms"] == found["throughput_per_second"] == 0


@spec("contract 32.4")
def test_metrics_count_what_happened(api: Client, numbers: Callable[[], dict[str, Any]]) -> None:
    before = numbers()
    JobFactory.create(queue="a", state=State.COMPLETED)
    JobFactory.create(queue="b", state=State.DISCARDED)
    JobFactory.create(queue="c", state=State.ACTIVE)
    JobFactory.create(queue="d")
    api.post("/ojs/v1/queues/d/pause", content_type=OJS)
    api.post("/ojs/v1/workers/heartbeat", {"worker_id": "w1"}, content_type=OJS)

    after = numbers()

    grown = {name: after[name] - before[name] for name in COUNTS - {"uptime_seconds"}}
    assert grown == {
        "jobs_enqueued_total": 4,
        "jobs_completed_total": 1,
        "jobs_failed_total": 1,
        "jobs_active": 1,
        "queues_active": 3,
        "workers_active": 1,
    }
    assert after["avg_latency_ms"] >= 0
    assert after["throughput_per_second"] == round(1 / 3600, 4)


@spec("contract 32.4")
def test_counts_are_whole_numbers(numbers: Callable[[], dict[str, Any]]) -> None:
    found = numbers()

    assert found.keys() == COUNTS | {"avg_latency_ms", "throughput_per_second"}
    assert {type(found[name]) for name in COUNTS} == {int}


@pytest.mark.parametrize(
    ("accept", "kind"), [("*/*", TEXT), ("text/plain", "text/plain"), (OJS, TEXT)]
)
@spec("contract 32.4")
def test_metrics_as_text_equal_those_of_prometheus(api: Client, accept: str, kind: str) -> None:
    for path in ("/metrics", f"{PATH}?format=prometheus"):
        api.get(path, HTTP_ACCEPT=accept)  # request metrics exist after the first request
    exposition._cached.clear()
    there = api.get("/metrics", HTTP_ACCEPT=accept)
    here = api.get(f"{PATH}?format=prometheus", HTTP_ACCEPT=accept)

    assert here["Content-Type"] == there["Content-Type"] == kind
    assert _families(here.content) == _families(there.content)
    assert b"ojs_job_enqueued_total" in here.content or b"# TYPE ojs_job_enqueued" in here.content


def _families(page: bytes) -> list[bytes]:
    return sorted(line for line in page.splitlines() if line.startswith(b"# TYPE ojs_"))


@pytest.mark.parametrize(
    ("accept", "kind"), [("*/*", OJS), (OJS, OJS), ("application/json", "application/json")]
)
@spec("contract 32.4")
def test_metrics_as_json_have_the_types_of_all_answers(api: Client, accept: str, kind: str) -> None:
    for query in ("", "?format=json"):
        assert api.get(PATH + query, HTTP_ACCEPT=accept)["Content-Type"] == kind


def test_metrics_in_an_unknown_format_are_refused(api: Client) -> None:
    answer = api.get(f"{PATH}?format=xml")

    assert answer.status_code == 400
    assert answer.json()["error"]["details"]["field"] == "format"
    assert answer["Content-Type"] == OJS


def test_metrics_as_text_without_a_key_are_refused_as_json(api: Client, with_keys: None) -> None:
    for accept, kind in (("text/plain", OJS), ("application/json", "application/json")):
        answer = api.get(f"{PATH}?format=prometheus", HTTP_ACCEPT=accept)

        assert answer.status_code == 401
        assert answer["Content-Type"] == kind
