"""Job endpoints of the admin API. Spec: contract 24.1, 24.2; EXT-ADM-004."""

from typing import Any

import pytest
from django.test import Client

from jobs.api.wire.media import JSON_TYPE, OJS_TYPE
from jobs.domain.dispatch.claim import FetchRequest
from jobs.domain.states import State
from jobs.models import Audit, Job
from jobs.services.dispatch.fetch import fetch
from jobs.services.outcome.ack import Ack, ack
from jobs.services.outcome.dead_letter import retry
from jobs.services.outcome.progress import Progress, report
from tests.factories import JobFactory, stored_ids
from tests.spec import spec

BASE = "/ojs/v1/admin/jobs"


def call(api: Client, method: str, path: str = "", body: str | None = None) -> Any:
    return api.generic(method, BASE + path, body or b"", content_type=JSON_TYPE)


@spec("ADM-004")
def test_detail_is_flat_and_wrapped_with_metadata(api: Client) -> None:
    job = JobFactory.create(state=State.ACTIVE, meta={"user": 1}, worker_id="w1")
    report(job.id, Progress(0.5, "half", {"rows": 1}, checkpoint={"at": 7}))

    found = api.get(f"{BASE}/{job.id}").json()

    inner = found.pop("job")
    assert found == inner
    assert (found["id"], found["worker_id"], found["meta"]) == (job.id, "w1", {"user": 1})
    assert (found["errors"], found["error"], found["result"]) == ([], None, None)
    assert found["metadata"]["created_at"] == found["created_at"]
    assert found["metadata"]["completed_at"] is None
    assert found["retry_policy"]["max_attempts"] == found["max_attempts"]
    assert (found["progress"], found["progress_message"]) == (0.5, "half")
    assert found["progress_data"] == {"rows": 1}
    assert (found["checkpoint"]["sequence"], found["checkpoint"]["bytes"]) == (1, 8)


@spec("contract 28.2")
def test_replays_are_merged_into_meta_of_the_detail_alone(api: Client) -> None:
    job = JobFactory.create(state=State.DISCARDED, meta={"user": 1})
    retry(job.id)

    detail = api.get(f"{BASE}/{job.id}").json()
    plain = api.get(f"/ojs/v1/jobs/{job.id}").json()

    assert (detail["replay_count"], detail["meta"]["ojs.replay_count"]) == (1, 1)
    assert (detail["meta"]["user"], detail["meta"]["ojs.replay_rule"]) == (1, None)
    assert plain["meta"] == {"user": 1}


@spec("contract 24.1")
def test_list_has_items_and_jobs_and_pages(api: Client) -> None:
    ids = stored_ids(3)

    first = api.get(BASE, {"per_page": 2}).json()
    second = api.get(BASE, {"per_page": 2, "page": 2}).json()

    assert first["items"] == first["jobs"]
    assert first["pagination"] == {
        "total": 3, "page": 1, "per_page": 2, "limit": 2, "offset": 0, "has_more": True,
        "next_cursor": "b2ZmOjI",
    }  # fmt: skip
    assert [job["id"] for job in first["items"] + second["items"]] == ids[::-1]
    assert "args" not in first["items"][0]


@spec("contract 24.1")
def test_pages_are_clamped_and_exports_are_larger(api: Client) -> None:
    stored_ids(101)

    page = api.get(BASE, {"per_page": 5000}).json()
    export = api.get(BASE, {"limit": "10000", "exclude_terminal": "true"}).json()

    assert (len(page["items"]), page["pagination"]["per_page"]) == (100, 100)
    assert len(export["jobs"]) == 101
    assert export["jobs"][0]["args"] == []  # with args, a job can be enqueued again


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ({"state": "sleeping"}, "state"),
        ({"sort": "color"}, "sort"),
        ({"order": "up"}, "order"),
        ({"since": "yesterday"}, "since"),
        ({"since": "P999999999Y"}, "since"),
        ({"queue": "a\0"}, "queue"),
        ({"type": "a\0"}, "type"),
        ({"page": "0"}, "page"),
        ({"page": "9" * 30}, "page"),
        ({"offset": "50001"}, "offset"),
        ({"exclude_terminal": "maybe"}, "exclude_terminal"),
    ],
)
@spec("contract 24.1")
def test_list_refuses_what_it_does_not_know(api: Client, query: dict[str, str], name: str) -> None:
    answer = api.get(BASE, query)

    assert answer.status_code == 400
    assert answer.json()["error"]["details"]["field"] == name


@spec("contract 24.1")
def test_patch_moves_a_waiting_job(api: Client) -> None:
    first, second = stored_ids(2)

    answer = call(api, "PATCH", f"/{second}", '{"priority": 5}')

    assert (answer.status_code, answer.json()["priority"]) == (200, 5)
    assert [job.id for job in fetch(FetchRequest(("default",), count=2)).jobs] == [second, first]
    assert Audit.objects.get().action == "job.priority_changed"


@spec("contract 24.6")
def test_patch_works_on_the_core_route(api: Client) -> None:
    job_id = stored_ids(1)[0]

    answer = api.patch(f"/ojs/v1/jobs/{job_id}", '{"priority": "high"}', content_type=OJS_TYPE)

    assert answer.json()["job"]["priority"] == 10


@pytest.mark.parametrize("body", ["{}", '{"priority": 101}', '{"priority": null}'])
@spec("contract 24.1")
def test_patch_refuses_a_wrong_priority(api: Client, body: str) -> None:
    answer = call(api, "PATCH", f"/{stored_ids(1)[0]}", body)

    assert answer.status_code == 400
    assert answer.json()["error"]["details"]["field"] == "priority"


@pytest.mark.parametrize("state", [State.DISCARDED, State.CANCELLED])
@pytest.mark.parametrize("body", [None, "null", "{}", '{"override": {"priority": 3}}'])
@spec("contract 24.1")
def test_retry_revives(api: Client, state: State, body: str | None) -> None:
    job = JobFactory.create(state=state)

    answer = call(api, "POST", f"/{job.id}/retry", body)

    found = answer.json()
    assert answer.status_code == 200, found
    assert (found["state"], found["attempt"], found["replay_count"]) == ("available", 0, 1)
    assert found["priority"] == (3 if body and "override" in body else 0)


@pytest.mark.parametrize("state", sorted(set(State) - {State.DISCARDED, State.CANCELLED}))
@spec("contract 24.1")
def test_retry_of_others_is_a_conflict(api: Client, state: State) -> None:
    job = JobFactory.create(state=state)

    answer = call(api, "POST", f"/{job.id}/retry")

    assert answer.status_code == 409
    assert answer.json()["error"]["details"]["current_state"] == state.value


@spec("contract 24.1")
def test_cancel_answers_flat_and_keeps_the_reason(api: Client) -> None:
    job = JobFactory.create()

    found = call(api, "POST", f"/{job.id}/cancel", '{"reason": "not needed"}').json()

    assert found["state"] == "cancelled"
    assert Audit.objects.get().reason == "not needed"


@pytest.mark.parametrize("state", [State.COMPLETED, State.CANCELLED, State.DISCARDED])
@spec("contract 24.1")
def test_delete_removes_an_ended_job(api: Client, state: State) -> None:
    job = JobFactory.create(state=state)

    answer = call(api, "DELETE", f"/{job.id}")

    assert (answer.status_code, answer.content) == (204, b"")
    assert not Job.objects.exists()
    assert api.get(f"{BASE}/{job.id}").status_code == 404


@spec("contract 24.1")
def test_delete_of_a_live_job_is_a_conflict(api: Client) -> None:
    assert call(api, "DELETE", f"/{stored_ids(1)[0]}").status_code == 409


@spec("contract 24.1")
def test_trace_tells_the_way_of_a_job(api: Client) -> None:
    job = JobFactory.create(state=State.RETRYABLE)

    found = api.get(f"{BASE}/{job.id}/trace").json()

    assert [one["phase"] for one in found["snapshots"]] == [
        "enqueued", "started", "failed", "retrying",
    ]  # fmt: skip
    assert found["snapshots"][2]["error"] == "it broke"
    assert all(one["duration"].endswith("s") for one in found["snapshots"])


# --- core routes that the command line client reads -----------------------------------------------


@spec("contract 24.6")
def test_jobs_are_listed_with_a_total(api: Client) -> None:
    stored_ids(2, queue="a")
    stored_ids(1, queue="b", type="other")

    found = api.get("/ojs/v1/jobs", {"queue": "a", "limit": "1", "state": "available"}).json()

    assert (len(found["jobs"]), found["total"]) == (1, 2)
    assert api.get("/ojs/v1/jobs", {"type": "oth*"}).json()["total"] == 1


@spec("contract 24.6")
def test_result_is_shown_when_there_is_one(api: Client) -> None:
    job = JobFactory.create(state=State.ACTIVE)
    before = api.get(f"/ojs/v1/jobs/{job.id}/result").json()
    ack([Ack(job.id, b'{"rows":3}')])

    after = api.get(f"/ojs/v1/jobs/{job.id}/result", {"wait": "true", "timeout": "30"}).json()

    assert (before["state"], before["result"], before["completed_at"]) == ("active", None, None)
    assert (after["state"], after["result"]) == ("completed", {"rows": 3})
    assert after["completed_at"]


@spec("contract 24.6")
def test_retries_tell_every_failed_attempt(api: Client) -> None:
    job = JobFactory.create(state=State.RETRYABLE)

    found = api.get(f"/ojs/v1/jobs/{job.id}/retries").json()

    (only,) = found["retries"]
    assert (only["attempt"], only["state"], only["error"]) == (1, "retryable", "it broke")
    assert only["started_at"] <= only["failed_at"] < only["next_retry_at"]
    assert {"max_attempts", "initial_interval", "backoff_strategy"} <= found["policy"].keys()


@spec("contract 24.6")
def test_single_jobs_are_answered_flat_and_wrapped(api: Client) -> None:
    body = {"type": "a", "args": [1], "job": "mine"}

    created = api.post("/ojs/v1/jobs", body, content_type=OJS_TYPE).json()
    cancelled = api.delete(f"/ojs/v1/jobs/{created['id']}").json()

    for found in (created, cancelled):
        inner = found.pop("job")
        assert found == {name: value for name, value in inner.items() if name != "job"}


@pytest.mark.parametrize(
    "path", ["health", "queues", "dead-letter", "workers", "dead-letter?limit=1", "jobs"]
)
@spec("contract 24.6")
def test_doctor_asks_without_the_prefix(api: Client, path: str) -> None:
    assert api.get(f"/v1/{path}").status_code == 200


@spec("contract 24.6")
def test_short_paths_can_be_switched_off(
    api: Client, settings: Any, request: pytest.FixtureRequest
) -> None:
    settings.OJS = {**settings.OJS, "SHORT_PATHS": False}

    assert api.get("/v1/health").status_code == 404


@spec("contract 24.6")
def test_unknown_short_path_is_refused_in_the_ojs_shape(api: Client) -> None:
    answer = api.get("/v1/nothing")

    assert answer.status_code == 404
    assert answer.json()["error"]["code"] == "not_found"
