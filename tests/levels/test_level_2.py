"""Level 2, scheduled: delays, expiry, schedules, over HTTP."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.levels.conftest import Wire
from tests.spec import spec


def _soon(**delta: float) -> str:
    return (datetime.now(UTC) + timedelta(**delta)).isoformat().replace("+00:00", "Z")


@pytest.mark.parametrize("name", ["delay_until", "scheduled_at"])
@spec("contract 2.5")
def test_a_delayed_job_starts_when_its_time_comes(wire: Wire, name: str) -> None:
    at = _soon(seconds=0.3)
    job = wire.push(**{name: at})
    assert job["state"] == "scheduled"

    (taken,) = wire.fetched()

    assert taken["id"] == job["id"]
    assert taken["started_at"] >= job["scheduled_at"]


@spec("contract 1")
def test_a_time_of_the_past_means_now(wire: Wire) -> None:
    job = wire.push(delay_until="2001-01-01T00:00:00Z")

    assert job["state"] == "available"


@pytest.mark.parametrize("at", ["tomorrow", "2026-13-01T00:00:00Z", "2026-01-01", 7])
@spec("contract 1")
def test_what_is_no_time_is_refused(wire: Wire, at: Any) -> None:
    error = wire.send("POST", "/ojs/v1/jobs", wire.job(delay_until=at), 400)["error"]

    assert "delay_until" in error["details"]["field"]


@spec("contract 2.2")
def test_a_job_that_expires_is_never_handed_out(wire: Wire) -> None:
    job = wire.push(expires_at=_soon(seconds=0.2))

    done = wire.reaches(job["id"], "discarded")

    assert done["error"]["type"] == "expired"
    assert "completed_at" not in done
    assert wire.fetch() == []


def _schedule(wire: Wire, **more: Any) -> dict[str, Any]:
    return {
        "name": wire.queue,
        "expression": "@every 1s",
        "job_template": {"type": wire.type, "args": [3], "options": {"queue": wire.queue}},
        **more,
    }


@spec("contract 7")
def test_a_schedule_makes_jobs_until_it_is_removed(wire: Wire) -> None:
    told = wire.send("POST", "/ojs/v1/cron", _schedule(wire), 201)["cron"]
    assert (told["expression"], told["timezone"], told["enabled"]) == ("@every 1s", "UTC", True)

    (taken,) = wire.fetched()
    wire.ack(taken)

    assert (taken["type"], taken["args"]) == (wire.type, [3])
    assert taken["meta"]["cron_name"] == wire.queue
    shown = wire.send("GET", f"/ojs/v1/cron/{wire.queue}")["cron"]
    assert shown["run_count"] >= 1
    wire.send("DELETE", f"/ojs/v1/cron/{wire.queue}")
    wire.send("GET", f"/ojs/v1/cron/{wire.queue}", status=404)


@spec("contract 7.5")
def test_registering_a_name_again_replaces_it(wire: Wire) -> None:
    wire.send("POST", "/ojs/v1/cron", _schedule(wire, enabled=False), 201)

    told = wire.send("POST", "/ojs/v1/cron", _schedule(wire, expression="0 5 * * *", enabled=False))

    assert told["cron"]["expression"] == "0 5 * * *"
    wire.send("DELETE", f"/ojs/v1/cron/{wire.queue}")


@spec("contract 7.5")
def test_a_disabled_schedule_has_no_next_run(wire: Wire) -> None:
    wire.send("POST", "/ojs/v1/cron", _schedule(wire, expression="0 5 * * *"), 201)

    off = wire.send("PATCH", f"/ojs/v1/cron/{wire.queue}", {"enabled": False})["cron"]
    on = wire.send("PATCH", f"/ojs/v1/cron/{wire.queue}", {"enabled": True})["cron"]

    assert (off["status"], off["next_run_at"]) == ("disabled", None)
    assert (on["status"], on["next_run_at"] is not None) == ("active", True)
    wire.send("DELETE", f"/ojs/v1/cron/{wire.queue}")


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"expression": "61 * * * *"}, "expression"), ({"expression": "* * * *"}, "expression"),
        ({"expression": "0 0 31 2 *"}, "expression"), ({"timezone": "Mars/Olympus"}, "timezone"),
        ({"timezone": "EST"}, "timezone"), ({"name": "Upper Case"}, "name"),
        ({"overlap_policy": "maybe"}, "overlap_policy"),
    ],
)  # fmt: skip
@spec("contract 7.2")
def test_a_bad_schedule_is_refused_with_its_field(
    wire: Wire, change: dict[str, Any], field: str
) -> None:
    error = wire.send("POST", "/ojs/v1/cron", _schedule(wire) | change, 400)["error"]

    assert (error["code"], error["details"]["field"]) == ("invalid_request", field)


@spec("contract 7.2")
def test_times_follow_the_zone_of_the_schedule(wire: Wire) -> None:
    body = _schedule(wire, expression="0 12 * * *", timezone="Asia/Tokyo")

    told = wire.send("POST", "/ojs/v1/cron", body, 201)["cron"]

    assert told["next_run_at"].endswith("T03:00:00Z")
    wire.send("DELETE", f"/ojs/v1/cron/{wire.queue}")
