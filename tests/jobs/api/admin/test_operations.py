"""Operations, their undo and their preview by the admin API."""

from collections.abc import Mapping
from typing import Any

from django.test import Client

from jobs.api.wire.media import JSON_TYPE
from jobs.domain.states import State
from jobs.models import Audit
from tests.asserts import assert_state, assert_store_is_sound
from tests.factories import JobFactory, stored_ids

BASE = "/ojs/v1/admin"


def post(api: Client, path: str, body: Mapping[str, Any]) -> Any:
    return api.post(f"{BASE}/{path}", body, content_type=JSON_TYPE)


def test_a_bulk_cancel_names_its_operation_which_can_be_undone(api: Client) -> None:
    ids = stored_ids(3, queue="mail")
    answer = post(api, "jobs/bulk/cancel", {"filter": {"queue": "mail"}, "confirm": True})
    number = answer["X-OJS-Operation"]
    [listed] = api.get(f"{BASE}/operations").json()["operations"]
    assert (listed["id"], listed["jobs"], listed["state"]) == (int(number), 3, "done")
    post(api, f"jobs/{ids[0]}/retry", {})

    undone = post(api, f"operations/{number}/undo", {"confirm": True, "reason": "a mistake"})

    assert undone.status_code == 200
    found = undone.json()
    assert (found["operation"]["restored"], found["operation"]["not_restored"]) == (2, 1)
    assert found["not_restored"] == [
        {"job_id": ids[0], "code": "changed", "reason": "it was changed again since"}
    ]
    assert api.get(f"{BASE}/operations/{number}").json() == found
    entry = Audit.objects.get(action="operation.undo_started")
    assert (entry.reason, entry.target) == ("a mistake", f"operation {number}")
    assert_state(State.AVAILABLE, *ids)
    assert_store_is_sound()


def test_an_undo_needs_a_confirmation_and_works_once(api: Client) -> None:
    job_id = JobFactory.create().id
    answer = post(api, f"jobs/{job_id}/cancel", {})
    path = f"operations/{answer['X-OJS-Operation']}/undo"

    assert post(api, path, {}).status_code == 400
    assert post(api, path, {"confirm": True}).status_code == 200
    assert post(api, path, {"confirm": True}).status_code == 409
    assert post(api, "operations/999999/undo", {"confirm": True}).status_code == 404


def test_a_purge_of_a_queue_is_undone(api: Client) -> None:
    ids = stored_ids(2, queue="mail")
    answer = api.delete(f"{BASE}/queues/mail/jobs", {"confirm": True}, content_type=JSON_TYPE)
    assert answer.json()["purged_count"] == 2

    post(api, f"operations/{answer['X-OJS-Operation']}/undo", {"confirm": True})

    assert_state(State.AVAILABLE, *ids)


def test_the_deletion_of_a_queue_is_undone_with_its_configuration(api: Client) -> None:
    ids = stored_ids(2, queue="mail")
    api.put("/ojs/v1/queues/mail/config", {"concurrency": 3}, content_type=JSON_TYPE)
    answer = api.delete(
        "/ojs/v1/queues/mail", {"strategy": "discard", "confirm": True}, content_type=JSON_TYPE
    )

    post(api, f"operations/{answer['X-OJS-Operation']}/undo", {"confirm": True})

    assert_state(State.AVAILABLE, *ids)
    assert api.get("/ojs/v1/queues/mail/config").json()["config"]["concurrency"] == 3
    assert_store_is_sound()


def test_a_preview_counts_what_an_operation_would_change(api: Client) -> None:
    stored_ids(7, queue="mail")
    JobFactory.create(state=State.SCHEDULED, queue="mail")
    body = {"action": "cancel", "filter": {"queue": "mail"}}

    seen = post(api, "jobs/bulk/preview", body).json()

    assert seen["matched"] == 8
    assert seen["by_state"] == {"available": 7, "scheduled": 1}
    assert seen["by_tenant"] == {"_default": 8}
    assert seen["oldest_at"] <= seen["newest_at"]
    assert len(seen["examples"]) == 5
    assert api.get(f"{BASE}/operations").json()["total"] == 0


def test_an_operation_is_refused_if_the_number_of_its_preview_is_outdated(api: Client) -> None:
    ids = stored_ids(2, queue="mail")
    body = {"filter": {"queue": "mail"}, "confirm": True, "expected": 1}

    refused = post(api, "jobs/bulk/cancel", body)

    assert refused.status_code == 409
    assert refused.json()["error"]["details"] == {
        "field": "expected", "matched": 2, "expected": 1,
    }  # fmt: skip
    assert_state(State.AVAILABLE, *ids)
    assert post(api, "jobs/bulk/cancel", {**body, "expected": 2}).status_code == 200
    assert post(api, "jobs/bulk/cancel", {**body, "expected": "2"}).status_code == 400


def test_a_preview_of_ids_leaves_out_unknown_and_malformed_ones(api: Client) -> None:
    job_id = JobFactory.create().id
    ended = JobFactory.create(state=State.COMPLETED, queue="ended").id

    seen = post(
        api, "jobs/bulk/preview", {"action": "cancel", "job_ids": [job_id, ended, "", "x"]}
    ).json()

    assert (seen["matched"], [one["id"] for one in seen["examples"]]) == (1, [job_id])
