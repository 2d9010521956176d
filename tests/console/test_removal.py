"""The previews before a purge and a deletion, and the deletion of a queue."""

import re

import pytest
from django.contrib.auth.models import Permission, User
from django.http import HttpResponse
from django.test import Client

from jobs.domain.access.caller import SYSTEM
from jobs.domain.states import State
from jobs.models import Audit, Job, Queue, Undo
from jobs.services.operate.undo import undo
from tests.console.test_actions import act, messages_of
from tests.console.test_pages import text, url
from tests.cost import statements_of
from tests.factories import JobFactory, stored, stored_ids
from tests.scheduling.pools import of_tenant
from tests.tenancy.wire import put as put_tenant

pytestmark = pytest.mark.usefixtures("store")
NONE = "\N{EN DASH}"
QUEUE, TENANT = "/console/remove-queue/mail/", "/console/tenants/acme/remove/"


def rows_of(page: str) -> dict[str, list[str]]:
    """Return the rows of the preview by their first cell."""
    table = page.split("Jobs by ")[1].split("</table>", maxsplit=1)[0]
    found = [
        [re.sub(r"<[^>]+>", "", cell).strip() for cell in re.split(r"</t[hd]>", row)][:-1]
        for row in table.split("<tr>")[2:]
    ]
    return {row[0]: row[1:] for row in found}


def filled() -> list[str]:
    """Store jobs of two tenants in several states; return the ids of the available ones."""
    for state in (State.ACTIVE, State.DISCARDED):
        JobFactory.create(queue="mail", state=state)
    put_tenant("acme")
    of_tenant("acme", 3, queue="mail")
    of_tenant("acme", 1, queue="other")
    return stored_ids(2, queue="mail")


def test_a_purge_shows_its_jobs_by_state_and_tenant_with_ages_and_examples(console: Client) -> None:
    (first, _) = filled()

    page = text(console, QUEUE)

    rows = rows_of(page)
    states = [state.value for state in State]
    assert dict(zip(states, rows["All"], strict=True)) == {
        **dict.fromkeys(states, "0"), "available": "5", "active": "1", "discarded": "1",
    }  # fmt: skip
    assert rows["acme"][states.index("available")] == "3"
    assert rows["no tenant"][states.index("available")] == "2"
    for name in ("Oldest, created", "Newest, created"):
        assert rows[name][states.index("available")] != NONE
        assert rows[name][states.index("completed")] == NONE
    examples = page.split("Examples")[1].split("</ul>")[0]
    assert examples.count("/console/jobs/") == 5
    assert "discarded" in examples
    assert "acme" in examples or first in examples


def test_times_of_a_part_of_the_jobs_are_bounds(
    console: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("console.walk.SLICE", 1)
    stored(2, queue="mail", priority=0)
    stored(1, queue="mail", scheduled_at="2999-01-01T00:00:00Z")

    rows = rows_of(text(console, QUEUE))

    states = [state.value for state in State]
    for name, mark in (("Oldest, created", "≥"), ("Newest, created", "≤")):
        assert mark in rows[name][states.index("available")]
        assert mark not in rows[name][states.index("scheduled")]


def test_jobs_that_ended_after_the_count_have_no_time(
    console: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled()
    monkeypatch.setattr("console.walk.first", lambda *_: [])

    rows = rows_of(text(console, QUEUE))

    states = [state.value for state in State]
    assert rows["Oldest, created"][states.index("active")] == "not read"
    assert rows["Oldest, created"][states.index("completed")] == NONE


def test_a_preview_costs_the_same_with_many_jobs(console: Client) -> None:
    def cost(path: str) -> int:
        return statements_of(lambda: text(console, path))

    filled()
    before = cost(QUEUE), cost(TENANT)
    for tenant in ("a", "b", "acme"):
        of_tenant(tenant, 20, queue="mail")

    assert (cost(QUEUE), cost(TENANT)) == before


def test_the_deletion_of_a_tenant_shows_its_jobs_that_have_not_ended(console: Client) -> None:
    filled()

    page = text(console, TENANT)

    rows = rows_of(page)
    assert sum(map(int, rows["All"])) == 4
    assert (sum(map(int, rows["mail"])), sum(map(int, rows["other"]))) == (3, 1)
    assert "no tenant" not in rows
    assert "has 4 jobs that have not ended" in page
    assert TENANT in text(console, url("tenant", "acme"))
    assert console.get("/console/tenants/none/remove/").status_code == 404


def test_a_tenant_with_jobs_is_deleted_with_its_jobs_only(console: Client) -> None:
    filled()

    page = text(console, TENANT)

    assert "Delete tenant acme" in page
    assert 'disabled aria-describedby="obstacle">Delete acme' in page
    assert page.count("disabled aria-describedby") == 1


def test_an_unknown_queue_has_no_preview(console: Client) -> None:
    assert console.get("/console/remove-queue/none/").status_code == 404
    assert console.get("/console/remove-queue/a%00b/").status_code in {400, 404}
    stored_ids(1)
    assert "This queue cannot be deleted" in text(console, "/console/remove-queue/default/")


def delete(console: Client, **form: str) -> HttpResponse:
    """Send the form of the deletion."""
    given = {"id": "mail", "confirm": "mail", "strategy": "discard", "reason": "unused", **form}
    answer: HttpResponse = act(console, "queue-delete", **given)
    return answer


def test_a_queue_is_deleted_with_its_waiting_jobs_and_comes_back(console: Client) -> None:
    ids = stored_ids(2, queue="mail")

    told = messages_of(delete(console))

    assert told == ["Queue mail is deleted. 2 jobs were cancelled."]
    assert not Queue.objects.filter(name="mail").exists()
    entry = Audit.objects.filter(action="queue.deleted", reason="unused").latest("id")
    assert entry.data == {"strategy": "discard", "jobs_affected": 2}
    undo(Undo.objects.get(action="queue.deleted").pk, SYSTEM)
    assert Queue.objects.filter(name="mail").exists()
    assert Job.objects.filter(id__in=ids, state=None).count() == 2


def test_a_queue_is_deleted_after_its_jobs_were_moved(console: Client) -> None:
    stored_ids(2, queue="mail")
    stored_ids(1, queue="other")

    told = messages_of(delete(console, strategy="move", target_queue="other"))

    assert told == ["Queue mail is deleted. 2 jobs were moved."]
    assert Job.objects.filter(queue="other").count() == 3


@pytest.mark.parametrize(
    ("form", "said"),
    [
        ({"confirm": "mial"}, "does not match the queue"),
        ({"strategy": "burn"}, "Strategy must be one of"),
        ({"strategy": ""}, "Strategy must be one of"),
        ({"strategy": "reject"}, "has 1 jobs that have not ended"),
        ({"strategy": "move"}, "Target_queue is required"),
        ({"strategy": "move", "target_queue": "mail"}, "Target_queue must be another queue"),
        ({"strategy": "move", "target_queue": "none\x00"}, "does not exist"),
        ({"reason": ""}, "Reason is required"),
        ({"reason": "x" * 1001}, "Reason must have at most 1000 characters"),
        ({"id": "none", "confirm": "none"}, "does not exist"),
        ({"id": "default", "confirm": "default"}, "cannot be deleted"),
    ],
)
def test_a_wrong_deletion_deletes_nothing_and_names_its_field(
    console: Client, form: dict[str, str], said: str
) -> None:
    stored_ids(1, queue="mail")

    assert said in messages_of(delete(console, **form))[-1]

    assert Queue.objects.filter(name="mail", draining=False).exists()
    assert Job.objects.filter(queue="mail", state=None).count() == 1


def test_a_deletion_needs_its_own_permit(viewer: User) -> None:
    stored_ids(1, queue="mail")
    client = Client()
    client.force_login(viewer)
    assert client.get(QUEUE).status_code == 403
    viewer.user_permissions.add(
        *Permission.objects.filter(codename__in=("delete_job", "change_queue"))
    )
    client.force_login(User.objects.get(pk=viewer.pk))

    page = text(client, QUEUE)

    assert "/actions/purge/" in page
    assert "queue-delete" not in page
    assert delete(client).status_code == 403
