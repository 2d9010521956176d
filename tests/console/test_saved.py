"""Saved views of the lists: a user's own, shared views, and the columns of a user."""

from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.urls import reverse

from console import saved
from console.columns import COLUMNS, USUAL
from console.models import SavedView
from jobs.models import Audit
from tests.factories import stored_ids

JOBS = "/console/jobs/"


def act(client: Client, verb: str, **form: str) -> Any:
    """Send the form of a button."""
    return client.post(reverse("ojs_console:act", args=[verb]), {"next": JOBS, **form}, follow=True)


def save(client: Client, name: str, query: str = "state=active", **more: str) -> Any:
    """Save a view of the jobs."""
    return act(client, "view-save", page="jobs", name=name, query=query, **more)


@pytest.fixture
def colleague(operator: User) -> Client:
    """Return another user with permission to save views."""
    user = User.objects.create_user("colleague")
    names = ("view_job", "add_savedview", "delete_savedview")
    user.user_permissions.set(Permission.objects.filter(codename__in=names))
    client = Client()
    client.force_login(user)
    return client


def test_a_view_is_saved_shown_and_leads_to_the_same_list(console: Client) -> None:
    page = save(console, "Stuck", "state=active&queue=mail&columns=worker,queue&after=x&evil=1")
    view = SavedView.objects.get()
    assert view.query == "state=active&queue=mail&columns=queue%2Cworker"
    assert "“Stuck” is saved" in page.content.decode()
    assert f"?{view.query.replace('&', '&amp;')}" in page.content.decode()
    listed = console.get(f"{JOBS}?{view.query}")
    assert listed.context["wanted"].queue == "mail"
    assert [column.name for column in listed.context["columns"]] == ["queue", "worker"]
    assert [entry.action for entry in Audit.objects.all()] == ["view.saved"]


def test_saving_under_the_same_name_replaces_it(console: Client) -> None:
    save(console, "Mine", "state=active")
    save(console, "Mine", "state=retryable")
    assert SavedView.objects.get().query == "state=retryable"


def test_others_see_shared_views_alone_and_forget_none(console: Client, colleague: Client) -> None:
    save(console, "Private")
    save(console, "Ours", is_shared="1")
    page = colleague.get(JOBS).content.decode()
    assert "Ours" in page
    assert "Private" not in page
    shared = SavedView.objects.get(name="Ours")
    assert "does not exist" in act(colleague, "view-delete", id=str(shared.pk)).content.decode()
    assert SavedView.objects.count() == 2
    act(console, "view-delete", id=str(shared.pk))
    assert [view.name for view in SavedView.objects.all()] == ["Private"]


def test_a_view_belongs_to_its_page(console: Client) -> None:
    act(console, "view-save", page="dead_letter", name="Mail errors", query="type=mail.*")
    assert "Mail errors" not in console.get(JOBS, follow=True).context["views"]
    assert [view.name for view in console.get("/console/dead-letter/").context["views"]] == [
        "Mail errors"
    ]


@pytest.mark.parametrize(
    ("form", "told"),
    [
        ({"name": ""}, "must have 1 to 60 characters"), ({"name": "x" * 61}, "must have 1 to 60"),
        ({"name": "\x00"}, "must have 1 to 60"), ({"page": "audit"}, "must be one of"),
    ],
)  # fmt: skip
def test_what_cannot_be_saved_is_told(console: Client, form: dict[str, str], told: str) -> None:
    page = act(console, "view-save", **{"page": "jobs", "name": "x", "query": "", **form})
    assert told in page.content.decode()
    assert not SavedView.objects.exists()


@pytest.mark.parametrize("view_id", ["", "x", "-1", "9" * 30, "\u0663"])
def test_an_unknown_view_is_told(console: Client, view_id: str) -> None:
    assert "does not exist" in act(console, "view-delete", id=view_id).content.decode()


def test_there_is_an_end_to_views(console: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(saved, "MOST", 2)
    for name in "abc":
        page = save(console, name)
    assert "exceed the limit of 2 saved views" in page.content.decode()
    save(console, "a", "state=retryable")  # a saved view can still be changed
    assert sorted(view.name for view in SavedView.objects.all()) == ["a", "b"]


def columns_of(client: Client, query: str = "") -> list[str]:
    """Return the columns of the list of jobs."""
    return [column.name for column in client.get(f"{JOBS}{query}").context["columns"]]


def set_columns(client: Client, *names: str, page: str = JOBS) -> str:
    """Set the columns of the user; return the address of the next page."""
    answer = client.post(reverse("ojs_console:columns"), {"columns": names, "next": page})
    return str(answer["Location"])


def test_a_user_keeps_columns_until_others_are_set(console: Client, colleague: Client) -> None:
    shown = set_columns(console, "worker", "queue", page=f"{JOBS}?queue=mail&columns=meta")

    assert shown == f"{JOBS}?queue=mail&columns=queue%2Cworker"
    assert columns_of(console) == ["queue", "worker"]
    assert columns_of(console, "?columns=meta") == ["meta"]  # an address names its own
    assert columns_of(colleague) == list(USUAL)
    set_columns(console, "error")
    assert columns_of(console) == ["error"]
    assert set_columns(console) == JOBS
    assert columns_of(console) == list(USUAL)
    assert not SavedView.objects.exists()


def test_an_address_shows_the_same_columns_to_every_user(
    console: Client, colleague: Client
) -> None:
    stored_ids(60)
    set_columns(console, "queue")
    set_columns(colleague, "error")
    own = console.get(JOBS).context
    usual = console.get(f"{JOBS}?columns={','.join(USUAL)}").context
    assert columns_of(colleague, f"?{own['next_link']}") == ["queue"]
    assert columns_of(colleague, f"?{usual['next_link']}") == list(USUAL)

    save(console, "All see it", f"columns={','.join(USUAL)}", is_shared="1")

    (view,) = colleague.get(JOBS).context["views"]  # no view has the columns of another user
    assert columns_of(colleague, f"?{view.query}") == list(USUAL)


def test_set_columns_are_no_view_to_count_or_to_delete(
    console: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(saved, "MOST", 1)
    set_columns(console, *COLUMNS)
    save(console, "a")
    assert [view.name for view in console.get(JOBS).context["views"]] == ["a"]
    assert columns_of(console) == list(COLUMNS)


@pytest.mark.parametrize("names", [["nonsense"], ["\x00"], ["x" * 10_000], [""]])
def test_unknown_columns_are_the_usual_ones(console: Client, names: list[str]) -> None:
    assert set_columns(console, *names) == JOBS
    assert columns_of(console) == list(USUAL)


def test_set_columns_lead_to_no_other_site(console: Client) -> None:
    assert set_columns(console, "queue", page="https://evil.example.org/").startswith("/console/")
