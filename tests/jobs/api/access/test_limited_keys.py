"""Keys limited to queues or job types cannot change other queues or types. Spec: contract 31.2."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from jobs.api.wire.media import OJS_TYPE
from jobs.domain.states import State
from jobs.models import Job, Lease, Queue, Worker
from jobs.services.workers.heartbeat import Report, heartbeat
from scheduling.models import CronEntry
from tests.asserts import assert_state
from tests.factories import JobFactory

Send = Callable[..., Any]
V1 = "/ojs/v1"
CRON = {"name": "nightly", "expression": "0 3 * * *", "type": "report", "queue": "other"}


@pytest.fixture
def send(api: Client, new_key: Callable[..., dict[str, str]]) -> Send:
    """Return a function that sends a request with an admin key limited to queue `mine`."""
    globs = {"queues_enqueue": ("mine",), "queues_fetch": ("mine",)}
    limited = new_key("admin", **globs)

    def ask(method: str, path: str, body: Any = None, headers: Any = None) -> Any:
        given = {} if body is None else {"data": body}
        return api.generic(method, f"{V1}{path}", **_encoded(given), headers=headers or limited)

    return ask


def _encoded(given: dict[str, Any]) -> dict[str, Any]:

    body = json.dumps(given.get("data", {}))
    return {"data": body, "content_type": OJS_TYPE}


@pytest.fixture
def held(store: None) -> str:
    """Return an active job of another queue, held by a worker of that queue."""
    heartbeat(Report("w-other", queues=("other",)))
    job = JobFactory.create(state=State.ACTIVE, queue="other", worker_id="w-other")
    return str(job.id)


def assert_denied(answer: Any, queue: str | None = "other") -> None:
    assert answer.status_code == 403, answer.content[:300]
    problem = answer.json()["error"]
    assert problem["code"] == "permission_denied"
    assert problem["details"].get("queue") == queue


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/workers/ack", {}),
        ("/workers/nack", {"error": {"code": "x"}}),
        ("/workers/nack", {"requeue": True}),
        ("/workers/progress", {"percentage": 50}),
    ],
)
def test_a_worker_answers_for_no_job_of_another_queue(
    send: Send, held: str, path: str, body: dict[str, Any]
) -> None:
    assert_denied(send("POST", path, {"job_id": held, **body}))
    assert_state(State.ACTIVE, held)


def test_a_batch_answers_for_the_jobs_of_the_own_queue_alone(send: Send, held: str) -> None:
    own = JobFactory.create(state=State.ACTIVE, queue="mine").id

    acked = send("POST", "/workers/ack/batch", {"acks": [{"job_id": own}, {"job_id": held}]})
    nacks = [{"job_id": held, "requeue": True, "error": {"code": "x"}}]
    nacked = send("POST", "/workers/nack/batch", {"nacks": nacks})

    assert [one["status"] for one in acked.json()["results"]] == [200, 403]
    assert [one["status"] for one in nacked.json()["results"]] == [403]
    assert_state(State.ACTIVE, held)
    assert_state(State.COMPLETED, own)


def test_a_heartbeat_extends_no_lease_of_another_queue(send: Send, held: str) -> None:
    Lease.objects.update(worker_id=None)
    before = Lease.objects.get().lease_until

    answer = send("POST", "/workers/heartbeat", {"worker_id": "w-mine", "active_jobs": [held]})

    assert answer.status_code == 200
    assert Lease.objects.get().lease_until == before


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/workers/heartbeat", {"worker_id": "w-other", "state": "terminate"}),
        ("POST", "/workers/register", {"worker_id": "w-other"}),
        ("POST", "/workers/fetch", {"worker_id": "w-other", "queues": ["mine"]}),
        ("DELETE", "/workers/w-other", None),
        ("POST", "/admin/workers/w-other/quiet", {}),
        ("POST", "/admin/workers/w-other/terminate", {}),
        ("DELETE", "/admin/workers/w-other?force=true", None),
    ],
)
def test_a_worker_of_another_queue_is_not_touched(
    send: Send, held: str, method: str, path: str, body: Any
) -> None:
    before = Worker.objects.values().get()

    assert_denied(send(method, path, body))

    assert Worker.objects.values().get() == before
    assert_state(State.ACTIVE, held)


def test_all_workers_are_not_directed_by_a_limited_key(send: Send, held: str) -> None:
    assert_denied(send("POST", "/admin/workers/directive", {"directive": "quiet"}), None)
    assert Worker.objects.get().directive == 0


def test_workers_of_the_own_queue_are_directed_and_removed(send: Send) -> None:
    assert (
        send("POST", "/workers/register", {"worker_id": "w", "queues": ["mine"]}).status_code == 200
    )
    assert send("POST", "/admin/workers/w/quiet", {}).status_code == 200
    assert send("DELETE", "/workers/w").status_code == 204


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("DELETE", "/jobs/{id}", None),
        ("PATCH", "/jobs/{id}", {"priority": 3}),
        ("PATCH", "/admin/jobs/{id}", {"priority": 3}),
        ("POST", "/admin/jobs/{id}/cancel", {}),
        ("POST", "/jobs/bulk/cancel", {"job_ids": ["{id}"]}),
        ("POST", "/jobs/bulk/cancel", {"filter": {"queue": "other"}}),
        ("POST", "/admin/jobs/bulk/cancel", {"job_ids": ["{id}"], "confirm": True}),
    ],
)
def test_a_waiting_job_of_another_queue_is_not_touched(
    send: Send, method: str, path: str, body: Any
) -> None:
    job = JobFactory.create(queue="other")
    named = body and {key: [job.id] if value == ["{id}"] else value for key, value in body.items()}

    assert_denied(send(method, path.format(id=job.id), named))

    assert_state(State.AVAILABLE, job.id)
    assert Job.objects.get().priority == 0


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/dead-letter/{id}/retry", {}),
        ("DELETE", "/dead-letter/{id}", None),
        ("POST", "/admin/dead-letter/{id}/retry", {}),
        ("DELETE", "/admin/dead-letter/{id}", None),
        ("POST", "/admin/jobs/{id}/retry", {}),
        ("DELETE", "/admin/jobs/{id}", None),
        ("POST", "/jobs/bulk/delete", {"job_ids": ["{id}"]}),
        ("POST", "/jobs/bulk/retry", {"filter": {"queue": "other"}}),
    ],
)
def test_a_dead_job_of_another_queue_is_not_touched(
    send: Send, method: str, path: str, body: Any
) -> None:
    job = JobFactory.create(queue="other", state=State.DISCARDED)
    named = body and {key: [job.id] if value == ["{id}"] else value for key, value in body.items()}

    assert_denied(send(method, path.format(id=job.id), named))

    assert_state(State.DISCARDED, job.id)


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/jobs/bulk/cancel", {"filter": {}}),
        ("POST", "/dead-letter/retry", {"confirm": True}),
        ("POST", "/dead-letter/purge", {}),
        ("DELETE", "/dead-letter", {"confirm": True}),
    ],
)
def test_a_filter_without_a_queue_is_not_for_a_limited_key(
    send: Send, method: str, path: str, body: Any
) -> None:
    assert_denied(send(method, path, body), None)


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/queues/other/pause", {}),
        ("POST", "/queues/other/resume", {}),
        ("POST", "/admin/queues/other/pause", {}),
        ("POST", "/queues/other/purge", {}),
        ("DELETE", "/admin/queues/other/jobs", {"confirm": True}),
        ("DELETE", "/queues/other", {"strategy": "discard"}),
        ("PUT", "/queues/other/config", {"concurrency": 1}),
        ("PUT", "/admin/queues/other/config", {"concurrency": 1}),
        ("PUT", "/admin/queues/other/rate-limit", {"concurrency": 1}),
        ("POST", "/queues", {"name": "other-new"}),
    ],
)
def test_another_queue_is_not_touched(send: Send, method: str, path: str, body: Any) -> None:
    job = JobFactory.create(queue="other")
    before = list(Queue.objects.values())

    assert_denied(send(method, path, body), "other-new" if path == "/queues" else "other")

    assert list(Queue.objects.values()) == before
    assert_state(State.AVAILABLE, job.id)


@pytest.mark.parametrize("facts", [{"queues_enqueue": ("mine",)}, {"job_types": ("mine.*",)}])
@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("DELETE", "", None),
        ("POST", "/pause", {}),
        ("POST", "/resume", {}),
        ("POST", "/trigger", {}),
        ("PATCH", "", {"enabled": False}),
        ("PATCH", "", {"type": "mine.x", "queue": "mine"}),
    ],
)
def test_a_schedule_of_other_jobs_is_not_touched(
    send: Send,
    new_key: Callable[..., dict[str, str]],
    facts: dict[str, Any],
    method: str,
    path: str,
    body: Any,
) -> None:
    assert send("POST", "/cron", CRON, headers=new_key("admin")).status_code == 201
    before = CronEntry.objects.values().get()

    for root in ("/cron", "/crons"):
        answer = send(method, f"{root}/nightly{path}", body, headers=new_key("admin", **facts))
        assert answer.status_code == 403, answer.content[:300]
    replaced = {**CRON, "queue": "mine", "type": "mine.x"}
    assert send("POST", "/cron", replaced, headers=new_key("admin", **facts)).status_code == 403

    assert CronEntry.objects.values().get() == before
    assert not Job.objects.exists()


# --- job types ------------------------------------------------------------------------------------


@pytest.fixture
def typed(api: Client, new_key: Callable[..., dict[str, str]]) -> Send:
    """Return a function that sends a request with an admin key limited to types `mine.*`."""
    limited = new_key("admin", job_types=("mine.*",))

    def ask(method: str, path: str, body: Any = None) -> Any:
        given = {} if body is None else {"data": body}
        return api.generic(method, f"{V1}{path}", **_encoded(given), headers=limited)

    return ask


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/workers/ack", {}), ("/workers/nack", {"requeue": True}),
        ("/workers/progress", {"percentage": 50}),
    ],
)  # fmt: skip
def test_a_worker_answers_for_no_job_of_another_type(
    typed: Send, store: None, path: str, body: dict[str, Any]
) -> None:
    job = JobFactory.create(state=State.ACTIVE, queue="q", type="theirs.one")

    assert_denied(typed("POST", path, {"job_id": job.id, **body}), "q")
    assert_state(State.ACTIVE, job.id)


@pytest.mark.parametrize(
    ("method", "path"),
    [("DELETE", "/jobs/{}"), ("PATCH", "/jobs/{}"), ("POST", "/admin/jobs/{}/cancel")],
)
def test_a_job_of_another_type_is_not_changed(
    typed: Send, store: None, method: str, path: str
) -> None:
    job = JobFactory.create(queue="q", type="theirs.one")

    assert_denied(typed(method, path.format(job.id), {"priority": 5}), "q")
    assert_state(State.AVAILABLE, job.id)


@pytest.mark.parametrize("kind", [None, "theirs.one", "*"])
def test_a_filter_names_a_type_of_the_key(typed: Send, store: None, kind: str | None) -> None:
    job = JobFactory.create(queue="q", type="theirs.one")
    wanted = {"queue": "q"} | ({"type": kind} if kind else {})

    answer = typed("POST", "/jobs/bulk/cancel", {"filter": wanted})

    assert_denied(answer, "q")
    assert_state(State.AVAILABLE, job.id)


def test_a_fetch_wants_the_types_of_the_key_alone(typed: Send, store: None) -> None:
    JobFactory.create(queue="q", type="theirs.one", version="1.0")
    mine = JobFactory.create(queue="q", type="mine.one", version="1.0")
    own = [{"type": "mine.one", "versions": "*"}]
    other = [{"type": "theirs.one", "versions": "*"}]
    plain = {"queues": ["q"], "count": 5}

    for body in (
        plain, {**plain, "handlers": own}, {**plain, "handlers_exclusive": True},
        {**plain, "handlers": other, "handlers_exclusive": True},
    ):  # fmt: skip
        assert_denied(typed("POST", "/workers/fetch", body), None)
    fetched = typed(
        "POST", "/workers/fetch", {**plain, "handlers": own, "handlers_exclusive": True}
    )

    assert [job["id"] for job in fetched.json()["jobs"]] == [mine.id]


@pytest.mark.parametrize("globs", [{"job_types": ("mine.*",)}, {"queues_enqueue": ("mine",)}])
def test_a_workflow_with_a_job_of_others_is_not_cancelled(
    api: Client, new_key: Callable[..., dict[str, str]], store: None, globs: dict[str, Any]
) -> None:
    steps = [
        {"type": "mine.one", "args": [], "options": {"queue": "mine"}},
        {"type": "theirs.one", "args": [], "options": {"queue": "theirs"}},
    ]
    made = api.generic(
        "POST", f"{V1}/workflows", **_encoded({"data": {"type": "chain", "steps": steps}}),
        headers=new_key("admin"),
    ).json()["workflow"]["id"]  # fmt: skip

    answer = api.generic("DELETE", f"{V1}/workflows/{made}", headers=new_key("operator", **globs))

    assert_denied(answer, "theirs")
