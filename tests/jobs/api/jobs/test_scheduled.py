"""Scheduled jobs: all relative forms, and the delay after the due time. Spec: contract 1.4, 2.5."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import orjson
import pytest
from django.test import Client

from jobs.api.wire.media import OJS_TYPE
from tests.processes import until
from tests.spec import spec

YEAR, MONTH = timedelta(days=365), timedelta(days=30)
FORMS = [
    ("+PT2S", timedelta(seconds=2)),
    ("+PT0.25S", timedelta(milliseconds=250)),
    ("+PT90M", timedelta(minutes=90)),
    ("+PT36H", timedelta(hours=36)),
    ("+P1D", timedelta(days=1)),
    ("+P2W", timedelta(weeks=2)),
    ("+P1M", MONTH),
    ("+P1Y", YEAR),
    ("+P1DT6H", timedelta(days=1, hours=6)),
    ("+P1Y2M3W4DT5H6M7.5S", YEAR + 2 * MONTH + timedelta(25, 5 * 3600 + 6 * 60 + 7.5)),
    ("+P100Y", 100 * YEAR),
]
PLACES: dict[str, Callable[[str, str], dict[str, Any]]] = {
    "top level": lambda name, text: {name: text},
    "options": lambda name, text: {"options": {name: text}},
}


def push(api: Client, body: dict[str, Any], status: int = 201) -> dict[str, Any]:
    """Enqueue a single job."""
    sent = orjson.dumps({"type": "later.test", "args": [], **body})
    answer = api.generic("POST", "/ojs/v1/jobs", sent, content_type=OJS_TYPE)
    assert answer.status_code == status, answer.content
    found: dict[str, Any] = answer.json()
    return found


def time(text: str) -> datetime:
    return datetime.fromisoformat(text)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(("text", "length"), FORMS)
@spec("contract 1.4")
def test_relative_scheduled_at_counts_from_push(
    api: Client, text: str, length: timedelta, place: str
) -> None:
    job = push(api, PLACES[place]("scheduled_at", text))["job"]

    assert job["state"] == "scheduled"
    assert "enqueued_at" not in job
    assert time(job["scheduled_at"]) == time(job["created_at"]) + length


@pytest.mark.parametrize(("text", "length"), FORMS)
@spec("contract 1.1")
def test_delay_until_takes_the_same_forms(api: Client, text: str, length: timedelta) -> None:
    job = push(api, {"options": {"delay_until": text}})["job"]

    assert time(job["scheduled_at"]) == time(job["created_at"]) + length
    assert "delay_until" not in job


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(("text", "length"), FORMS)
@spec("contract 1.4")
def test_relative_expires_at_counts_from_push(
    api: Client, text: str, length: timedelta, place: str
) -> None:
    job = push(api, PLACES[place]("expires_at", text))["job"]

    assert job["state"] == "available"
    assert time(job["expires_at"]) == time(job["created_at"]) + length


@pytest.mark.parametrize(
    "text", ["+PT0S", "+P0D", "2020-01-01T00:00:00Z", "2020-01-01T02:00:00+02:00"]
)
@spec("contract 1.4")
def test_scheduled_at_now_or_past_is_available_at_once(api: Client, text: str) -> None:
    job = push(api, {"options": {"scheduled_at": text}})["job"]

    assert job["state"] == "available"
    assert job["enqueued_at"] == job["created_at"]
    assert time(job["scheduled_at"]) <= datetime.now(UTC)


@pytest.mark.parametrize("name", ["scheduled_at", "delay_until", "expires_at"])
@pytest.mark.parametrize(
    "text",
    ["PT2S", "+", "+P", "+PT", "+P1H", "+PT1D", "+-PT1S", "-PT1S", "+PT1.5M", "+P101Y", "+ PT2S",
     "+pt2s", "++PT2S", "+2", "+1h30m", "+PT2S ", "2099-01-01", "2099-01-01T00:00:00",
     "2099-01-01 00:00:00Z", "2099-13-01T00:00:00Z"],
)  # fmt: skip
@spec("contract 1.4")
def test_other_forms_are_refused_by_name(api: Client, name: str, text: str) -> None:
    error = push(api, {"options": {name: text}}, 400)["error"]

    assert error["details"]["field"] == name


@pytest.mark.parametrize("delay", ["+PT0.4S", "+PT1S"])
@spec("contract 2.5")
def test_scheduled_job_becomes_available_by_itself_and_not_before_its_time(
    server: str, delay: str
) -> None:
    with httpx.Client(base_url=server, timeout=30) as client:
        body = {
            "type": "later.test",
            "args": [],
            "options": {"queue": "soon", "scheduled_at": delay},
        }
        job = client.post("/ojs/v1/jobs", json=body).json()["job"]

        def seen() -> dict[str, Any]:
            found: dict[str, Any] = client.get(f"/ojs/v1/jobs/{job['id']}").json()["job"]
            return found

        until(lambda: seen()["state"] == "available", "promotion")

        late = time(seen()["enqueued_at"]) - time(job["scheduled_at"])
        assert late >= timedelta(0)
