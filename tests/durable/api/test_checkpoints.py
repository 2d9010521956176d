"""Checkpoints over HTTP. Spec: contract 34.1."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client

from durable.models import Checkpoint, Signal
from jobs.api.wire.media import OJS_TYPE
from jobs.domain.record.events import Kind
from jobs.domain.states import State
from jobs.models import Audit, Event, Lease
from jobs.queries import ago
from tests.concurrency import at_once
from tests.factories import JobFactory
from tests.spec import spec

Keys = Callable[..., dict[str, str]]
UNKNOWN = "01965000-0000-7000-8000-000000000000"


def save(api: Client, job_id: str, state: Any, **more: Any) -> Any:
    headers = more.pop("headers", {})
    body = {"state": state, **more}
    path = f"/ojs/v1/jobs/{job_id}/checkpoint"
    return api.put(path, body, content_type=OJS_TYPE, headers=headers)


def read(api: Client, job_id: str, **more: Any) -> Any:
    return api.get(f"/ojs/v1/jobs/{job_id}/checkpoint", **more)


def post(api: Client, path: str, body: Any, **more: Any) -> Any:
    return api.post(f"/ojs/v1/{path}", body, content_type=OJS_TYPE, **more)


def fetched(api: Client, worker: str = "w1") -> dict[str, Any]:
    """Claim one job of the default queue as FETCH shows it."""
    answer = post(api, "workers/fetch", {"queues": ["default"], "worker_id": worker})
    found: dict[str, Any] = answer.json()["jobs"][0]
    return found


@pytest.mark.parametrize("state", [{}, None, [1, "é"], "text", 0, 2**70, {"a": {"b": 1.5}}])
@spec("contract 34.1")
def test_any_json_is_a_state_and_is_read_as_it_was_saved(api: Client, state: Any) -> None:
    job = JobFactory.create()

    saved, found = save(api, job.id, state), read(api, job.id)

    assert saved.status_code == 200, saved.content
    assert found.json() == saved.json()
    assert (found.json()["state"], found.json()["sequence"]) == (state, 1)
    assert found.json()["checkpoint"].keys() == {"job_id", "sequence", "created_at"}
    assert fetched(api)["checkpoint"]["state"] == state


@spec("contract 34.1")
def test_latest_save_replaces_and_a_deletion_starts_the_numbers_anew(api: Client) -> None:
    job = JobFactory.create(state=State.ACTIVE)

    numbers = [save(api, job.id, {"n": n, f"m{n}": n}).json()["sequence"] for n in range(3)]
    path = f"jobs/{job.id}/checkpoint"
    posted = post(api, path, {"state": {"n": 9}}).json()["sequence"]
    after_saves = read(api, job.id).json()["state"]
    deleted = [api.delete(f"/ojs/v1/{path}") for _ in range(2)]
    gone = read(api, job.id)
    anew = save(api, job.id, {}).json()["sequence"]

    assert (numbers, posted, after_saves, anew) == ([1, 2, 3], 4, {"n": 9}, 1)
    assert [one.json() for one in deleted] == [{"deleted": True, "job_id": job.id}] * 2
    assert gone.status_code == 404
    assert Audit.objects.filter(action="checkpoint.deleted", target=job.id).count() == 2


@spec("contract 34.1")
def test_concurrent_saves_get_each_number_once(api: Client) -> None:
    job = JobFactory.create(state=State.ACTIVE)

    found = at_once([partial(save, Client(), job.id, n) for n in range(8)])

    assert sorted(one.json()["sequence"] for one in found) == list(range(1, 9))


@pytest.mark.parametrize(
    ("body", "status", "field"),
    [
        ({}, 422, "state"), ({"state": 1, "worker_id": 5}, 400, "worker_id"),
        ({"state": 1, "attempt": 0}, 400, "attempt"), ({"state": 1, "extend": 1}, 400, "extend"),
        ({"state": 1, "signals_taken": ["a"]}, 400, "signals_taken"),
        ({"state": "x" * 1_048_575}, 413, "state"),
    ],
)  # fmt: skip
@spec("contract 34.1")
def test_wrong_save_is_refused_naming_the_field(
    api: Client, body: dict[str, Any], status: int, field: str
) -> None:
    job = JobFactory.create()
    before = save(api, job.id, "x" * 1_048_574)  # with its quotes the largest state

    answer = api.put(f"/ojs/v1/jobs/{job.id}/checkpoint", body, content_type=OJS_TYPE)

    assert before.status_code == 200
    assert answer.status_code == status, answer.content[:500]
    assert field in str(answer.json()["error"])
    assert answer.json()["error"]["code"] == (
        "payload_too_large" if status == 413 else "invalid_request"
    )


@pytest.mark.parametrize("state", [State.COMPLETED, State.CANCELLED, State.DISCARDED])
@spec("contract 34.1")
def test_ended_job_takes_no_checkpoint(api: Client, state: State) -> None:
    job = JobFactory.create(state=state)

    answer = save(api, job.id, {})

    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "conflict")
    assert answer.json()["error"]["details"]["current_state"] == state.value


@spec("contract 34.1")
def test_unknown_job_has_no_checkpoint(api: Client) -> None:
    answers = [
        save(api, UNKNOWN, {}), read(api, UNKNOWN), save(api, "no-id", {}),
        api.delete(f"/ojs/v1/jobs/{UNKNOWN}/checkpoint"),
    ]  # fmt: skip

    assert [one.status_code for one in answers] == [404] * 4


@pytest.mark.parametrize(
    ("holder", "status"),
    [
        ({"worker_id": "w1", "attempt": 1}, 200), ({"worker_id": "w1"}, 200), ({}, 200),
        ({"worker_id": "w2"}, 409), ({"attempt": 2}, 409), ({"worker_id": "w1", "attempt": 2}, 409),
    ],
)  # fmt: skip
@spec("contract 34.1")
def test_worker_without_the_lease_overwrites_nothing(
    api: Client, holder: dict[str, Any], status: int
) -> None:
    job = JobFactory.create(state=State.ACTIVE, worker_id="w1")

    answer = save(api, job.id, {}, **holder)

    assert answer.status_code == status
    if status == 409:
        assert answer.json()["error"]["details"]["reason"] == "lease_lost"


@pytest.mark.parametrize(
    "state", [State.AVAILABLE, State.SCHEDULED, State.RETRYABLE, State.PENDING]
)
@spec("contract 34.1")
def test_waiting_job_is_seeded_by_callers_that_may_enqueue(
    api: Client, new_key: Keys, state: State
) -> None:
    job = JobFactory.create(state=state)
    worker, both = new_key("ojs:data:fetch"), new_key("ojs:data:fetch", "ojs:data:enqueue")
    elsewhere = new_key("ojs:data:fetch", "ojs:data:enqueue", queues_enqueue=("other",))

    statuses = [
        save(api, job.id, 1, headers=worker).status_code,
        save(api, job.id, 1, headers=elsewhere).status_code,
        save(api, job.id, 1, headers=both, worker_id="w1").status_code,
        save(api, job.id, 1, headers=both).status_code,
    ]

    assert statuses == [403, 403, 409, 200]


@spec("contract 34.1")
def test_scopes_and_tenants_bound_who_saves_and_reads(api: Client, new_key: Keys) -> None:
    job = JobFactory.create(state=State.ACTIVE, worker_id="w1")
    reader, worker = new_key("ojs:data:read"), new_key("ojs:data:fetch")
    other = new_key("ojs:data:fetch", "ojs:data:read", tenant="other")
    limited = new_key("ojs:data:fetch", queues_fetch=("elsewhere",))

    assert save(api, job.id, 1, headers=worker).status_code == 200
    assert save(api, job.id, 1, headers=reader).status_code == 403
    assert save(api, job.id, 1, headers=limited).status_code == 403
    assert save(api, job.id, 1, headers=other).status_code == 404
    assert read(api, job.id, headers=other).status_code == 404
    assert read(api, job.id, headers=worker).status_code == 403
    assert read(api, job.id, headers=reader).status_code == 200


@spec("contract 34.1")
def test_fetch_and_get_tell_of_a_checkpoint_and_only_where_there_is_one(api: Client) -> None:
    first, second = JobFactory.create(), JobFactory.create()
    save(api, first.id, {"rows": 7})

    shown = api.get(f"/ojs/v1/jobs/{first.id}").json()
    admin = api.get(f"/ojs/v1/admin/jobs/{first.id}").json()
    plain = api.get(f"/ojs/v1/jobs/{second.id}").json()
    claimed = [fetched(api), fetched(api)]

    facts = read(api, first.id).json()
    expected = {"sequence": 1, "created_at": facts["created_at"], "bytes": 10}
    assert shown["checkpoint"] == admin["checkpoint"] == expected
    assert "checkpoint" not in plain
    assert claimed[0]["checkpoint"] == {
        "state": {"rows": 7}, "sequence": 1, "created_at": facts["created_at"],
    }  # fmt: skip
    assert claimed[0]["last_checkpoint"] == {"rows": 7}
    assert not {"checkpoint", "last_checkpoint"} & claimed[1].keys()


@spec("contract 34.1")
def test_producer_cannot_send_a_checkpoint_with_its_job(api: Client) -> None:
    made = post(api, "jobs", {"type": "a.b", "args": [], "checkpoint": {"state": 1}})

    assert "checkpoint" not in made.json()
    assert "checkpoint" not in fetched(api)


@spec("contract 34.1")
def test_save_extends_the_lease_only_when_asked(api: Client) -> None:
    job = JobFactory.create(state=State.ACTIVE, worker_id="w1")
    Lease.objects.update(lease_until=ago(-1000))
    before = Lease.objects.get().lease_until

    save(api, job.id, 1)
    kept = Lease.objects.get().lease_until
    save(api, job.id, 2, extend=True)

    assert kept == before < Lease.objects.get().lease_until


@spec("contract 34.1")
def test_events_of_a_job_are_sampled_to_one_a_second_without_the_state(api: Client) -> None:
    job = JobFactory.create(state=State.ACTIVE, worker_id="w1")

    for n in range(3):
        save(api, job.id, {"secret": n})
    Checkpoint.objects.update(told_at=ago(2000))
    save(api, job.id, {"secret": 3})

    events = Event.objects.filter(kind=Kind.CHECKPOINTED, job_id=job.id).order_by("seq")
    assert [one.data for one in events] == [
        {"sequence": 1, "bytes": 12}, {"sequence": 4, "bytes": 12},
    ]  # fmt: skip
    history = api.get(f"/ojs/v1/jobs/{job.id}/history").json()
    assert "job.checkpointed" in str(history)
    assert "secret" not in str(history)


@spec("contract 34.1")
def test_progress_report_saves_the_same_document(api: Client) -> None:
    job = JobFactory.create(state=State.ACTIVE, worker_id="w1")
    save(api, job.id, {"from": "checkpoint"})

    answer = api.put(
        f"/ojs/v1/jobs/{job.id}/progress",
        {"progress": 0.5, "checkpoint": {"from": "progress"}, "worker_id": "w1"},
        content_type=OJS_TYPE,
    )
    found = read(api, job.id).json()
    post(api, "workers/nack", {"job_id": job.id, "requeue": True})

    assert answer.status_code == 200
    assert (found["state"], found["sequence"]) == ({"from": "progress"}, 2)
    assert fetched(api)["last_checkpoint"] == {"from": "progress"}


@spec("contract 34.1")
def test_state_of_a_classified_job_is_hidden_from_operators(api: Client, with_keys: None) -> None:
    job = JobFactory.create(meta={"data_classification": "restricted"}, state=State.ACTIVE)
    Checkpoint.objects.create(
        job_id=job.id, state='{"secret": 1}', bytes=13, sequence=1, is_alone=True
    )
    Signal.objects.create(job_id=job.id, name="go", payload='"secret"', sender="test")
    user = User.objects.create(username="viewer", is_staff=True)
    user.user_permissions.add(Permission.objects.get(codename="view_job"))
    api.force_login(user)

    answers = [
        read(api, job.id, headers={"Sec-Fetch-Site": "same-origin"}),
        api.get(f"/ojs/v1/jobs/{job.id}/signals", headers={"Sec-Fetch-Site": "same-origin"}),
    ]

    user.delete()
    assert [one.status_code for one in answers] == [200, 200]
    assert "secret" not in str([one.json() for one in answers])


@spec("contract 34.1")
def test_manifest_names_the_extension_as_official(api: Client) -> None:
    found = api.get("/ojs/manifest").json()

    assert "durable-execution" in found["extensions"]
    assert {
        "name": "durable-execution", "uri": "urn:ojs:ext:durable-execution",
        "version": "1.0.0-rc.1",
    } in found["extension_details"]["official"]  # fmt: skip
