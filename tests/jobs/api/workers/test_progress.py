"""Progress over HTTP. Spec: contract 3.3, 29; EXT-PRG-001 and 002."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from jobs.api.wire.media import OJS_TYPE
from jobs.domain.states import State
from jobs.models import Job
from tests.factories import JobFactory
from tests.spec import spec

Keys = Callable[..., dict[str, str]]


def put(api: Client, job_id: str, body: Any, **more: Any) -> Any:
    return api.put(f"/ojs/v1/jobs/{job_id}/progress", body, content_type=OJS_TYPE, **more)


@pytest.fixture
def active(api: Client) -> str:
    """Return an active job whose lease names no worker."""
    return JobFactory.create(state=State.ACTIVE).id


def test_prg_002_what_was_put_is_read_with_its_headers(api: Client, active: str) -> None:
    before = api.get(f"/ojs/v1/jobs/{active}/progress")
    put(api, active, {"progress": 0.75, "message": "Three quarters", "data": {"a": 1}})
    after = api.get(f"/ojs/v1/jobs/{active}/progress")

    assert (before.json()["progress"], before.json()["updated_at"]) == (None, None)
    assert "X-OJS-Progress" not in before
    assert after.json() == {
        "job_id": active, "state": "active", "progress": 0.75, "message": "Three quarters",
        "data": {"a": 1}, "updated_at": after.json()["updated_at"],
    }  # fmt: skip
    assert after["X-OJS-Progress"] == "0.75"
    assert after["Cache-Control"] == "no-cache"
    assert after["Last-Modified"].endswith("GMT")


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({}, 422), ({"progress": None}, 422), ({"progress": "half"}, 422),
        ({"progress": True}, 422), ({"message": 5}, 400), ({"message": "m"}, 200),
        ({"data": [1]}, 200), ({"checkpoint": 0}, 200), ({"progress": 7}, 200),
    ],
)  # fmt: skip
@spec("PR-1")
def test_and_2_something_readable_is_needed(
    api: Client, active: str, body: dict[str, Any], status: int
) -> None:
    assert put(api, active, body).status_code == status


@spec("PR-4")
def test_report_about_an_ended_job_is_ignored_and_says_so(api: Client) -> None:
    job = JobFactory.create(state=State.COMPLETED)

    answer = put(api, job.id, {"progress": 0.5})

    assert (answer.status_code, answer.json()["ignored"]) == (200, True)
    assert answer.json()["progress"] is None


@spec("PR-11")
def test_large_data_is_taken_with_a_warning_and_too_large_data_not(
    api: Client, active: str
) -> None:
    small, large = (put(api, active, {"data": "x" * size}) for size in (4000, 5000))

    assert "Warning" not in small
    assert large["Warning"].startswith("299 ")
    for member in ("data", "checkpoint"):
        answer = put(api, active, {member: "x" * 65_536})
        assert answer.status_code == 413
        assert answer.json()["error"]["details"]["field"] == member


@spec("PR-12")
def test_report_by_another_worker_is_a_conflict(api: Client) -> None:
    job = JobFactory.create(state=State.ACTIVE, worker_id="w1")

    answer = put(api, job.id, {"progress": 0.5, "worker_id": "w2"})

    assert answer.status_code == 409


@spec("PR-10")
def test_jobs_of_other_tenants_are_not_found(api: Client, new_key: Keys, active: str) -> None:
    Job.objects.update(tenant="south")
    headers = new_key("admin", tenant="north")

    assert put(api, active, {"progress": 0.5}, headers=headers).status_code == 404


@pytest.mark.parametrize(("percentage", "progress"), [(40, 0.4), (250, 1.0), (-5, 0.0)])
@spec("contract 29")
def test_sdks_report_in_percent(api: Client, active: str, percentage: int, progress: float) -> None:
    body = {"job_id": active, "percentage": percentage}

    answer = api.post("/ojs/v1/workers/progress", body, content_type=OJS_TYPE)

    assert answer.json()["progress"] == progress


@spec("contract 29")
def test_job_shows_its_progress_and_checkpoint(api: Client, active: str) -> None:
    put(api, active, {"progress": 0.5, "data": {"a": 1}, "checkpoint": {"row": 9}})
    running = api.get(f"/ojs/v1/jobs/{active}").json()
    api.post("/ojs/v1/workers/nack", {"job_id": active, "requeue": True}, content_type=OJS_TYPE)
    again = api.post("/ojs/v1/workers/fetch", {"queues": ["default"]}, content_type=OJS_TYPE).json()

    assert (running["progress"], running["progress_data"]) == (0.5, {"a": 1})
    assert again["jobs"][0]["last_checkpoint"] == {"row": 9}
