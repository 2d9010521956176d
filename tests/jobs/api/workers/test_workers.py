"""Endpoints under /ojs/v1/workers."""

from datetime import timedelta
from typing import Any

import pytest
from django.db.models.functions import Now
from django.test import Client

from jobs.api.wire.media import GONE
from jobs.conf import conf
from jobs.domain.states import State
from jobs.loops import run_once
from jobs.models import Worker
from tests.factories import JobFactory
from tests.spec import spec

OJS = "application/openjobspec+json"
DAY = timedelta(days=1)


def _post(api: Client, path: str, **body: Any) -> Any:
    return api.post(f"/ojs/v1/{path}", body, content_type=OJS)


def _health(api: Client, worker_id: str = "w1") -> tuple[int, str]:
    answer = api.get(f"/ojs/v1/workers/{worker_id}/health")
    return answer.status_code, answer.json()["state"]


def _silence(**since: timedelta) -> None:
    Worker.objects.update(**{name: Now() - ago for name, ago in since.items()})


@pytest.mark.parametrize(
    ("member", "value"),
    [
        ("started_at", "yesterday"),
        ("started_at", 1_700_000_000),
        ("started_at", ""),
        ("state", {}),
        ("state", ""),
        ("state", "asleep"),
    ],
)
def test_heartbeat_with_a_wrong_member_names_it(api: Client, member: str, value: Any) -> None:
    body = {"worker_id": "w1", member: value}

    answer = api.post("/ojs/v1/workers/heartbeat", body, content_type=OJS)

    assert answer.status_code == (422 if member == "state" else 400)  # GS-11
    assert answer.json()["error"]["details"]["field"] == member


@pytest.mark.parametrize(
    ("state", "shown", "status"),
    [
        ("running", "running", 200),
        ("quiet", "quiet", 200),
        ("drain", "drain", 503),
        ("draining", "drain", 503),
        ("shutting_down", "drain", 503),
        ("terminate", "terminate", 503),
    ],
)
@spec("GS-14")
def test_health_of_a_worker_shows_what_it_reports(
    api: Client, state: str, shown: str, status: int
) -> None:
    _post(api, "workers/heartbeat", worker_id="w1", state=state, active_jobs=2)

    assert _health(api) == (status, shown)


@spec("GS-14")
def test_health_of_a_worker_shows_its_jobs_and_last_heartbeat(api: Client) -> None:
    beat = _post(api, "workers/beat", worker_id="w1").json()
    JobFactory.create(state=State.ACTIVE, worker_id="w1")

    assert api.get("/ojs/v1/workers/w1/health").json() == {
        "worker_id": "w1",
        "state": "running",
        "active_jobs": 1,
        "last_heartbeat_at": beat["server_time"],
    }


@spec("GS-14")
def test_health_of_a_silent_worker_is_stale(api: Client) -> None:
    _post(api, "workers/heartbeat", worker_id="w1")
    _silence(last_heartbeat_at=timedelta(milliseconds=conf().worker_silence_ms + 1000))

    before = _health(api)
    run_once(["reap_dead_workers"])

    assert before == _health(api) == (503, "stale")


@spec("GS-14")
def test_health_of_a_worker_that_came_back_is_well(api: Client) -> None:
    _post(api, "workers/heartbeat", worker_id="w1", state="drain")
    _silence(last_heartbeat_at=timedelta(hours=1))
    run_once(["reap_dead_workers"])

    _post(api, "workers/heartbeat", worker_id="w1")

    assert _health(api) == (200, "running")


@spec("GS-14")
def test_health_of_a_worker_shows_its_directive(api: Client) -> None:
    _post(api, "workers/heartbeat", worker_id="w1")
    _post(api, "admin/workers/w1/quiet")
    quieted = _health(api)
    _post(api, "admin/workers/w1/terminate")

    assert quieted == (200, "quiet")
    assert _health(api) == (503, "terminate")


@spec("GS-14")
def test_health_of_a_worker_that_only_fetches_is_well(api: Client) -> None:
    _post(api, "workers/fetch", worker_id="w1", queues=["default"])

    answer = api.get("/ojs/v1/workers/w1/health")

    assert answer.status_code == 200
    assert answer.json()["last_heartbeat_at"] is None


@pytest.mark.parametrize("worker_id", ["unknown", "x" * 1000])
@spec("GS-14")
def test_health_of_an_unknown_worker_is_not_found(api: Client, worker_id: str) -> None:
    answer = api.get(f"/ojs/v1/workers/{worker_id}/health")

    assert answer.status_code == 404
    assert answer.json()["error"]["details"]["resource_type"] == "worker"


@spec("GS-18")
def test_draining_worker_leaves_the_health_of_the_system_alone(api: Client) -> None:
    before = api.get("/ojs/v1/health").json()
    _post(api, "workers/heartbeat", worker_id="w1", state="drain")

    after = api.get("/ojs/v1/health").json()

    assert after["status"] == before["status"]
    assert after["workers"]["stale"] == 0


def test_worker_silent_for_a_day_is_removed(api: Client) -> None:
    for worker_id in ("gone", "stopped", "lives"):
        _post(api, "workers/heartbeat", worker_id=worker_id)
    _post(api, "workers/heartbeat", worker_id="stopped", state="terminate", active_jobs=[])
    Worker.objects.exclude(id="lives").update(last_heartbeat_at=Now() - DAY)

    run_once(["reap_dead_workers"])

    assert list(Worker.objects.values_list("id", flat=True)) == ["lives"]


def test_worker_silent_for_less_than_a_day_stays(api: Client) -> None:
    _post(api, "workers/heartbeat", worker_id="w1")
    _silence(started_at=2 * DAY, last_heartbeat_at=timedelta(hours=23))

    run_once(["reap_dead_workers"])

    assert Worker.objects.filter(id="w1", dead_at__isnull=False).exists()


def test_worker_that_only_fetches_is_removed_a_day_after_its_start(api: Client) -> None:
    _post(api, "workers/fetch", worker_id="w1", queues=["default"])
    _silence(started_at=DAY)

    run_once(["reap_dead_workers"])

    assert not Worker.objects.exists()


def test_worker_with_a_job_stays_however_silent(api: Client) -> None:
    JobFactory.create(state=State.ACTIVE, worker_id="w1")
    _silence(started_at=2 * DAY)

    run_once(["reap_dead_workers"])

    assert Worker.objects.filter(id="w1").exists()


def test_worker_that_only_fetches_stays_while_told_to_terminate(api: Client) -> None:
    _post(api, "workers/fetch", worker_id="w1", queues=["default"])
    _post(api, "admin/workers/w1/terminate")
    _silence(started_at=2 * DAY)

    run_once(["reap_dead_workers"])

    assert Worker.objects.filter(id="w1").exists()


@pytest.mark.parametrize(
    ("verb", "first"),
    [("ack", {"result": 1}), ("nack", {"error": {"code": "a"}}), ("nack", {"requeue": True})],
)
def test_batch_that_names_a_job_twice_answers_the_second_as_a_second_request(
    api: Client, verb: str, first: dict[str, Any]
) -> None:
    job = JobFactory.create(state=State.ACTIVE)
    other = JobFactory.create(state=State.ACTIVE, queue="other")
    named = [{"job_id": job.id, **first}, {"job_id": other.id, **first}]
    twice = {"job_id": job.id, "result": 2, "error": {"code": "b"}}

    answer = _post(api, f"workers/{verb}/batch", **{f"{verb}s": [*named, twice, twice]}).json()

    assert [item["status"] for item in answer["results"]] == [200, 200, 409, 409]
    shown = api.get(f"/ojs/v1/jobs/{job.id}").json()["job"]
    assert shown.get("result", 1) == 1
    assert shown.get("error", {"code": "a"})["code"] == "a"


@spec("contract 3.4")
@pytest.mark.parametrize("wait", [{}, {"wait_ms": 20_000}])
def test_a_client_that_has_gone_before_its_turn_gets_no_job(
    api: Client, wait: dict[str, int]
) -> None:
    """Its answer would be lost, and the job would wait for the end of its lease."""
    job = JobFactory.create(state=State.AVAILABLE)

    def fetched(*, is_gone: bool) -> list[str]:
        environ: dict[str, Any] = {GONE: lambda: is_gone}
        body = {"queues": [job.queue], "worker_id": "w1", **wait}
        answer = api.post("/ojs/v1/workers/fetch", body, content_type=OJS, **environ)
        return [one["id"] for one in answer.json()["jobs"]]

    assert fetched(is_gone=True) == []
    assert fetched(is_gone=False) == [str(job.id)]
