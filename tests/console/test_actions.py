"""Actions of operators: each action once, by POST, with the required permission."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.contrib.messages import get_messages
from django.test import Client
from django.urls import reverse

from console.access import UPDATE
from console.actions.table import ACTIONS
from jobs.domain.states import State
from jobs.domain.wire.ids import new_id
from jobs.models import Queue, Worker
from jobs.services.workers.heartbeat import Report, heartbeat
from tests.asserts import assert_state, assert_store_is_sound
from tests.factories import JobFactory


def act(client: Client, verb: str, **form: str) -> Any:
    """Send the form of a button."""
    return client.post(reverse("ojs_console:act", args=[verb]), form)


def messages_of(answer: Any) -> list[str]:
    """Return the messages that the next page will show."""
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
        assert "does not exist" in messages_of(answer)[-1]


def test_an_update_of_the_former_page_leaves_the_message_to_the_next(console: Client) -> None:
    """It may come between a change and the page that the change redirects to."""
    page = act(console, "pause", id="mail", next="/console/queues/")["Location"]

    update = console.get("/console/", headers={UPDATE: "true"}).content.decode()

    assert "mail is paused" not in update
    assert "mail is paused" in console.get(page).content.decode()


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
