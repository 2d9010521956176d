"""DELETE of a queue, and the fate of its jobs. Spec: contract 10.4."""

from typing import Any

import pytest
from django.test import Client

from jobs.domain.access.caller import SYSTEM
from jobs.domain.dispatch.claim import FetchRequest
from jobs.domain.states import State
from jobs.models import Audit, Job
from jobs.services.dispatch.fetch import fetch
from jobs.services.lanes.queue_config import configure, create
from tests.asserts import assert_state
from tests.factories import stored, stored_ids
from tests.jobs.api.refusals import assert_refused
from tests.spec import spec

pytestmark = pytest.mark.usefixtures("store")

OLD = "/ojs/v1/queues/old"


def delete(api: Client, query: str = "", **body: Any) -> Any:
    """Delete the queue `old`."""
    if not body:
        return api.delete(OLD + query)
    return api.delete(OLD, body, content_type="application/json")


@pytest.mark.parametrize("by", ["query", "body"])
@spec("contract 10.4")
def test_jobs_are_moved_to_the_target(api: Client, by: str) -> None:
    create("new", {}, SYSTEM)
    ids = stored_ids(3, queue="old")

    answer = (
        delete(api, "?strategy=move&target_queue=new")
        if by == "query"
        else delete(api, strategy="move", target_queue="new")
    )

    assert answer.status_code == 200
    assert answer.json() == {
        "name": "old", "queue": "old", "deleted": True, "state": "deleted", "jobs_affected": 3,
    }  # fmt: skip
    assert api.get(OLD).status_code == 404
    assert_state(State.AVAILABLE, *ids)
    assert set(Job.objects.values_list("queue", flat=True)) == {"new"}
    entry = Audit.objects.get(action="queue.deleted")
    assert entry.data == {"strategy": "move", "jobs_affected": 3, "target_queue": "new"}


@spec("contract 10.4")
def test_a_queue_with_active_jobs_drains_into_the_target(api: Client) -> None:
    create("new", {}, SYSTEM)
    stored(2, queue="old")
    fetch(FetchRequest(("old",)))

    answer = delete(api, strategy="move", target_queue="new")

    assert answer.status_code == 202
    assert (answer.json()["state"], answer.json()["jobs_affected"]) == ("draining", 1)
    refused = api.post(
        "/ojs/v1/jobs",
        {"type": "a", "args": [], "options": {"queue": "old"}},
        content_type="application/json",
    )
    assert assert_refused(refused, 422)["code"] == "queue_paused"
    assert_refused(api.delete("/ojs/v1/queues/new?strategy=discard"), 409)


@pytest.mark.parametrize(
    ("body", "status", "field"),
    [
        ({"strategy": "move"}, 400, "target_queue"),
        ({"strategy": "move", "target_queue": "old"}, 400, "target_queue"),
        ({"strategy": "move", "target_queue": "_default"}, 400, "target_queue"),
        ({"strategy": "move", "target_queue": 5}, 400, "target_queue"),
        ({"strategy": "move", "target_queue": "unknown"}, 404, None),
        ({"strategy": "burn"}, 400, "strategy"),
    ],
)
@spec("contract 10.4")
def test_what_cannot_be_is_refused_by_name(
    api: Client, body: dict[str, Any], status: int, field: str | None
) -> None:
    ids = stored_ids(1, queue="old")

    problem = assert_refused(delete(api, **body), status)

    if field is not None:
        assert problem["details"]["field"] == field
    assert_state(State.AVAILABLE, *ids)
    stored(1, queue="old")


@spec("contract 24.2")
def test_the_admin_sees_how_much_of_a_bound_is_used(api: Client) -> None:
    def shown() -> dict[str, Any]:
        detail = api.get("/ojs/v1/admin/queues/old").json()
        found: dict[str, Any] = detail["configuration"]["backpressure"]
        return found

    configure("old", {"backpressure": {"max_depth": 5, "strategy": "block"}})
    stored(3, queue="old")
    assert shown() == {
        "enabled": True, "strategy": "block", "threshold": 0.8, "max_depth": 5,
        "current_depth": 3, "state": "normal",
    }  # fmt: skip

    stored(1, queue="old")
    assert shown()["state"] == "warning"
    stored(1, queue="old")
    assert (shown()["state"], shown()["current_depth"]) == ("critical", 5)

    size = sum(Job.objects.values_list("bytes", flat=True))
    change = {"max_depth": None, "max_size_bytes": size * 2}
    configure("old", {"backpressure": change})
    assert (shown()["current_size_bytes"], shown()["state"]) == (size, "normal")
    api.put(  # clients may send back the members that they read
        "/ojs/v1/admin/queues/old/config", {"backpressure": shown()},
        content_type="application/json",
    )  # fmt: skip
    assert shown()["max_size_bytes"] == size * 2


@spec("contract 27.4")
def test_a_queue_that_is_full_in_bytes_says_so(api: Client) -> None:
    job = {"type": "a", "args": ["x" * 500], "options": {"queue": "old"}}
    api.put(
        "/ojs/v1/queues/old/config", {"backpressure": {"max_size_bytes": 1000}},
        content_type="application/json",
    )  # fmt: skip
    assert api.post("/ojs/v1/jobs", job, content_type="application/json").status_code == 201

    answer = api.post("/ojs/v1/jobs", job, content_type="application/json")

    problem = assert_refused(answer, 429)
    assert (problem["code"], problem["details"]["unit"]) == ("QUEUE_FULL", "bytes")
    assert answer["X-OJS-Queue-Bound"] == "1000"
    numbers = api.get("/ojs/v1/queues/old/stats").json()["stats"]
    assert numbers["max_size_bytes"] == 1000
    assert 500 < numbers["size_bytes"] <= 1000
