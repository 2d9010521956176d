"""Keys bound to queues, types or a tenant. Spec: contract 31.2."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from jobs.api.wire.media import OJS_TYPE
from jobs.domain.states import State
from jobs.models import Event, Job, Lease, Ready
from jobs.services.access import api_keys
from tests.factories import JobFactory
from tests.jobs.api.refusals import BODIES, OPERATIONS, url

Keys = Callable[..., dict[str, str]]

GLOBAL = {
    "getMetrics", "getMetricsSummary", "directWorker", "reset", "pauseQueue", "resumeQueue",
    "directWorkers", "adminPauseQueue", "adminResumeQueue", "adminListWorkers", "listWorkers",
    "adminGetWorker", "adminDeleteWorker", "getReplayRules", "setReplayRules", "getMaintenance",
    "getMaintenanceShort", "setMaintenance", "setMaintenanceShort", "getConfiguration",
    "getConfigurationShort", "listAudit", "getObservabilityHealth",
}  # fmt: skip


def _push(api: Client, headers: dict[str, str], *jobs: tuple[str, str]) -> Any:
    drafts = [{"type": kind, "args": [], "options": {"queue": queue}} for queue, kind in jobs]
    path, body = ("jobs", drafts[0]) if len(drafts) == 1 else ("jobs/batch", {"jobs": drafts})
    return api.post(f"/ojs/v1/{path}", body, content_type=OJS_TYPE, headers=headers)


@pytest.mark.parametrize(
    ("queue", "kind", "status"),
    [
        ("mail", "mail.send", 201),
        ("mail.bulk", "mail.send", 201),
        ("mailing", "mail.send", 403),
        ("default", "mail.send", 403),
        ("mail", "mail", 403),
        ("mail", "invoice.render", 403),
    ],
)
def test_key_bound_to_queues_and_types_enqueues_those(
    api: Client, new_key: Keys, queue: str, kind: str, status: int
) -> None:
    headers = new_key("producer", queues_enqueue=("mail", "mail.*"), job_types=("mail.*",))

    answer = _push(api, headers, (queue, kind))

    assert answer.status_code == status
    assert Job.objects.count() == (status == 201)
    if status == 403:
        assert answer.json()["error"]["details"]["queue"] == queue
        assert answer.json()["error"]["details"]["operation"].startswith("enqueue")


def test_batch_with_one_job_for_another_queue_stores_none(api: Client, new_key: Keys) -> None:
    headers = new_key("producer", queues_enqueue=("mail",))

    answer = _push(api, headers, ("mail", "mail.send"), ("other", "mail.send"))

    assert answer.status_code == 403
    assert not Job.objects.exists()


def test_job_without_a_queue_needs_the_default_one(api: Client, new_key: Keys) -> None:
    body = {"type": "mail.send", "args": []}
    for bound, status in (("mail", 403), ("default", 201)):
        headers = new_key("producer", queues_enqueue=(bound,))
        answer = api.post("/ojs/v1/jobs", body, content_type=OJS_TYPE, headers=headers)
        assert answer.status_code == status


@pytest.mark.parametrize(
    ("queues", "status"), [(["mail"], 200), (["mail.a", "mail"], 200), (["mail", "other"], 403)]
)
def test_key_bound_to_queues_fetches_those(
    api: Client, new_key: Keys, queues: list[str], status: int
) -> None:
    for queue in ("mail", "other"):
        JobFactory.create(queue=queue)
    headers = new_key("worker", queues_fetch=("mail*",))

    answer = api.post(
        "/ojs/v1/workers/fetch", {"queues": queues, "count": 5}, content_type=OJS_TYPE,
        headers=headers,
    )  # fmt: skip

    assert answer.status_code == status
    assert Ready.objects.count() == (1 if status == 200 else 2)
    if status == 403:
        assert answer.json()["error"]["details"]["queue"] == "other"


def test_manual_retry_into_another_queue_needs_its_right(api: Client, new_key: Keys) -> None:
    job = JobFactory.create(state=State.DISCARDED, queue="mail")
    headers = new_key("operator", queues_enqueue=("mail",))

    def retry(queue: str) -> int:
        answer = api.post(
            f"/ojs/v1/dead-letter/{job.id}/retry", {"override": {"queue": queue}},
            content_type=OJS_TYPE, headers=headers,
        )  # fmt: skip
        return int(answer.status_code)

    assert (retry("other"), retry("mail")) == (403, 200)


@pytest.fixture
def north(new_key: Keys) -> dict[str, str]:
    """Return headers of a key that has all rights in one tenant."""
    return new_key("admin", tenant="north")


def _job_of_another_tenant(state: State = State.AVAILABLE) -> str:
    return str(JobFactory.create(state=state, queue="shared").id)


@pytest.mark.parametrize(
    ("method", "path", "state"),
    [
        ("GET", "/ojs/v1/jobs/{}", State.AVAILABLE),
        ("DELETE", "/ojs/v1/jobs/{}", State.AVAILABLE),
        ("POST", "/ojs/v1/jobs/{}/activate", State.PENDING),
        ("GET", "/ojs/v1/jobs/{}/progress", State.ACTIVE),
        ("PUT", "/ojs/v1/jobs/{}/progress", State.ACTIVE),
        ("POST", "/ojs/v1/dead-letter/{}/retry", State.DISCARDED),
        ("DELETE", "/ojs/v1/dead-letter/{}", State.DISCARDED),
        ("POST", "/ojs/v1/workers/ack", State.ACTIVE),
        ("POST", "/ojs/v1/workers/nack", State.ACTIVE),
        ("POST", "/ojs/v1/workers/progress", State.ACTIVE),
    ],
)
def test_job_of_another_tenant_does_not_exist(
    api: Client, north: dict[str, str], method: str, path: str, state: State
) -> None:
    job_id = _job_of_another_tenant(state)
    before = api.get(f"/ojs/v1/jobs/{job_id}", headers=_all(api)).content
    body = {"job_id": job_id, "progress": 0.5, "percentage": 5, "error": {"code": "x"}}
    if "job_id" not in path and "{}" in path and method != "PUT":
        body = {}

    answer = api.generic(
        method, path.format(job_id), json.dumps(body), content_type=OJS_TYPE, headers=north
    )

    assert answer.status_code == 404
    assert answer.json()["error"]["details"] == {"resource_type": "job", "resource_id": job_id}
    assert api.get(f"/ojs/v1/jobs/{job_id}", headers=_all(api)).content == before


def _all(_api: Client) -> dict[str, str]:
    _, text = api_keys.create(api_keys.NewKey("all", ("admin",)))
    return {"Authorization": f"Bearer {text}"}


@pytest.mark.parametrize("verb", ["ack", "nack"])
def test_batch_of_answers_leaves_jobs_of_another_tenant_alone(
    api: Client, north: dict[str, str], verb: str
) -> None:
    theirs = _job_of_another_tenant(State.ACTIVE)
    _push(api, north, ("mine", "mail.send"))
    mine = api.post(
        "/ojs/v1/workers/fetch", {"queues": ["mine"]}, content_type=OJS_TYPE, headers=north
    ).json()["jobs"][0]["id"]
    items = [{"job_id": job_id, "error": {"code": "x"}} for job_id in (theirs, mine)]

    answer = api.post(
        f"/ojs/v1/workers/{verb}/batch", {f"{verb}s": items}, content_type=OJS_TYPE, headers=north
    )

    assert [item["status"] for item in answer.json()["results"]] == [404, 200]
    assert [str(lease.id) for lease in Lease.objects.all()] == [theirs]


def test_heartbeat_leaves_leases_of_another_tenant_alone(
    api: Client, north: dict[str, str]
) -> None:
    theirs = _job_of_another_tenant(State.ACTIVE)
    body = {"worker_id": "w1", "active_jobs": [theirs], "visibility_timeout_ms": 86_400_000}
    before = Lease.objects.get().lease_until

    answer = api.post("/ojs/v1/workers/heartbeat", body, content_type=OJS_TYPE, headers=north)

    assert answer.json()["jobs_extended"] == answer.json()["cancelled_jobs"] == []
    assert Lease.objects.get().lease_until == before


def test_key_of_a_tenant_enqueues_and_fetches_for_it_alone(
    api: Client, north: dict[str, str]
) -> None:
    _job_of_another_tenant()
    mine = _push(api, north, ("shared", "mail.send")).json()["job"]["id"]

    fetched = api.post(
        "/ojs/v1/workers/fetch", {"queues": ["shared"], "count": 10}, content_type=OJS_TYPE,
        headers=north,
    ).json()["jobs"]  # fmt: skip

    assert [job["id"] for job in fetched] == [mine]
    assert Job.objects.get(id=mine).tenant == "north"


def test_batch_of_a_tenant_is_stored_for_it(api: Client, north: dict[str, str]) -> None:
    _push(api, north, ("a", "mail.send"), ("b", "mail.send"))

    assert set(Job.objects.values_list("tenant", flat=True)) == {"north"}


def test_lists_show_nothing_of_another_tenant(api: Client, north: dict[str, str]) -> None:
    _job_of_another_tenant(State.DISCARDED)
    mine = _push(api, north, ("shared", "mail.send")).json()["job"]["id"]

    letters = api.get("/ojs/v1/dead-letter?all=true", headers=north).json()
    read = api.get("/ojs/v1/events", headers=north).json()["events"]

    assert letters["jobs"] == [] == letters["items"]
    assert letters["total"] == 0
    assert Event.objects.count() > 1
    assert {event["data"]["job_id"] for event in read if event["type"].startswith("job.")} == {mine}
    assert {event["data"]["tenant_id"] for event in read} == {"north"}


@pytest.mark.parametrize(
    ("method", "path", "operation"), [item for item in OPERATIONS if item.id in GLOBAL]
)
def test_key_of_a_tenant_does_nothing_that_concerns_all(
    api: Client, north: dict[str, str], method: str, path: str, operation: dict[str, Any]
) -> None:
    body = json.dumps(BODIES.get(operation["operationId"], {}))

    answer = api.generic(method, url(path), body, content_type=OJS_TYPE, headers=north)

    assert answer.status_code == 403
    assert answer.json()["error"]["details"]["reason"] == "concerns_all_tenants"
