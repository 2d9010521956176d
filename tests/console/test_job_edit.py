"""One job: its history, its retry with other contents, and its clone."""

import json
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from console.story import attempts, steps
from jobs.domain.access.caller import Caller
from jobs.domain.dispatch.claim import FetchRequest
from jobs.domain.outcome.bulk import Verb
from jobs.domain.states import State
from jobs.models import Audit
from jobs.models import Job as Row
from jobs.services.dispatch.fetch import fetch
from jobs.services.operate import operate
from jobs.services.operate.bulk import act_on
from jobs.services.outcome.ack import Ack, ack
from jobs.services.outcome.nack import Nack, nack
from jobs.services.read.show import show
from tests.asserts import assert_state, assert_store_is_sound
from tests.factories import JobFactory, error

RETRY, CLONE = "ojs_console:job_retry", "ojs_console:job_clone"


def dead(**envelope: Any) -> Any:
    """Return a job of the dead letter."""
    retry = {"on_exhaustion": "dead_letter"}
    return JobFactory.create(state=State.DISCARDED, retry=retry, **envelope)


def form(job: Any, **changed: str) -> dict[str, str]:
    """Return the form of a retry as the browser sends it."""
    filled = {"args": "[1]", "meta": "{}", "queue": job.queue, "priority": str(job.priority)}
    return filled | changed


def test_a_job_is_retried_with_other_contents(console: Client) -> None:
    job = dead(args=[1], queue="mail")
    page = console.get(reverse(RETRY, args=[job.id])).content.decode()
    assert "mail" in page

    answer = console.post(
        reverse(RETRY, args=[job.id]),
        form(job, args='[{"to": "a"}]', meta='{"why": "typo"}', queue="slow", priority="3"),
    )

    assert answer["Location"] == reverse("ojs_console:job", args=[job.id])
    assert_state(State.AVAILABLE, job.id)
    found = show(job.id)
    assert (json.loads(found.args), json.loads(found.meta)) == ([{"to": "a"}], {"why": "typo"})
    assert (found.queue, found.priority) == ("slow", 3)
    entry = Audit.objects.get()
    assert (entry.action, entry.target) == ("job.retried", job.id)
    assert entry.data == {"override": ["queue", "args", "meta", "priority"]}
    assert_store_is_sound()


def test_what_was_not_changed_is_not_overridden(console: Client) -> None:
    job = dead(args=[1])
    console.post(reverse(RETRY, args=[job.id]), form(job))
    assert_state(State.AVAILABLE, job.id)
    assert Audit.objects.get().data == {}


@pytest.mark.parametrize(
    "changed",
    [
        {"args": "{"}, {"args": "{}"}, {"args": ""}, {"meta": "[]"}, {"queue": "Not A Queue"},
        {"queue": ""}, {"priority": "urgent"}, {"priority": "1000000"}, {"args": '["\\u0000"]'},
        {"args": "[" * 300 + "]" * 300}, {"priority": "1e400"},
    ],
)  # fmt: skip
def test_what_a_retry_cannot_take_is_told_and_kept_in_the_form(
    console: Client, changed: dict[str, str]
) -> None:
    job = dead(args=[1])
    answer = console.post(reverse(RETRY, args=[job.id]), form(job, **changed))
    assert answer.status_code == 400
    assert 'role="alert"' in answer.content.decode()
    assert answer.context["fields"] == form(job, **changed)
    assert_state(State.DISCARDED, job.id)


def test_a_live_job_is_not_retried(console: Client) -> None:
    job = JobFactory.create(args=[1])
    assert "can be retried" in console.get(reverse(RETRY, args=[job.id])).content.decode()
    assert console.post(reverse(RETRY, args=[job.id]), form(job)).status_code == 400
    assert_state(State.AVAILABLE, job.id)


@pytest.mark.parametrize("state", State)
def test_a_clone_is_another_job_with_the_same_contents(console: Client, state: State) -> None:
    job = JobFactory.create(
        state=state, args=["a"], meta={"order": 7}, priority=4, tags=["x"], queue="mail",
        version="2.0.0",
    )  # fmt: skip
    address = reverse(CLONE, args=[job.id])
    envelope = console.get(address).context["fields"]["envelope"]

    answer = console.post(address, {"envelope": envelope})

    clone = Row.objects.exclude(pk=job.id).get()
    assert answer["Location"] == reverse("ojs_console:job", args=[clone.pk])
    assert_state(State.AVAILABLE, str(clone.pk))
    for name in ("type", "queue", "args", "meta", "priority", "version", "max_attempts"):
        assert getattr(clone, name) == getattr(Row.objects.get(pk=job.id), name), name
    assert clone.attributes["tags"] == ["x"]
    assert Audit.objects.get().data == {"clone": str(clone.pk)}
    assert_store_is_sound()


@pytest.mark.parametrize(
    "envelope", ["", "{", "[]", "{}", '{"type": "x"}', '{"type": 7, "args": []}']
)
def test_a_clone_obeys_the_rules_of_push(console: Client, envelope: str) -> None:
    job = JobFactory.create()
    answer = console.post(reverse(CLONE, args=[job.id]), {"envelope": envelope})
    assert answer.status_code == 400
    assert Row.objects.count() == 1
    assert not Audit.objects.exists()


def test_a_unique_job_is_not_cloned_twice(console: Client) -> None:
    job = JobFactory.create(unique={"keys": ["type"], "on_conflict": "ignore"})
    address = reverse(CLONE, args=[job.id])
    console.post(address, {"envelope": console.get(address).context["fields"]["envelope"]})
    assert Row.objects.count() == 1


@pytest.mark.parametrize("name", [RETRY, CLONE])
def test_forms_take_their_permission_and_a_token(console: Client, viewer: User, name: str) -> None:
    job = dead(args=[1])
    address = reverse(name, args=[job.id])
    client = Client()
    client.force_login(viewer)
    assert client.post(address, form(job)).status_code == 403
    assert client.get(address).status_code == 200
    page = client.get(address).content.decode()
    assert ">Retry</button>" not in page
    assert ">Enqueue</button>" not in page
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(User.objects.get(username="operator"))
    assert strict.post(address, form(job)).status_code == 403
    assert console.get(reverse(name, args=["nonsense"])).status_code == 404
    assert console.post(reverse(name, args=["nonsense"]), {}).status_code == 404
    assert_state(State.DISCARDED, job.id)


def test_a_timeline_has_every_change_and_attempts_have_their_errors(console: Client) -> None:
    job = JobFactory.create(queue="mail", retry={"max_attempts": 2, "on_exhaustion": "dead_letter"})
    broken = error(type="Broken", message="first", backtrace=["line one", "line two"])
    fetch(FetchRequest(("mail",), worker_id="w1"))
    nack([Nack(job.id, broken)])
    act_on(Verb.RETRY, [job.id], "test")  # due at once
    fetch(FetchRequest(("mail",), worker_id="w2"))
    nack([Nack(job.id, error(type="Broken", message="second"))])
    operate.retry_job(job.id, None, Caller("console:operator"))
    fetch(FetchRequest(("mail",), worker_id="w3"))
    ack([Ack(job.id)])

    told, is_longer = steps(show(job.id))
    moves = [(step.before, step.after) for step in reversed(told) if step.after != step.before]
    ways = [way for n, way in enumerate(moves) if n == 0 or way != moves[n - 1]]
    assert ways == [
        (None, "available"), ("available", "active"), ("active", "retryable"),
        ("retryable", "available"), ("available", "active"), ("active", "discarded"),
        ("discarded", "available"), ("available", "active"), ("active", "completed"),
    ]  # fmt: skip
    assert not is_longer

    found = attempts(show(job.id), told)
    assert [(one.number, one.outcome, one.worker_id) for one in found] == [
        (1, "completed", "w3"), (2, "failed", "w2"), (1, "failed", "w1"),
    ]  # fmt: skip
    assert [one.error and one.error["message"] for one in found] == [None, "second", "first"]
    page = console.get(reverse("ojs_console:job", args=[job.id])).content.decode()
    assert "line one\nline two" in page
    assert "job.retried" in page


def test_the_page_of_a_job_costs_few_statements(console: Client) -> None:
    for state in State:
        job = JobFactory.create(state=state, queue=state)
        with CaptureQueriesContext(connection) as captured:
            assert console.get(reverse("ojs_console:job", args=[job.id])).status_code == 200
        assert len(captured) <= 15


def test_an_ended_job_is_deleted_and_a_live_one_is_not(console: Client) -> None:
    done, live = JobFactory.create(state=State.COMPLETED), JobFactory.create(queue="b")
    for job in (done, live):
        console.post(reverse("ojs_console:act", args=["delete"]), {"id": job.id})
    assert [str(pk) for pk in Row.objects.values_list("pk", flat=True)] == [live.id]
