"""Undo in the console: after an action, of an operation, and on the page of operations."""

import pytest
from django.test import Client

from console import operations, walk
from jobs.domain.access.caller import Caller
from jobs.domain.states import State
from jobs.models import Audit, Undo
from jobs.services.operate import operate
from tests.asserts import assert_state, assert_store_is_sound
from tests.console.test_actions import act, messages_of
from tests.console.test_operations import begin, clean, run_tasks
from tests.factories import JobFactory, stored_ids

__all__ = ["clean"]
NEW = "/console/operations/new/"


def test_the_message_after_an_action_offers_its_undo(console: Client) -> None:
    job_id = JobFactory.create().id
    answer = act(console, "cancel", id=job_id, next=f"/console/jobs/{job_id}/")
    page = console.get(answer.url).content.decode()
    number = Undo.objects.get().pk
    assert f'name="id" value="{number}"' in page

    done = act(console, "undo", id=str(number), reason="a mistake")

    assert messages_of(done) == ["1 job is restored."]
    assert_state(State.AVAILABLE, job_id)
    entry = Audit.objects.get(action="operation.undo_started")
    assert (entry.actor, entry.reason) == ("console:operator", "a mistake")


def test_an_action_that_changed_no_job_offers_no_undo(console: Client) -> None:
    job_id = JobFactory.create(state=State.COMPLETED).id
    act(console, "cancel", id=job_id)

    assert "/actions/undo/" not in console.get("/console/jobs/").content.decode()


def test_an_operation_is_undone_from_its_page(console: Client) -> None:
    ids = stored_ids(5, queue="mail")
    operation = begin("cancel", state="available", queue="mail")
    run_tasks()
    operation.refresh_from_db()
    page = console.get(f"/console/operations/{operation.pk}/").content.decode()
    assert "5 jobs can be restored" in page

    act(console, "undo", id=str(operation.undo_id))

    assert_state(State.AVAILABLE, *ids)
    assert_store_is_sound()
    assert "5 restored" in console.get(f"/console/operations/{operation.pk}/").content.decode()


def test_the_page_of_operations_names_why_a_job_was_not_restored(console: Client) -> None:
    job_id = JobFactory.create().id
    operate.cancel_job(job_id, Caller("ada"))
    operate.retry_job(job_id, None, Caller("ada"))
    number = Undo.objects.order_by("pk").first()
    assert number is not None

    act(console, "undo", id=str(number.pk))

    page = console.get("/console/operations/").content.decode()
    assert "it was changed again since" in page


def test_an_undone_operation_changes_no_more_jobs(console: Client) -> None:
    ids = stored_ids(3, queue="mail")
    operation = begin("cancel", state="available", queue="mail")
    Undo.objects.update(state="undone")

    run_tasks()

    operation.refresh_from_db()
    assert (operation.state, operation.problem) == ("failed", "the operation is being undone")
    assert_state(State.AVAILABLE, *ids)


def test_the_rate_of_an_operation_is_changed_within_bounds(console: Client) -> None:
    stored_ids(1, queue="mail")
    operation = begin("cancel", state="available", queue="mail")
    path = f"/console/operations/{operation.pk}/"

    assert console.post(path, {"do": "rate", "rate": "50"}).status_code == 302
    assert console.post(path, {"do": "rate", "rate": "5"}).status_code == 409

    operation.refresh_from_db()
    assert operation.rate == 50


def test_a_slice_takes_as_long_as_the_rate_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(walk, "SLICE", 2)
    stored_ids(4, queue="mail")
    operation = begin("cancel", state="available", queue="mail")
    operations.set_rate(operation.pk, Caller("ada"), rate=10)

    assert operations._slice(operation.pk, 0) == (1, 0.2)


def test_clearly_more_jobs_than_in_the_preview_need_another_look(console: Client) -> None:
    ids = stored_ids(30, queue="mail")
    form = {"verb": "cancel", "state": "available", "queue": "mail", "expected": "10"}

    refused = console.post(NEW, form)

    assert refused.status_code == 400
    assert "30 jobs match now, the preview had 10" in refused.content.decode()
    assert console.post(NEW, {**form, "expected": "25"}).status_code == 302
    assert_state(State.AVAILABLE, *ids)
