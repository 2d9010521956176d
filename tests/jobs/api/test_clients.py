"""Members that only the official clients read. Spec: contract 24.5, 24.6, 40."""

from datetime import datetime
from typing import Any

import orjson
import pytest
from django.test import Client

from jobs.domain.states import State
from tests.factories import JobFactory
from tests.spec import spec

OJS = "application/openjobspec+json"


def _send(api: Client, method: str, path: str, body: Any = None) -> Any:
    return api.generic(method, f"/ojs/v1/{path}", b"" if body is None else orjson.dumps(body), OJS)


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("admin/queues/mail/config", {"concurrency": 4, "paused": True}),
        ("admin/queues/mail/rate-limit", {"concurrency": 4}),
        ("queues/mail/config", {"concurrency": 4}),
    ],
)
@spec("contract 24.1")
def test_a_configured_queue_is_answered_with_its_detail(api: Client, path: str, body: Any) -> None:
    JobFactory.create(queue="mail")

    answer = _send(api, "PUT", path, body)

    assert answer.status_code == 200
    shown = answer.json()
    assert shown["counts"] == {state.value: int(state == State.AVAILABLE) for state in State}
    assert shown["paused"] is body.get("paused", False)
    assert shown["state"] == ("paused" if shown["paused"] else "active")
    assert shown["configuration"]["concurrency"] == shown["config"]["concurrency"] == 4
    detail = api.get("/ojs/v1/admin/queues/mail").json()
    assert shown.items() >= detail.items()


@spec("contract 24.2")
def test_a_worker_that_only_fetches_has_a_last_heartbeat(api: Client) -> None:
    _send(api, "POST", "workers/fetch", {"queues": ["mail"], "worker_id": "w1"})

    shown = api.get("/ojs/v1/admin/workers/w1").json()

    assert datetime.fromisoformat(shown["last_heartbeat_at"])
    assert shown["last_heartbeat"] == shown["last_heartbeat_at"]


@spec("contract 24.5")
def test_steps_of_middleware_name_the_chain_as_their_phase(api: Client) -> None:
    shown = api.get("/ojs/v1/middleware").json()

    for phase in ("enqueue", "execution"):
        assert {step["phase"] for step in shown[phase]} == {phase}
    assert {"server", "extension"} <= {step["origin"] for step in shown["enqueue"]}


@spec("contract 24.6")
def test_a_batch_counts_what_was_enqueued(api: Client) -> None:
    body = {"jobs": [{"type": "tests.noop", "args": []}] * 3}

    shown = _send(api, "POST", "jobs/batch", body).json()

    assert (shown["count"], shown["enqueued"], shown["failed"]) == (3, 3, 0)


@spec("contract 12.3")
def test_events_without_a_job_tell_its_type(api: Client) -> None:
    rules = {"rules": [{"version": "1.0", "weight": 1}]}
    assert _send(api, "PUT", "admin/routing/mail.send", rules).status_code == 201

    (event,) = api.get("/ojs/v1/events?types=versioning.*").json()["events"]

    assert event["type"] == "versioning.routing_changed"
    assert event["data"]["type"] == event["data"]["job_type"] == "mail.send"


@spec("contract 25.3")
def test_a_queue_can_be_followed_before_its_first_job(api: Client) -> None:
    answer = api.get("/ojs/v1/events/stream?channel=queue%3Anot-yet")

    # the server accepts the channel first, then refuses: this client cannot stream
    assert answer.json()["error"]["code"] == "realtime_unavailable"


@spec("contract 25.3")
def test_a_channel_names_a_queue_by_its_rules(api: Client) -> None:
    answer = api.get("/ojs/v1/events/stream?channel=queue:NO%20QUEUE")

    assert answer.status_code == 400
    assert answer.json()["error"]["details"]["field"] == "channel"


@pytest.mark.parametrize("verb", ["ack", "nack"])
@spec("contract 3.4")
def test_a_job_can_be_answered_by_its_own_path(api: Client, verb: str) -> None:
    job = JobFactory.create(state=State.ACTIVE)
    body = {"result": 7} if verb == "ack" else {"error": {"code": "handler_error", "message": "x"}}

    answer = _send(api, "POST", f"jobs/{job.id}/{verb}", body)

    assert answer.status_code == 200
    state = "completed" if verb == "ack" else "retryable"
    assert answer.json()["state"] == answer.json()["job"]["state"] == state


@pytest.mark.parametrize("verb", ["ack", "nack"])
@spec("contract 3.4")
def test_a_path_that_names_another_job_than_its_body_is_refused(api: Client, verb: str) -> None:
    job, other = JobFactory.create_batch(2, state=State.ACTIVE)
    body = {"job_id": str(other.id), "error": {"code": "x"}}

    answer = _send(api, "POST", f"jobs/{job.id}/{verb}", body)

    assert answer.status_code == 400
    assert answer.json()["error"]["details"]["field"] == "job_id"


@spec("contract 3.4")
def test_an_answer_about_an_unknown_job_is_404(api: Client) -> None:
    assert _send(api, "POST", "jobs/none/ack", {}).status_code == 404


SDK = {"User-Agent": "python-httpx/0.28.1", "Accept": OJS}


@pytest.mark.parametrize("agents", [["python-httpx/"], ["curl/", "python-httpx"], ["*"]])
def test_d15_clients_of_these_names_get_the_type_that_they_understand(
    api: Client, settings: Any, agents: list[str]
) -> None:
    settings.OJS = {**settings.OJS, "JSON_USER_AGENTS": agents}

    for path in ("/ojs/manifest", "/ojs/v1/queues", "/ojs/v1/jobs/none"):
        answer = api.get(path, headers=SDK)
        assert answer.headers["Content-Type"] == "application/json"
        assert answer.headers["Vary"] == "Accept, User-Agent"


@pytest.mark.parametrize("agents", [[], ["curl/"], ["httpx"]])
def test_d15_all_others_get_the_type_of_the_contract(
    api: Client, settings: Any, agents: list[str]
) -> None:
    settings.OJS = {**settings.OJS, "JSON_USER_AGENTS": agents}

    assert api.get("/ojs/v1/queues", headers=SDK).headers["Content-Type"] == OJS
    assert api.get("/ojs/v1/queues").headers["Content-Type"] == OJS
