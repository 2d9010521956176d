"""Classified jobs: arguments are hidden, shown with a permission, and each view is recorded."""

import json
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.urls import reverse

from jobs.domain.states import State
from jobs.models import Audit
from tests.asserts import assert_state
from tests.console.test_exports import content, export
from tests.factories import JobFactory
from tests.spec import spec

SECRET = "4111-1111"  # noqa: S105 - an argument that must stay hidden


def classified(word: Any = "confidential", **envelope: Any) -> Any:
    """Return a job that is marked as classified."""
    return JobFactory.create(args=[SECRET], meta={"data_classification": word}, **envelope)


def dead() -> Any:
    return classified(state=State.DISCARDED, retry={"on_exhaustion": "dead_letter"})


def page(client: Client, name: str, job: Any) -> Any:
    return client.get(reverse(f"ojs_console:{name}", args=[job.id]))


@pytest.fixture
def outsider(viewer: User) -> Client:
    """Return an operator who may retry and clone, but may not see classified arguments."""
    names = ["change_job", "add_job", "view_audit"]
    viewer.user_permissions.add(*Permission.objects.filter(codename__in=names))
    client = Client()
    client.force_login(viewer)
    return client


@pytest.mark.parametrize("word", ["confidential", "restricted", " Restricted "])
@spec("contract 31.4")
def test_the_page_of_a_job_hides_classified_arguments(console: Client, word: str) -> None:
    job = classified(word)
    shown = page(console, "job", job).content.decode()

    assert SECRET not in shown
    assert reverse("ojs_console:job_arguments", args=[job.id]) in shown


@pytest.mark.parametrize("word", ["public", "internal", "", None, 7, ["restricted"], {}])
def test_other_words_hide_nothing(console: Client, word: Any) -> None:
    job = classified(word)

    assert SECRET in page(console, "job", job).content.decode()
    assert page(console, "job_arguments", job)["Location"] == reverse(
        "ojs_console:job", args=[job.id]
    )
    assert not Audit.objects.exists()


@pytest.mark.parametrize("name", ["job_arguments", "job_retry", "job_clone"])
@spec("contract 31.4")
def test_who_may_sees_them_and_is_recorded(console: Client, name: str) -> None:
    job = dead()

    assert SECRET in page(console, name, job).content.decode()
    entry = Audit.objects.get()
    assert (entry.actor, entry.action, entry.target) == (
        "console:operator", "job.arguments_seen", job.id,
    )  # fmt: skip
    assert entry.data == {"classification": "confidential"}


@pytest.mark.parametrize("name", ["job_arguments", "job_retry", "job_clone"])
@spec("contract 31.4")
def test_who_may_not_is_refused(outsider: Client, name: str) -> None:
    job = dead()
    refused = page(outsider, name, job)

    assert refused.status_code == 403
    assert SECRET not in refused.content.decode()
    assert "lacks the permission to see them" in page(outsider, "job", job).content.decode()
    assert not Audit.objects.filter(action="job.arguments_seen").exists()


@spec("contract 31.4")
def test_a_form_that_was_not_shown_cannot_be_sent(outsider: Client) -> None:
    job = dead()
    form = {"args": "[1]", "meta": "{}", "queue": job.queue, "priority": "0"}

    for name in ("job_retry", "job_clone"):
        sent = outsider.post(reverse(f"ojs_console:{name}", args=[job.id]), form)
        assert sent.status_code == 403
    assert_state(State.DISCARDED, job.id)


@spec("contract 31.4")
def test_lists_and_files_leave_them_out(console: Client) -> None:
    job = classified()
    listed = console.get(reverse("ojs_console:jobs"), {"columns": "args"}).content.decode()
    csv = content(console, export(console, state="available", columns=["args"]))
    (line,) = content(console, export(console, format="jsonl")).splitlines()

    assert SECRET not in listed + csv + line
    assert "(classified)" in listed
    assert "(classified)" in csv
    assert json.loads(line)["id"] == job.id
    assert not {"args", "result"} & json.loads(line).keys()


@pytest.mark.parametrize("state", [State.AVAILABLE, State.SCHEDULED, State.DISCARDED])
@spec("contract 31.4")
def test_a_search_does_not_tell_what_they_are(console: Client, state: State) -> None:
    classified("\tRestricted\n", state=state)
    plain = JobFactory.create(args=[SECRET], meta={"data_classification": "internal"}, state=state)

    found = console.get(reverse("ojs_console:jobs"), {"args": SECRET, "state": state.value})

    assert [job.id for job in found.context["page"].jobs] == [plain.id]


@spec("contract 31.4")
def test_django_s_admin_leaves_them_out(console: Client) -> None:
    def shown(job: Any) -> str:
        return console.get(reverse("admin:ojs_jobs_job_change", args=[job.id])).content.decode()

    assert SECRET not in shown(classified())
    assert SECRET in shown(classified("public"))
