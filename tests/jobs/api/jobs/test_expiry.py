"""`expires_at` compared with `scheduled_at`, absolute and relative. Spec: contract 1.1, 1.4."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import Client

OJS = "application/openjobspec+json"


When = str | int | None  # a number means hours from now, sent as an absolute time


def _spelled(when: When) -> str | None:
    if isinstance(when, int):
        return (datetime.now(UTC) + timedelta(hours=when)).isoformat()
    return when


def _job(scheduled: When, expires: When, *, name: str = "scheduled_at") -> dict[str, Any]:
    options = {name: _spelled(scheduled), "expires_at": _spelled(expires)}
    return {"type": "mail.send", "args": [], "options": options}


@pytest.mark.parametrize("name", ["scheduled_at", "delay_until"])
@pytest.mark.parametrize(
    ("scheduled", "expires"),
    [
        ("2099-01-01T00:00:00Z", "2098-12-31T23:59:59Z"),
        ("2099-01-01T00:00:00Z", "2099-01-01T00:00:00Z"),
        ("2099-01-01T00:00:00Z", "2099-01-01T01:00:00+01:00"),
        ("+PT2H", "+PT1H"),
        ("+PT2H", "+PT2H"),
        ("+PT0S", "+PT0S"),
        (2, "+PT1H"),
        ("+PT2H", 1),
        ("+PT0S", -1),
        (1, "+PT0S"),
        ("+P90Y", "2026-01-01T00:00:00Z"),
        ("9999-12-31T23:59:59Z", "+P100Y"),
    ],
)
def test_enqueue_that_expires_before_its_schedule_is_refused(
    api: Client, scheduled: When, expires: When, name: str
) -> None:
    answer = api.post("/ojs/v1/jobs", _job(scheduled, expires, name=name), content_type=OJS)

    assert answer.status_code == 400
    assert answer.json()["error"]["details"]["field"] == "expires_at"
    assert "index" not in answer.json()["error"]["details"]


@pytest.mark.parametrize(
    ("scheduled", "expires"),
    [
        (None, -1),  # discarded at the first claim
        (1, "+PT2H"),
        ("+PT1H", 2),
        (-1, "+PT0S"),
        ("+PT0S", "+PT0.5S"),
    ],
)
def test_enqueue_that_expires_after_its_schedule_is_taken(
    api: Client, scheduled: When, expires: When
) -> None:
    answer = api.post("/ojs/v1/jobs", _job(scheduled, expires), content_type=OJS)

    assert answer.status_code == 201


def test_enqueue_with_one_time_of_each_kind_counts_from_now(api: Client) -> None:
    before = datetime.now(UTC)
    answer = api.post("/ojs/v1/jobs", _job("+PT1H", 2), content_type=OJS)
    after = datetime.now(UTC)

    scheduled = datetime.fromisoformat(answer.json()["job"]["scheduled_at"])
    second = timedelta(seconds=1)  # the clocks of database and test may differ
    assert before - second <= scheduled - timedelta(hours=1) <= after + second


def test_batch_with_one_job_that_expires_too_early_stores_none(api: Client) -> None:
    body = {"jobs": [_job(None, "+PT1H"), _job("+PT2H", 1), _job(None, "+PT1H")]}

    answer = api.post("/ojs/v1/jobs/batch", body, content_type=OJS)

    assert answer.status_code == 400
    assert answer.json()["error"]["details"]["index"] == 1
    assert api.get("/ojs/v1/queues").json()["queues"] == []
