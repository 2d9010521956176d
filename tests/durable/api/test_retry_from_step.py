""" "Retry from step" over HTTP. Spec: contract 34.2."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import Client

from durable.models import Checkpoint, Wait
from durable.services import checkpoints
from durable.services.checkpoints import Save
from jobs.api.wire.media import OJS_TYPE
from jobs.domain.states import State
from jobs.domain.wire.jsonio import dumps
from jobs.models import Audit
from jobs.services.outcome.ack import Ack, ack
from jobs.services.outcome.nack import Nack, nack
from tests.asserts import assert_state, assert_store_is_sound
from tests.durable.api.test_checkpoints import fetched, read
from tests.durable.api.test_signals import hours, suspend
from tests.factories import JobFactory, error
from tests.spec import spec

Keys = Callable[..., dict[str, str]]
AT = datetime.now(UTC).isoformat()
STEPS = {
    name: {"state": "done", "result": name, "attempts": 1, "ms": 5, "at": AT}
    for name in ("first", "second", "third")
}
STATE = {"__steps": STEPS, "__orphans": ["third"], "own": 1}


def retry(api: Client, job_id: str, step: str = "second", **more: Any) -> Any:
    headers = more.pop("headers", {})
    path = f"/ojs/v1/admin/jobs/{job_id}/retry-from-step"
    return api.post(path, {"step": step, **more}, content_type=OJS_TYPE, headers=headers)


@pytest.fixture
def active(api: Client) -> str:
    """Return an active job with three steps."""
    given = {"max_attempts": 2, "on_exhaustion": "dead_letter"}
    job = JobFactory.create(state=State.ACTIVE, worker_id="w1", retry=given)
    checkpoints.save(Save(job.id, dumps(STATE).decode()))
    return job.id


def suspended(api: Client, job_id: str) -> None:
    suspend(api, job_id, step="third", until=hours(2), signals=["go"])


def failed(_api: Client, job_id: str) -> None:
    nack([Nack(job_id, error())])


def dead(_api: Client, job_id: str) -> None:
    nack([Nack(job_id, error(retryable=False))])


def requeued(_api: Client, job_id: str) -> None:
    nack([Nack(job_id, None, requeue=True)])


@pytest.mark.parametrize("leave", [suspended, failed, dead, requeued])
@spec("contract 34.2")
def test_job_runs_again_from_the_step_with_the_results_before_it(
    api: Client, active: str, leave: Callable[[Client, str], None]
) -> None:
    leave(api, active)

    answer = retry(api, active, reason="a wrong label")

    assert answer.status_code == 200, answer.content
    assert answer.json() == {
        "job_id": active, "state": "available", "step": "second",
        "deleted_steps": ["second", "third"],
    }  # fmt: skip
    entry = Audit.objects.get(action="job.retried_from_step")
    assert (entry.target, entry.reason) == (active, "a wrong label")
    assert entry.data == {"step": "second", "deleted": 2}
    found = fetched(api)["checkpoint"]
    assert found["state"] == {"__steps": {"first": STEPS["first"]}, "own": 1}
    assert (found["sequence"], "resumed" in found) == (2, False)
    assert_store_is_sound()


@spec("contract 34.2")
def test_running_and_ended_jobs_and_unknown_steps_are_refused(api: Client, active: str) -> None:
    running = retry(api, active)
    suspended(api, active)
    unknown = retry(api, active, step="fourth")
    kept = read(api, active).json()["state"]
    done = JobFactory.create(state=State.ACTIVE)
    ack([Ack(done.id)])
    without = JobFactory.create()

    answers = [running, unknown, retry(api, done.id), retry(api, without.id), retry(api, "x")]

    assert [one.status_code for one in answers] == [409, 404, 409, 404, 404]
    assert running.json()["error"]["details"]["current_state"] == "active"
    assert kept == STATE
    assert_state(State.SCHEDULED, active)
    assert Wait.objects.count() == 1
    assert not Audit.objects.exists()


@spec("contract 34.2")
def test_checkpoint_of_another_kind_has_no_steps(api: Client) -> None:
    states = (1, {"__steps": [1]}, {"__steps": {"a": 1}}, {"__steps": None})
    jobs = [JobFactory.create() for _ in states]
    for job, state in zip(jobs, states, strict=True):
        checkpoints.save(Save(job.id, dumps(state).decode()), may_seed=True)

    statuses = [retry(api, job.id, step="a").status_code for job in jobs]

    assert statuses == [404, 404, 200, 404]
    assert Checkpoint.objects.get(job_id=jobs[2].id).state == '{"__steps":{}}'


@spec("contract 34.2")
def test_key_needs_the_scope_and_the_tenant(api: Client, active: str, new_key: Keys) -> None:
    dead(api, active)
    producer, admin = new_key("ojs:data:enqueue"), new_key("ojs:admin:write")
    other = new_key("ojs:admin:write", tenant="other")

    answers = [retry(api, active, headers=one) for one in (producer, other, admin)]

    assert [one.status_code for one in answers] == [403, 404, 200]


@pytest.mark.parametrize(
    ("body", "status"), [({"step": ""}, 400), ({"step": 1}, 400), ({"reason": 1}, 400)]
)
@spec("contract 34.2")
def test_wrong_requests_are_refused(
    api: Client, active: str, body: dict[str, Any], status: int
) -> None:
    suspended(api, active)

    assert retry(api, active, **body).status_code == status


def test_a_wait_that_was_woken_early_does_not_end_by_its_time(api: Client, active: str) -> None:
    until = (datetime.now(UTC) + timedelta(hours=2)).isoformat()
    steps: dict[str, Any] = dict(STEPS)
    steps["first"] = {"state": "sleeping", "until": until, "at": AT}
    checkpoints.save(Save(active, dumps({"__steps": steps}).decode()))
    suspend(api, active, step="first", until=hours(2))

    retry(api, active, step="second")

    assert "resumed" not in fetched(api)["checkpoint"]
