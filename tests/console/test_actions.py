"""What operators do: each action once, by POST, by those who may."""

from functools import partial
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.contrib.messages import get_messages
from django.test import Client
from django.urls import reverse
from django_q.models import OrmQ, Task

from console.actions import ACTIONS
from console.tasks import go_on, start
from jobs.domain.bulk import JobFilter, Verb
from jobs.domain.ids import new_id
from jobs.domain.states import State
from jobs.models import Job, Queue, Worker
from jobs.services import bulk
from jobs.services.heartbeat import Report, heartbeat
from tests.asserts import assert_state, assert_store_is_sound
from tests.factories import JobFactory, stored_ids
from tests.processes import until
from tests.worker.conftest import Spawn


def act(client: Client, verb: str, **form: str) -> Any:
    """Press a button."""
    return client.post(reverse("ojs_console:act", args=[verb]), form)


def told(answer: Any) -> list[str]:
    """Return what the next page will say."""
    return [str(message) for message in get_messages(answer.wsgi_request)]


@pytest.mark.parametrize(
    "state", [s for s in State if s not in {State.COMPLETED, State.CANCELLED, State.DISCARDED}]
)
def test_cancel_ends_a_job_and_names_who(console: Client, state: State) -> None:
    job = JobFactory.create(state=state)
    answer = act(console, "cancel", id=job.id, next="/console/jobs/")
    assert answer["Location"] == "/console/jobs/"
    assert_state(State.CANCELLED, job.id)
    page = console.get(reverse("ojs_console:job", args=[job.id])).content.decode()
    assert "by console:operator" in page


def test_retry_and_delete_work_on_dead_jobs(console: Client) -> None:
    first, second = (JobFactory.create(state=State.DISCARDED, queue=q) for q in "ab")
    act(console, "retry", id=first.id)
    assert_state(State.AVAILABLE, first.id)
    act(console, "delete", id=second.id)
    assert console.get(reverse("ojs_console:job", args=[second.id])).status_code == 404
    assert_store_is_sound()


@pytest.mark.parametrize("verb", ["cancel", "retry", "delete", "quiet"])
def test_what_cannot_be_done_is_told(console: Client, verb: str) -> None:
    for target in (new_id(), "nonsense", ""):
        answer = act(console, verb, id=target)
        assert answer.status_code == 302
        assert "does not exist" in told(answer)[-1]


def test_pause_and_resume(console: Client) -> None:
    act(console, "pause", id="mail")
    assert Queue.objects.get(name="mail").paused_at is not None
    act(console, "resume", id="mail")
    assert Queue.objects.get(name="mail").paused_at is None


def test_workers_are_directed(console: Client) -> None:
    heartbeat(Report("a/worker"))
    for verb, directive in (("quiet", 1), ("unquiet", 0), ("terminate", 2)):
        act(console, verb, id="a/worker")
        assert Worker.objects.get(id="a/worker").directive == directive


@pytest.mark.parametrize("verb", ACTIONS)
def test_actions_take_their_permission_and_a_post(console: Client, viewer: User, verb: str) -> None:
    watching = Client()
    watching.force_login(viewer)
    assert act(watching, verb, id="x").status_code == 403
    assert console.get(reverse("ojs_console:act", args=[verb])).status_code == 405
    assert act(Client(), verb, id="x")["Location"].startswith("/console/login/")
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(User.objects.get(username="operator"))
    assert act(strict, verb, id="x").status_code == 403


def test_those_who_may_only_look_see_no_buttons(viewer: User) -> None:
    client = Client()
    client.force_login(viewer)
    JobFactory.create(state=State.DISCARDED)
    for name in ("dead_letter", "queues", "workers"):
        page = client.get(reverse(f"ojs_console:{name}")).content.decode()
        assert "/console/actions/" not in page


def test_an_unknown_action_is_not_found(console: Client) -> None:
    assert act(console, "explode").status_code == 404


@pytest.mark.parametrize("target", ["https://evil.example/", "//evil.example", "javascript:x"])
def test_actions_lead_to_no_other_site(console: Client, target: str) -> None:
    assert act(console, "pause", id="q", next=target)["Location"] == "/console/"


def test_without_a_cluster_the_page_says_bulk_actions_will_not_start(console: Client) -> None:
    page = console.get(reverse("ojs_console:dead_letter")).content.decode()
    assert "Bulk actions will not start" in page


def dead(queue: str, **envelope: Any) -> str:
    """Put a job into the dead letter and return its id."""
    retry = {"on_exhaustion": "dead_letter"}
    job = JobFactory.create(state=State.DISCARDED, queue=queue, retry=retry, **envelope)
    return str(job.id)


def run_tasks() -> list[str]:
    """Do what the cluster does; returns what each task told."""
    told: list[str] = []
    while queued := OrmQ.objects.first():
        arguments = queued.task["args"]
        queued.delete()
        told.append(go_on(*arguments))
    return told


@pytest.fixture
def short_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each task move two jobs at most."""
    monkeypatch.setattr("console.tasks.STEPS", 1)
    monkeypatch.setattr("console.tasks.step", partial(bulk.step, most=2))


@pytest.mark.usefixtures("short_tasks")
def test_retry_all_takes_what_was_dead_and_matches(console: Client) -> None:
    ids = [dead(f"q{n}", type="mail.send") for n in range(5)]
    other = dead("other", type="other")
    act(console, "retry-all", type="mail.send", dead="1")
    late = dead("late", type="mail.send")

    told = run_tasks()

    assert told[:3] == ["2 jobs retried so far", "4 jobs retried so far", "5 jobs retried"]
    assert_state(State.AVAILABLE, *ids)
    assert_state(State.DISCARDED, other, late)
    assert_store_is_sound()


@pytest.mark.usefixtures("short_tasks")
def test_cancel_all_and_delete_all_take_the_state_of_the_page(console: Client) -> None:
    ids = stored_ids(5, queue="mail")
    (other,) = stored_ids(1, queue="other")
    later = JobFactory.create(state=State.SCHEDULED, queue="mail")

    act(console, "cancel-all", state="available", queue="mail")
    assert run_tasks()[-1] == "5 jobs cancelled"
    assert_state(State.CANCELLED, *ids)
    act(console, "delete-all", state="cancelled", queue="mail")
    assert run_tasks()[-1] == "5 jobs deleted"

    assert_state(State.AVAILABLE, other)
    assert_state(State.SCHEDULED, later.id)
    assert not Job.objects.filter(id__in=ids).exists()
    assert_store_is_sound()


@pytest.mark.parametrize(
    ("state", "verbs"),
    [("", set()), ("available", {"cancel"}), ("active", {"cancel"}),
     ("retryable", {"cancel", "retry"}), ("discarded", {"retry", "delete"}),
     ("completed", {"delete"})],
)  # fmt: skip
def test_the_jobs_page_offers_what_can_be_done_to_all_of_a_state(
    console: Client, viewer: User, state: str, verbs: set[str]
) -> None:
    url = f"{reverse('ojs_console:jobs')}?state={state}"
    page = console.get(url).content.decode()
    assert {verb for verb in ("cancel", "retry", "delete") if f"/{verb}-all" in page} == verbs
    watching = Client()
    watching.force_login(viewer)
    assert "-all" not in watching.get(url).content.decode()


def test_a_cluster_retries_them_all(console: Client, spawn: Spawn) -> None:
    ids = [dead(f"q{n}") for n in range(3)]
    start(Verb.RETRY, JobFilter(dead=True), "operator")
    cluster = spawn("manage.py", "qcluster")
    until(
        lambda: Task.objects.filter(group__startswith="console", success=True).exists(), "the task"
    )
    assert_state(State.AVAILABLE, *ids)
    page = console.get(reverse("ojs_console:dead_letter")).content.decode()
    assert "3 jobs retried" in page
    assert "Bulk actions will not start" not in page
    cluster.terminate()
    cluster.wait()
    Task.objects.all().delete()
