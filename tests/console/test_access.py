"""Permissions in the console: every route, every action, every role."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.contrib.auth.views import LoginView, LogoutView
from django.db import DatabaseError, transaction
from django.test import Client
from django.urls import URLPattern, resolve, reverse
from django_q.models import OrmQ

from console.access import Guarded
from console.actions.table import ACTIONS
from console.models import Operation
from console.pages import BY_NAME
from console.roles import Role, role_of
from console.slash import WithSlash
from console.urls import urlpatterns
from jobs.domain.access.caller import Caller
from jobs.domain.access.permits import Permit, Tenants
from jobs.domain.states import State
from jobs.models import Audit, Staff
from jobs.permits import table
from jobs.services.audit.audit import record
from tests.asserts import assert_state
from tests.concurrency import aggregate_all
from tests.console.test_actions import act
from tests.console.test_operations import begin, run_tasks
from tests.factories import JobFactory

PUBLIC = (LoginView, LogoutView, WithSlash)  # they show and change nothing
OWN = {"within", "display", "columns"}  # a POST that only changes the view of its own user
READS = {"job_decode"}  # a POST that gives a reason to read, and changes nothing
SAMPLES = {"int": 1, "str": "x", "path": "x", "uuid": "01890000-0000-7000-8000-000000000000"}
LogIn = Callable[..., Client]


def guarded() -> list[URLPattern]:
    """Return every route that needs a login."""
    return [one for one in urlpatterns if not issubclass(view_of(one), PUBLIC)]


def view_of(route: URLPattern) -> Any:
    """Return the class that answers a route."""
    return route.callback.view_class  # type: ignore[attr-defined]  # set by as_view


def addresses(route: URLPattern) -> list[str]:
    """Return the paths of a route: one path, or one for each action."""
    if route.name == "act":
        return [reverse("ojs_console:act", args=[verb]) for verb in ACTIONS]
    facts = {
        name: SAMPLES[
            type(kind).__name__.removesuffix("Converter").replace("String", "str").lower()
        ]
        for name, kind in route.pattern.converters.items()
    }
    return [reverse(f"ojs_console:{route.name}", kwargs=facts)]


ROUTES = [pytest.param(route, id=str(route.name)) for route in guarded()]
ADDRESSES = [pytest.param(route, path, id=path) for route in guarded() for path in addresses(route)]


@pytest.fixture
def log_in(store: None) -> Iterator[LogIn]:
    """Return a function that logs in a user of a role."""

    def make(role: Role, *tenants: str, **options: Any) -> Client:
        user, _ = User.objects.get_or_create(username=f"a {role.name.lower()}", is_staff=True)
        user.groups.set([Group.objects.get(name=role.group)])
        if tenants:
            Staff.objects.update_or_create(user=user, defaults={"tenants": list(tenants)})
        client = Client(**options)
        client.force_login(user)
        return client

    yield make
    User.objects.all().delete()
    OrmQ.objects.all().delete()  # tasks that the actions queued


def least(route: URLPattern, path: str, method: str) -> int:
    """Return the least role that may send this request."""
    return max(role_of(one) for one in permit_of(route, path, method).permissions)


def permit_of(route: URLPattern, path: str, method: str) -> Permit:
    """Return the permit that this request needs."""
    view = view_of(route)()
    view.setup(Client().get(path).wsgi_request, **resolved(path))
    view.request.method = method
    permit: Permit | None = view.permit()
    assert permit is not None, f"the table lacks {method} {path}"
    return permit


def resolved(path: str) -> dict[str, Any]:
    """Return the arguments of a path's view."""
    return dict(resolve(path).kwargs)


@pytest.mark.parametrize("route", ROUTES)
def test_every_route_stands_behind_the_guard_and_names_a_permission(
    store: None, route: URLPattern
) -> None:
    view = view_of(route)

    assert issubclass(view, Guarded), "a view of the console is a PageView or Guarded"
    for path in addresses(route):
        for method in ("get", "post"):
            if hasattr(view, method) and method in view.http_method_names:
                assert permit_of(route, path, method.upper()).permissions


@pytest.mark.parametrize(("route", "path"), ADDRESSES)
def test_a_view_that_changes_something_asks_more_than_a_viewer_has(
    store: None, route: URLPattern, path: str
) -> None:
    view = view_of(route)
    if not (hasattr(view, "post") and "post" in view.http_method_names) or route.name in OWN:
        assert not {"put", "patch", "delete"} & set(dir(view))
        return
    assert least(route, path, "POST") > Role.VIEWER


@pytest.mark.parametrize(("route", "path"), ADDRESSES)
def test_each_role_may_what_it_is_for_and_no_more(
    log_in: LogIn, route: URLPattern, path: str
) -> None:
    posts = hasattr(view_of(route), "post")
    reads = "get" in view_of(route).http_method_names and hasattr(view_of(route), "get")
    for role in Role:
        client = log_in(role)
        if reads:
            is_refused = client.get(path).status_code == 403
            assert is_refused == (role < least(route, path, "GET")), role
        else:
            assert client.get(path).status_code == 405, role
        answer = client.post(path)
        if not posts:
            assert answer.status_code == 405, role
            continue
        assert (answer.status_code == 403) == (role < least(route, path, "POST")), role


@pytest.mark.parametrize(("route", "path"), ADDRESSES)
def test_a_post_takes_a_token_and_a_login(log_in: LogIn, route: URLPattern, path: str) -> None:
    assert Client().post(path)["Location"].startswith("/console/login/")
    if hasattr(view_of(route), "post"):
        strict = log_in(Role.ADMIN, enforce_csrf_checks=True)
        assert strict.post(path).status_code == 403


@pytest.mark.parametrize(
    "path",
    [path for route in guarded() if route.name not in OWN | READS for path in addresses(route)],
)
def test_a_read_only_console_changes_nothing(log_in: LogIn, settings: Any, path: str) -> None:
    settings.OJS_CONSOLE = {"READ_ONLY": True}
    client = log_in(Role.ADMIN)

    answer = client.post(path)

    assert answer.status_code in {403, 405}
    if answer.status_code == 403:
        assert "read-only" in answer.content.decode()


def test_a_read_only_console_has_no_buttons(console: Client, settings: Any) -> None:
    JobFactory.create(state=State.DISCARDED)
    settings.OJS_CONSOLE = {"READ_ONLY": True}
    for name in ("overview", "queues", "dead_letter", "workers", "webhooks", "tenants"):
        page = console.get(reverse(f"ojs_console:{name}")).content.decode()
        assert "/console/actions/" not in page
        assert "read-only" in page


def test_the_groups_hold_what_their_roles_are_for(store: None) -> None:
    held = {
        role: {
            f"{one.content_type.app_label}.{one.codename}"
            for one in Group.objects.get(name=role.group).permissions.select_related("content_type")
        }
        for role in Role
    }
    assert held[Role.VIEWER] < held[Role.OPERATOR] < held[Role.ADMIN]
    for permit in table().named.values():
        for role in Role:
            assert (role >= permit.role) == held[role].issuperset(permit.permissions), permit
    assert held[Role.ADMIN] >= {"ojs_jobs.view_apikey", "auth.change_user"}
    assert all(".view_" in one for one in held[Role.VIEWER])
    assert "ojs_jobs.view_apikey" not in held[Role.OPERATOR]


def test_an_entry_of_the_audit_log_says_who_what_and_why(log_in: LogIn) -> None:
    client = log_in(Role.OPERATOR)

    act(client, "pause", id="mail", reason=" it floods \x00")

    entry = Audit.objects.get(action="queue.paused")
    assert (entry.actor, entry.target, entry.reason) == (
        "console:a operator", "mail", "it floods",
    )  # fmt: skip


def test_the_database_keeps_the_audit_log_as_it_was_written(store: None) -> None:
    record(Caller("ada"), "queue.paused", "mail")
    for change in (
        lambda: Audit.objects.update(actor="nobody"),
        lambda: Audit.objects.all().delete(),
    ):
        with pytest.raises(DatabaseError, match="never changed"), transaction.atomic():
            change()
    assert Audit.objects.get().actor == "ada"


# Users who are restricted to tenants


@pytest.fixture
def of_blue(log_in: LogIn) -> Client:
    """Return an admin of the tenant blue only."""
    return log_in(Role.ADMIN, "blue")


def job_of(tenant: str, **facts: Any) -> Any:
    """Store a job of a tenant."""
    return JobFactory.create(tenant=tenant, meta={"tenant_id": tenant}, **facts)


def test_jobs_of_other_tenants_are_not_to_be_seen(of_blue: Client) -> None:
    own, other = (
        job_of(tenant, state=State.DISCARDED, type=f"of.{tenant}") for tenant in ("blue", "red")
    )

    for name in ("overview", "jobs", "dead_letter"):
        for query in ("", "?tenant=red", "?state=discarded&tenant=red"):
            page = of_blue.get(reverse(f"ojs_console:{name}") + query).content.decode()
            assert "of.red" not in page
    assert own.id in of_blue.get(reverse("ojs_console:job", args=[own.id])).content.decode()
    assert of_blue.get(reverse("ojs_console:job", args=[other.id])).status_code == 404


def test_the_numbers_of_a_restricted_user_are_those_of_its_jobs(of_blue: Client) -> None:

    job_of("blue")
    for _ in range(3):
        job_of("red")
    aggregate_all()

    page = of_blue.get(reverse("ojs_console:overview"))

    assert page.context["totals"][State.AVAILABLE] == 1
    assert [queue.depth for queue in page.context["queues"]] == [1]
    assert page.context["workers"] is None


def test_bulk_actions_take_the_jobs_of_the_own_tenant_alone(of_blue: Client) -> None:
    own, other = (job_of(tenant, state=State.DISCARDED) for tenant in ("blue", "red"))

    asked = {"verb": "retry", "state": "discarded", "tenant": "red"}
    of_blue.post(reverse("ojs_console:operation_new"), asked)
    run_tasks()

    assert_state(State.AVAILABLE, own.id)
    assert_state(State.DISCARDED, other.id)
    of_another = begin("delete", state="completed", tenant="red")
    assert "tenant red" not in of_blue.get(reverse("ojs_console:dead_letter")).content.decode()
    page = reverse("ojs_console:operation", args=[of_another.pk])
    assert of_blue.get(page).status_code == 404
    Operation.objects.all().delete()
    OrmQ.objects.all().delete()


@pytest.mark.parametrize("verb", ["retry", "cancel", "delete"])
def test_jobs_of_other_tenants_are_not_to_be_touched(of_blue: Client, verb: str) -> None:
    state = State.AVAILABLE if verb == "cancel" else State.DISCARDED
    own, other = (job_of(tenant, state=state) for tenant in ("blue", "red"))
    before = Audit.objects.count()

    act(of_blue, verb, id=other.id)
    assert Audit.objects.count() == before
    act(of_blue, verb, id=own.id)
    entry = Audit.objects.latest("id")
    assert (entry.target, entry.tenant) == (own.id, "blue")


@pytest.mark.parametrize(
    "verb",
    [verb for verb in ACTIONS if table().named[ACTIONS[verb].permit].tenants is Tenants.ALL],
)
def test_what_concerns_all_tenants_is_closed(of_blue: Client, verb: str) -> None:
    answer = act(of_blue, verb, id="x")

    assert answer.status_code == 403
    assert "concerns all tenants" in answer.content.decode()


def test_pages_of_all_tenants_are_closed_and_not_in_the_navigation(of_blue: Client) -> None:
    front = of_blue.get(reverse("ojs_console:overview")).content.decode()
    closed = [
        route for route in guarded()
        for page in [BY_NAME[str(route.name)]]
        if (permit := page.read or page.post) and table().named[permit].tenants is Tenants.ALL
    ]  # fmt: skip
    assert {"pools", "tenants", "workers", "audit"} <= {route.name for route in closed}
    for route in closed:
        (path,) = addresses(route)
        reads = "get" in view_of(route).http_method_names
        assert (of_blue.get if reads else of_blue.post)(path).status_code == 403
        assert f'href="{path}"' not in front


def test_a_restricted_user_chooses_among_its_tenants_alone(log_in: LogIn) -> None:
    client = log_in(Role.VIEWER, "blue", "green")

    def seen() -> str:
        return str(client.get(reverse("ojs_console:overview")).context["tenant"])

    assert seen() == "blue"
    client.post(reverse("ojs_console:within"), {"tenant": "green"})
    assert seen() == "green"
    client.post(reverse("ojs_console:within"), {"tenant": "red"})
    assert seen() == "green"
    Staff.objects.update(tenants=["red"])
    assert seen() == "red"


def test_who_is_restricted_to_no_tenant_sees_nothing(log_in: LogIn) -> None:
    client = log_in(Role.ADMIN, "blue")
    Staff.objects.update(tenants=[])

    for path in ("overview", "jobs"):
        answer = client.get(reverse(f"ojs_console:{path}"))
        assert answer.status_code == 403
        assert "restricted to tenants" in answer.content.decode()


def test_the_api_in_the_same_browser_shows_no_more(of_blue: Client, settings: Any) -> None:
    settings.OJS = {**settings.OJS, "AUTH": "apikey"}
    own, other = (job_of(tenant) for tenant in ("blue", "red"))

    assert of_blue.get(f"/ojs/v1/jobs/{own.id}").status_code == 200
    assert of_blue.get(f"/ojs/v1/jobs/{other.id}").status_code == 404
    assert of_blue.get("/ojs/v1/admin/workers").status_code == 403
    Staff.objects.update(tenants=[])
    assert of_blue.get(f"/ojs/v1/jobs/{own.id}").status_code == 403
