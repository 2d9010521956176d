"""Level 0, core: envelope, operations, lifecycle, errors, events, over HTTP."""

from typing import Any

import httpx
import pytest

from tests.levels.conftest import Wire
from tests.spec import spec

OJS = "application/openjobspec+json"


@spec("contract 3.1")
def test_answers_have_the_media_type_the_version_and_the_request_id(wire: Wire) -> None:
    answer = wire.http.post(
        "/ojs/v1/jobs", json=wire.job("anchor"), headers={"X-Request-Id": "tide-7"}
    )

    assert answer.status_code == 201
    assert answer.headers["content-type"] == OJS
    assert answer.headers["ojs-version"] == "1.0"
    assert answer.headers["x-request-id"] == "tide-7"
    assert answer.headers["location"] == f"/ojs/v1/jobs/{answer.json()['job']['id']}"


@spec("contract 1")
def test_push_stores_the_envelope_as_it_was_sent(wire: Wire) -> None:
    args = [{"weight": 1.5, "stack": [1, None, True]}, "Größe", 2**53]

    job = wire.push(*args, priority=7, tags=["fragile"])

    shown = wire.show(job["id"])
    assert shown == job
    assert (shown["args"], shown["queue"], shown["priority"]) == (args, wire.queue, 7)
    assert (shown["specversion"], shown["state"], shown["attempt"]) == ("1.0", "available", 0)
    assert shown["enqueued_at"] == shown["created_at"]


@spec("contract 1")
def test_unknown_attributes_are_kept(wire: Wire) -> None:
    body = {**wire.job(), "x_crane": {"arm": 3}}

    job = wire.send("POST", "/ojs/v1/jobs", body, 201)["job"]

    assert wire.show(job["id"])["x_crane"] == {"arm": 3}


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"type": None}, "type"), ({"type": ""}, "type"), ({"type": "no spaces"}, "type"),
        ({"args": {"a": 1}}, "args"), ({"args": None}, "args"), ({"id": "crate-1"}, "id"),
        ({"options": {"queue": "UPPER"}}, "queue"), ({"options": {"priority": 101}}, "priority"),
    ],
)  # fmt: skip
@spec("contract 4")
def test_a_bad_envelope_is_refused_with_its_field(
    wire: Wire, change: dict[str, Any], field: str
) -> None:
    error = wire.send("POST", "/ojs/v1/jobs", wire.job() | change, 400)["error"]

    assert error["code"] == "invalid_request"
    assert field in error["details"]["field"]
    assert error["retryable"] is False


@pytest.mark.parametrize("body", [b"{", b"[]", b'"text"', b'{"type": "a.b", "args": [NaN]}'])
@spec("contract 4")
def test_what_is_no_json_object_is_an_invalid_payload(wire: Wire, body: bytes) -> None:
    answer = wire.http.post("/ojs/v1/jobs", content=body, headers={"Content-Type": OJS})

    assert answer.status_code == 400
    assert answer.json()["error"]["code"] in {"invalid_payload", "invalid_request"}


@spec("contract 2")
def test_a_job_goes_from_push_to_ack(wire: Wire) -> None:
    pushed = wire.push("hull")

    (taken,) = wire.fetch(worker_id="docker-1")
    told = wire.ack(taken, worker_id="docker-1", result={"berth": 4})

    assert (taken["id"], taken["state"], taken["attempt"]) == (pushed["id"], "active", 1)
    assert told["acknowledged"] is True
    done = wire.show(pushed["id"])
    assert (done["state"], done["result"]) == ("completed", {"berth": 4})
    assert done["completed_at"] >= done["started_at"] >= done["enqueued_at"]


@spec("contract 2")
def test_a_claim_is_exclusive(wire: Wire) -> None:
    wire.push()

    assert len(wire.fetch(5)) == 1
    assert wire.fetch(5) == []


@spec("contract 2")
def test_ack_and_nack_need_an_active_job(wire: Wire) -> None:
    job = wire.push()

    assert wire.ack(job, 409)["error"]["details"]["current_state"] == "available"
    wire.fetch()
    wire.ack(job)
    assert wire.ack(job, 409)["error"]["code"] == "conflict"
    assert wire.nack(job, 409)["error"]["details"]["current_state"] == "completed"


@pytest.mark.parametrize("state", ["available", "scheduled", "pending", "active"])
@spec("contract 2.7")
def test_cancel_ends_a_job_that_is_not_final(wire: Wire, state: str) -> None:
    later: dict[str, dict[str, Any]] = {
        "scheduled": {"delay_until": "2199-01-01T00:00:00Z"},
        "pending": {"pending": True},
    }
    job = wire.push(**later.get(state, {}))
    if state == "active":
        wire.fetch()

    told = wire.send("DELETE", f"/ojs/v1/jobs/{job['id']}")["job"]

    assert (told["state"], told["previous_state"]) == ("cancelled", state)
    assert "completed_at" not in told
    wire.send("DELETE", f"/ojs/v1/jobs/{job['id']}", status=409)
    assert wire.fetch() == []


@spec("contract 2.6")
def test_a_pending_job_waits_for_its_activation(wire: Wire) -> None:
    job = wire.push(pending=True)
    assert wire.fetch() == []

    told = wire.send("POST", f"/ojs/v1/jobs/{job['id']}/activate")["job"]

    assert (told["state"], told["previous_state"]) == ("available", "pending")
    assert [one["id"] for one in wire.fetch()] == [job["id"]]
    wire.send("POST", f"/ojs/v1/jobs/{job['id']}/activate", status=409)


@spec("contract 3.2")
def test_unknown_things_answer_404_and_unknown_methods_405(wire: Wire) -> None:
    for job_id in ("01990000-0000-7000-8000-000000000000", "no-id"):
        assert (
            wire.send("GET", f"/ojs/v1/jobs/{job_id}", status=404)["error"]["code"] == "not_found"
        )
    wire.send("GET", "/ojs/v1/lighthouses", status=404)
    answer = wire.http.put("/ojs/v1/jobs", json={})
    assert (answer.status_code, "POST" in answer.headers["allow"]) == (405, True)


@spec("contract 12")
def test_each_transition_is_an_event_of_the_job(wire: Wire) -> None:
    job = wire.push()
    wire.fetch()
    wire.ack(job)

    events = wire.send("GET", f"/ojs/v1/events?job_id={job['id']}")["events"]

    assert {event["type"] for event in events} >= {
        "job.enqueued", "job.started", "job.completed",
    }  # fmt: skip


@spec("contract 3.8")
def test_health_manifest_and_probes_need_no_key(server: str) -> None:
    manifest = httpx.get(f"{server}/ojs/manifest", timeout=30).json()

    assert manifest["specversion"] == "1.0"
    assert "http" in manifest["protocols"]
    for path in ("/livez", "/ready", "/health", "/ojs/v1/health"):
        assert httpx.get(f"{server}{path}", timeout=30).status_code == 200
