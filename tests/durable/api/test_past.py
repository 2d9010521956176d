"""The state of a job right after any of its events, over HTTP."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from durable.services import checkpoints
from durable.services.checkpoints import Save
from durable.services.suspend import suspend
from jobs.domain.access.caller import Caller
from jobs.domain.states import State
from jobs.domain.wire.jsonio import dumps
from jobs.models import Event
from jobs.models import Job as Row
from jobs.services.operate.operate import retry_job
from jobs.services.outcome.cancel import cancel
from jobs.services.outcome.revive import Override
from jobs.services.record import past as reading
from ojs_tasks.worker.ports import Suspend
from tests.factories import JobFactory
from tests.spec import spec

LATER = datetime.now(UTC) + timedelta(hours=1)


def get(api: Client, job_id: str, status: int = 200, **query: str) -> Any:
    answer = api.get(f"/ojs/v1/admin/jobs/{job_id}/past", query)
    assert answer.status_code == status, answer.content
    return answer.json()


def events(api: Client, job_id: str) -> dict[str, str]:
    """Return the latest event of each type, by its id."""
    found = api.get(f"/ojs/v1/events/{job_id}/history").json()["events"]
    return {one["type"]: one["id"] for one in found}


@pytest.fixture
def waiting(api: Client) -> str:
    """Return a job whose step waits for a signal."""
    job_id = JobFactory.create(state=State.ACTIVE, worker_id="w1", args=["ada"]).id
    now = datetime.now(UTC).isoformat()
    done = {"state": "done", "result": 8, "attempts": 1, "ms": 1, "at": now}
    wait = {"state": "waiting", "signal": "approved", "until": LATER.isoformat(), "at": now}
    steps = {"__steps": {"charge": done, "approval": wait}}
    checkpoints.save(Save(job_id, dumps(steps).decode()))
    suspend(Suspend(job_id, "approval", LATER, ("approved",)))
    return job_id


@spec("contract 34.2")
def test_each_event_shows_the_job_as_it_was(api: Client, waiting: str) -> None:
    ids = events(api, waiting)

    queued, started, saved, suspended = (
        get(api, waiting, event=ids[f"job.{name}"])
        for name in ("enqueued", "started", "checkpointed", "scheduled")
    )

    assert (queued["state"], queued["attempt"], queued["checkpoint"]) == ("available", 0, None)
    assert queued["args"] == ["ada"]
    assert (started["state"], started["worker_id"], started["attempt"]) == ("active", "w1", 1)
    assert started["checkpoint"] is None
    assert saved["checkpoint"]["sequence"] == 1
    assert saved["checkpoint"]["exact"] is True
    assert (suspended["state"], suspended["previous_state"]) == ("scheduled", "active")
    assert suspended["waits_for"] == {"step": "approval", "signals": ["approved"]}
    assert suspended["worker_id"] is None
    kept = suspended["checkpoint"]
    assert (kept["sequence"], kept["exact"], kept["kept"]) == (1, True, True)
    assert kept["state"]["__steps"]["charge"]["result"] == 8
    assert [(one["name"], one["state"]) for one in kept["steps"]] == [
        ("charge", "done"), ("approval", "waiting"),
    ]  # fmt: skip
    assert all(one["complete"] for one in (queued, started, saved, suspended))
    assert get(api, waiting) == suspended  # the latest event


@spec("contract 34.2")
def test_checkpoint_that_was_replaced_or_deleted_is_shown_by_its_number(
    api: Client, waiting: str
) -> None:
    suspended = events(api, waiting)["job.scheduled"]
    checkpoints.save(Save(waiting, "{}"), may_seed=True)

    replaced = get(api, waiting, event=suspended)["checkpoint"]
    cancel(waiting)
    deleted = get(api, waiting, event=suspended)["checkpoint"]

    expected = {"sequence": 1, "exact": False, "kept": False, "steps": []}
    for found in (replaced, deleted):
        assert {name: found[name] for name in expected} == expected
        assert "state" not in found
    assert get(api, waiting)["checkpoint"] is None


@spec("contract 34.2")
def test_arguments_that_a_retry_replaced_are_not_shown(api: Client, waiting: str) -> None:
    queued = events(api, waiting)["job.enqueued"]
    cancel(waiting)

    retry_job(waiting, Override(args=["eve"]), Caller("ada"))
    before, now = get(api, waiting, event=queued), get(api, waiting)

    assert (before["args"], before["args_kept"]) == (None, False)
    assert (now["args"], now["args_kept"], now["manual_retries"]) == (["eve"], True, 1)


@spec("contract 34.2")
def test_job_whose_first_events_are_gone_is_incomplete(api: Client, waiting: str) -> None:
    Event.objects.filter(job_id=waiting, kind=1).delete()

    found = get(api, waiting, event=events(api, waiting)["job.started"])

    assert found["complete"] is False
    assert (found["state"], found["priority"]) == ("active", None)


@pytest.mark.parametrize("event", ["nonsense", "x" * 200, "evt_1\x00"])
def test_text_that_is_no_event_is_refused_by_its_name(
    api: Client, waiting: str, event: str
) -> None:
    answer = get(api, waiting, 400, event=event)

    assert answer["error"]["details"]["field"] == "event"


def test_events_of_other_jobs_and_unknown_jobs_are_not_found(api: Client, waiting: str) -> None:
    other = JobFactory.create().id
    theirs = events(api, other)["job.enqueued"]
    Event.objects.filter(job_id=other).delete()

    get(api, waiting, 404, event=theirs)
    get(api, other, 404)
    get(api, "01965000-0000-7000-8000-000000000000", 404)
    get(api, "nonsense", 404)


def test_the_number_of_events_has_a_bound(
    api: Client, waiting: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    queued = events(api, waiting)["job.enqueued"]
    monkeypatch.setattr(reading, "MOST", 2)

    assert get(api, waiting)["complete"] is False
    get(api, waiting, 404, event=queued)


@spec("contract 31.4")
def test_classified_job_hides_arguments_state_and_steps_from_operators(
    api: Client, waiting: str, with_keys: None
) -> None:
    Row.objects.filter(id=waiting).update(meta={"data_classification": "restricted"})
    user = User.objects.create(username="viewer", is_staff=True)
    user.user_permissions.add(Permission.objects.get(codename="view_job"))
    api.force_login(user)
    same = {"Sec-Fetch-Site": "same-origin"}

    answer = api.get(f"/ojs/v1/admin/jobs/{waiting}/past", headers=same)

    user.delete()
    assert answer.status_code == 200, answer.content
    found = answer.json()

    assert found["args"] == ["(classified)"]
    assert (found["checkpoint"]["state"], found["checkpoint"]["steps"]) == ("(classified)", [])


def test_key_of_another_tenant_or_scope_is_refused(
    api: Client, waiting: str, new_key: Callable[..., dict[str, str]]
) -> None:
    path = f"/ojs/v1/admin/jobs/{waiting}/past"

    assert api.get(path, headers=new_key("ojs:admin:read", tenant="globex")).status_code == 404
    assert api.get(path, headers=new_key("ojs:data:read")).status_code == 403


def test_it_takes_four_statements_at_most(api: Client, waiting: str) -> None:
    get(api, waiting)
    with CaptureQueriesContext(connection) as found:
        get(api, waiting)

    assert len(found) <= 4
