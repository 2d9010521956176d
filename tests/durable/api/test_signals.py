"""Signals and suspended jobs over HTTP. Spec: contract 34.2."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest
from django.test import Client

from durable.models import Signal, Wait
from jobs.api.wire.media import OJS_TYPE
from jobs.domain.states import State
from jobs.domain.wire.times import format_time
from jobs.models import Later
from jobs.services.dispatch.explain import explain
from jobs.services.read.show import show
from tests.asserts import assert_state, assert_store_is_sound
from tests.concurrency import at_once
from tests.durable.api.test_checkpoints import fetched, post, save
from tests.factories import JobFactory
from tests.spec import spec

Keys = Callable[..., dict[str, str]]


def send(api: Client, job_id: str, name: str, body: Any = None, **more: Any) -> Any:
    path = f"/ojs/v1/jobs/{job_id}/signals/{name}"
    return api.post(path, body or {}, content_type=OJS_TYPE, **more)


def suspend(api: Client, job_id: str, **body: Any) -> Any:
    path = f"/ojs/v1/jobs/{job_id}/suspend"
    return api.post(path, {"step": "nap", **body}, content_type=OJS_TYPE)


def hours(number: int) -> str:
    return format_time(datetime.now(UTC) + timedelta(hours=number))


@pytest.fixture
def active(api: Client) -> str:
    """Return an active job with a checkpoint."""
    job = JobFactory.create(state=State.ACTIVE, worker_id="w1")
    save(api, job.id, {})
    return job.id


@spec("contract 34.2")
def test_suspended_attempt_is_scheduled_and_not_counted(api: Client, active: str) -> None:
    until = hours(2)

    answer = suspend(api, active, until=until, worker_id="w1", attempt=1)

    assert answer.status_code == 200, answer.content
    assert answer.json() == {"job_id": active, "state": "scheduled", "scheduled_at": until}
    job = show(active)
    assert (job.attempt, job.errors) == (0, None)
    assert_state(State.SCHEDULED, active)
    assert_store_is_sound()


@spec("contract 34.2")
def test_signal_wakes_only_the_job_that_waits_for_it(api: Client, active: str) -> None:
    suspend(api, active, until=hours(2), signals=["approved", "refused"])

    other = send(api, active, "other")
    assert_state(State.SCHEDULED, active)
    sent = send(api, active, "approved", {"payload": {"by": "ada"}})

    assert (other.json()["woken"], sent.json()["woken"]) == (False, True)
    assert_state(State.AVAILABLE, active)
    found = fetched(api)["checkpoint"]["signals"]
    assert [(one["name"], one["payload"]) for one in found] == [
        ("other", None), ("approved", {"by": "ada"}),
    ]  # fmt: skip
    assert_store_is_sound()


@spec("contract 34.2")
def test_repeated_suspension_leaves_the_wait_as_it_is(api: Client, active: str) -> None:
    facts = {"worker_id": "w1", "attempt": 1}
    assert suspend(api, active, until=hours(9), signals=["approved"], **facts).status_code == 200

    # a worker whose first request got no answer
    again = suspend(api, active, until=hours(9), signals=["approved"], **facts)
    late = suspend(api, active, step="other", until=hours(1), signals=["other"], **facts)

    assert (again.status_code, late.status_code) == (409, 409)
    assert Wait.objects.values_list("step", "signals").get() == ("nap", ["approved"])
    assert send(api, active, "approved").json()["woken"] is True
    assert_state(State.AVAILABLE, active)


@spec("contract 34.2")
def test_suspension_that_comes_late_leaves_the_attempt_that_continues(
    api: Client, active: str
) -> None:
    began = show(active).started_at
    assert began is not None
    facts = {"worker_id": "w1", "attempt": 1, "signals": ["approved"]}
    first = suspend(api, active, until=hours(9), started_at=format_time(began), **facts)
    send(api, active, "approved")
    again = post(api, "workers/fetch", {"queues": ["default"], "worker_id": "w1"})
    (job,) = again.json()["jobs"]

    late = suspend(api, active, until=hours(9), started_at=format_time(began), **facts)

    assert (first.status_code, job["attempt"], late.status_code) == (200, 1, 409)
    assert_state(State.ACTIVE, active)
    own = suspend(api, active, until=hours(9), started_at=job["started_at"], **facts)
    assert own.status_code == 200


@spec("contract 34.2")
def test_signal_before_the_wait_ends_it_at_once(api: Client, active: str) -> None:
    send(api, active, "approved", {"payload": 1})

    suspend(api, active, until=hours(2), signals=["approved"])

    assert_state(State.AVAILABLE, active)


@spec("contract 34.2")
def test_signals_and_suspensions_in_any_order_lose_no_wake(api: Client) -> None:
    jobs = [JobFactory.create(state=State.ACTIVE, queue=f"q{n}") for n in range(6)]
    works: list[Callable[[], Any]] = []
    for job in jobs:
        works.append(partial(suspend, Client(), job.id, until=hours(2), signals=["go"]))
        works.append(partial(send, Client(), job.id, "go"))

    at_once(works)

    assert_state(State.AVAILABLE, *[job.id for job in jobs])


@spec("contract 34.2")
def test_save_takes_the_signals_that_its_state_contains(api: Client, active: str) -> None:
    ids = [send(api, active, name).json()["id"] for name in ("a", "b")]
    other = JobFactory.create()
    foreign = send(api, other.id, "a").json()["id"]

    save(api, active, {"a": None}, signals_taken=[ids[0], foreign])

    listed = api.get(f"/ojs/v1/jobs/{active}/signals").json()["signals"]
    assert [one["id"] for one in listed] == [ids[1]]
    assert Signal.objects.filter(id=foreign).exists()


@spec("contract 34.2")
def test_job_keeps_at_most_a_hundred_signals(api: Client, active: str) -> None:
    Signal.objects.bulk_create(
        [Signal(job_id=active, name="go", payload="1", sender="test") for _ in range(99)]
    )

    answers = [send(api, active, "go") for _ in range(2)]

    assert [one.status_code for one in answers] == [200, 409]
    assert answers[1].json()["error"]["details"]["limit"] == 100


@pytest.mark.parametrize(
    ("name", "body", "status"),
    [
        ("x" * 201, {}, 400), ("a%0Ab", {}, 400), ("go", {"payload": "x" * 65_536}, 413),
        ("go", {"payload": None}, 200),
    ],
)  # fmt: skip
@spec("contract 34.2")
def test_wrong_signals_are_refused(
    api: Client, active: str, name: str, body: dict[str, Any], status: int
) -> None:
    assert send(api, active, name, body).status_code == status


@spec("contract 34.2")
def test_ended_job_takes_no_signal_and_a_key_needs_the_scope(api: Client, new_key: Keys) -> None:
    ended = JobFactory.create(state=State.COMPLETED)
    job = JobFactory.create()
    producer, worker = new_key("ojs:data:enqueue"), new_key("ojs:data:fetch")
    other = new_key("ojs:data:enqueue", tenant="other")
    elsewhere = new_key("ojs:data:enqueue", queues_enqueue=("elsewhere",))

    answers = [
        send(api, ended.id, "go", headers=producer), send(api, job.id, "go", headers=worker),
        send(api, job.id, "go", headers=other), send(api, job.id, "go", headers=elsewhere),
        send(api, job.id, "go", headers=producer),
    ]  # fmt: skip

    assert [one.status_code for one in answers] == [409, 403, 404, 403, 200]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"worker_id": "w2"}, 409), ({"attempt": 7}, 409), ({"step": ""}, 400),
        ({"signals": "go"}, 400), ({"until": "tomorrow"}, 400), ({}, 200),
    ],
)  # fmt: skip
@spec("contract 34.2")
def test_wrong_suspensions_are_refused(
    api: Client, active: str, body: dict[str, Any], status: int
) -> None:
    answer = suspend(api, active, **body)

    assert answer.status_code == status, answer.content
    assert Wait.objects.exists() is (status == 200)


@spec("contract 34.2")
def test_explanation_names_the_step_and_what_it_waits_for(api: Client, active: str) -> None:
    suspend(api, active, step="approval", until=hours(2), signals=["approved"])

    found = explain(show(active), None)

    (gate,) = [one for one in found.gates if one.gate == "step"]
    assert "'approval' waits for the signal 'approved'" in gate.message
    assert gate.until == Later.objects.get().due_at
