"""Users and groups in Django's admin: users grant, change or delete only their own permissions."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import Group, Permission, User
from django.test import Client
from django.urls import reverse

from console.roles import Role
from jobs.models import Audit
from tests.console.conftest import hashed_password

pytestmark = pytest.mark.usefixtures("store")
OWN = ("view_user", "add_user", "change_user", "delete_user", "view_group", "add_group",
       "change_group", "delete_group", "view_job")  # fmt: skip


@pytest.fixture(autouse=True)
def _clean(store: None) -> Iterator[None]:
    yield
    User.objects.all().delete()
    Group.objects.exclude(name__in=[role.group for role in Role]).delete()


def made(name: str, *permissions: str, **facts: Any) -> User:
    """Store a user."""
    user = User.objects.create(
        username=name, password=hashed_password(), is_staff=True, **facts
    )  # hashing a password is slow
    user.user_permissions.set(Permission.objects.filter(codename__in=permissions))
    return user


@pytest.fixture
def helper() -> User:
    """Return a user with permission to manage users and to view jobs."""
    return made("helper", *OWN)


@pytest.fixture
def client(helper: User) -> Client:
    """Return a client that is logged in as that user."""
    found = Client()
    found.force_login(helper)
    return found


def change(user: User, kind: str = "change") -> str:
    return reverse(f"admin:auth_user_{kind}", args=[user.pk])


def password(user: User) -> str:
    return reverse("admin:auth_user_password_change", args=[user.pk])


def form(user: User, **given: Any) -> dict[str, Any]:
    """Return the form of a user as the browser sends it."""
    return {
        "username": user.username, "is_active": "on", "is_staff": "on",
        "date_joined_0": "2026-01-01", "date_joined_1": "00:00:00",
        "groups": [], "user_permissions": [], **given,
    }  # fmt: skip


def pk(codename: str) -> int:
    return int(Permission.objects.get(codename=codename).pk)


def test_permissions_and_groups_beyond_the_own_are_refused(client: Client) -> None:
    other = made("other")
    admins = Group.objects.get(name=Role.ADMIN.group)

    for beyond in ({"user_permissions": [pk("change_job")]}, {"groups": [admins.pk]}):
        answer = client.post(change(other), form(other, **beyond))
        assert answer.status_code == 200
        assert "errors" in answer.context
    assert not other.user_permissions.exists()
    assert not other.groups.exists()


def test_the_own_permissions_are_granted_and_recorded(client: Client) -> None:
    other = made("other")

    answer = client.post(change(other), form(other, user_permissions=[pk("view_job")]))

    assert answer.status_code == 302
    assert other.user_permissions.get().codename == "view_job"
    entry = Audit.objects.get()
    assert (entry.actor, entry.action, entry.target) == ("admin:helper", "user.changed", "other")
    assert entry.data["permissions"] == ["ojs_jobs.view_job"]


def test_nobody_but_a_superuser_makes_one(client: Client, helper: User) -> None:
    for user in (made("other"), helper):
        client.post(change(user), form(user, is_superuser="on"))
    assert not User.objects.filter(is_superuser=True).exists()

    root = Client()
    root.force_login(made("root", is_superuser=True))
    other = User.objects.get(username="other")
    root.post(change(other), form(other, is_superuser="on"))
    assert User.objects.get(username="other").is_superuser


@pytest.mark.parametrize("facts", [{"is_superuser": True}, {}, {"is_active": False}])
def test_a_user_with_more_rights_is_not_touched(client: Client, facts: dict[str, bool]) -> None:
    above = made("above", *([] if "is_superuser" in facts else ["change_job"]), **facts)
    before = User.objects.get(pk=above.pk).password
    new = {"password1": "an other one 77", "password2": "an other one 77"}

    assert client.post(change(above), form(above, email="x@example.org")).status_code == 403
    assert client.post(password(above), {**new, "usable_password": "true"}).status_code == 403
    assert client.post(change(above, "delete"), {"post": "yes"}).status_code == 403
    client.post(
        reverse("admin:auth_user_changelist"),
        {"action": "delete_selected", "_selected_action": [above.pk], "post": "yes"},
    )

    kept = User.objects.get(pk=above.pk)
    assert (kept.password, kept.email) == (before, "")


def test_a_user_within_the_own_rights_is_changed_and_deleted(client: Client) -> None:
    other = made("other", "view_job")
    new = {"password1": "an other one 77", "password2": "an other one 77"}

    assert client.post(password(other), {**new, "usable_password": "true"}).status_code == 302
    assert client.post(change(other, "delete"), {"post": "yes"}).status_code == 302

    told = Audit.objects.order_by("id").values_list("action", "target")
    assert list(told) == [("user.changed", "other"), ("user.deleted", "other")]


def test_a_group_with_more_rights_is_not_touched(client: Client) -> None:
    above = Group.objects.get(name=Role.OPERATOR.group)
    page = reverse("admin:auth_group_change", args=[above.pk])

    assert client.post(page, {"name": above.name, "permissions": []}).status_code == 403
    gone = reverse("admin:auth_group_delete", args=[above.pk])
    assert client.post(gone, {"post": "yes"}).status_code == 403
    assert above.permissions.exists()


def test_a_group_gets_the_own_permissions_alone_and_is_recorded(client: Client) -> None:
    add = reverse("admin:auth_group_add")

    refused = client.post(add, {"name": "new", "permissions": [pk("change_job")]})
    taken = client.post(add, {"name": "new", "permissions": [pk("view_job")]})

    assert (refused.status_code, taken.status_code) == (200, 302)
    entry = Audit.objects.get()
    assert (entry.action, entry.target) == ("group.created", "new")
    assert entry.data["permissions"] == ["ojs_jobs.view_job"]


def test_an_admin_by_role_grants_no_more_than_its_role(helper: User) -> None:
    admin = made("admin")
    admin.groups.add(Group.objects.get(name=Role.ADMIN.group))
    client = Client()
    client.force_login(admin)

    taken = client.post(
        change(helper), form(helper, groups=[Group.objects.get(name=Role.ADMIN.group).pk])
    )
    refused = client.post(change(helper), form(helper, user_permissions=[pk("add_schedule")]))

    assert (taken.status_code, refused.status_code) == (302, 200)
    assert helper.groups.get().name == Role.ADMIN.group
    assert not helper.user_permissions.filter(codename="add_schedule").exists()
