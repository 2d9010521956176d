"""Every operation of every edge, for every kind of caller, against the table of permits.

The operations come from the URL configuration, the registry of Django's admin and the commands of
manage.py. A new operation therefore fails here until the table has it.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.contrib import admin
from django.contrib.auth.models import Group, User
from django.core.management import get_commands
from django.test import Client, RequestFactory
from django.utils.module_loading import import_string

from console.actions.table import ACTIONS
from console.pages import PAGES
from console.permits import OPERATIONS
from console.roles import OURS, Role, role_of
from jobs.api.base import OJSView
from jobs.api.wire.media import OJS_TYPE
from jobs.domain.access import keys
from jobs.domain.access.permits import Permit, Tenants
from jobs.domain.access.permits import Role as Least
from jobs.domain.errors import OJSError
from jobs.models import ApiKey, Staff
from jobs.permits import Table, required, table
from jobs.services.access import api_keys
from jobs.services.access.api_keys import NewKey, create
from tests.console.test_access import guarded, view_of
from tests.jobs.api.refusals import PATHS, url
from tests.jobs.api.routes import views

ROOT = Path(__file__).resolve().parents[2]
WALKED = [
    (method, path, view)
    for path, view in views()
    for method in sorted(set(view().allowed_methods) - {"OPTIONS", "HEAD"})
]
OWN_PAGE = {"Sec-Fetch-Site": "same-origin"}
CONFIGURES = [
    "putPool", "putTenant", "putSchema", "registerSchemaEntry", "putRouting", "configureQueue",
    "setQueueConfig", "setQueueRateLimit", "createQueue", "setSchedulingConfig", "createRegion",
    "putRegion", "patchRegion", "putFederationConfig", "registerCron", "createSubscription",
    "setReplayRules", "deleteQueue", "reset",
]  # fmt: skip


class Admitted(OJSError):
    """Raised in place of an operation that the table of permits admits."""

    def __init__(self, message: str) -> None:
        """Set code and status on the instance: the classes' codes are the server's errors."""
        super().__init__(message)
        self.code, self.status = "ADMITTED", 299  # type: ignore[misc]  # of this instance alone


@pytest.fixture
def gate(store: None, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Client]:
    """Return a client whose requests end at admission, before the operation runs."""

    def admit(*_: Any, **__: Any) -> None:
        raise Admitted("let in")

    settings.OJS = {**settings.OJS, "AUTH": "apikey"}
    api_keys.cache.clear()
    monkeypatch.setattr(OJSView, "charge", admit)
    yield Client()
    ApiKey.objects.all().delete()
    User.objects.all().delete()
    api_keys.cache.clear()


def walk(client: Client, headers: Mapping[str, str]) -> dict[str, int]:
    """Send each operation of the API; return the statuses by method and path."""
    found = {}
    for method, path, _ in WALKED:
        filled = url(path) if "{" in path else path
        answer = client.generic(
            method, f"/{filled}", b"{}", content_type=OJS_TYPE, headers={**headers}
        )
        found[f"{method} {path}"] = answer.status_code
    return found


def expected(let_in: Any, otherwise: int) -> dict[str, int]:
    """Return the status of each operation; `let_in` decides by scope and permit."""
    found = {}
    for method, path, view in WALKED:
        wanted = view.required(method)
        assert wanted is not None, f"the table of permits lacks {method} {path}"
        is_in = wanted.scope is None or let_in(wanted.scope, wanted.permit)
        found[f"{method} {path}"] = 299 if is_in else otherwise
    return found


def key(*scopes: str, **facts: Any) -> dict[str, str]:
    _, text = create(NewKey("walk", scopes, **facts))
    return {"Authorization": f"Bearer {text}"}


def session(role: Least | None, *tenants: str) -> Client:
    """Log a new user in; None stands for a user without permissions."""
    user = User.objects.create(
        username=f"a {role!r}", is_staff=True, is_superuser=role is Least.SUPERUSER
    )
    if role is not None and role is not Least.SUPERUSER:
        user.groups.set([Group.objects.get(name=Role(role).group)])
    if tenants:
        Staff.objects.create(user=user, tenants=list(tenants))
    client = Client()
    client.force_login(user)
    return client


def test_nobody_gets_in_without_credentials(gate: Client) -> None:
    assert walk(gate, {}) == expected(lambda _scope, _permit: False, 401)


def test_a_key_gets_in_by_its_scope(gate: Client) -> None:
    for scope in sorted(keys.SCOPES):
        assert walk(gate, key(scope)) == expected(lambda one, _, has=scope: one == has, 403), scope


@pytest.mark.parametrize("facts", [{"queues_enqueue": ("a",), "queues_fetch": ("a",)},
                                   {"job_types": ("a.*",)}])  # fmt: skip
def test_a_limited_key_gets_in_by_its_scope_too(gate: Client, facts: dict[str, Any]) -> None:
    assert walk(gate, key("admin", **facts)) == expected(lambda _scope, _permit: True, 403)


@pytest.mark.parametrize("kind", ["key", "X-OJS-Tenant", "X-OJS-Tenant-Id"])
def test_a_caller_of_one_tenant_is_kept_from_what_concerns_all(gate: Client, kind: str) -> None:
    bound = key("admin", tenant="acme")
    headers = bound if kind == "key" else {**key("admin"), kind: "acme"}

    assert walk(gate, headers) == expected(lambda _, one: one.tenants is not Tenants.ALL, 403)


@pytest.mark.parametrize("header", ["X-OJS-Tenant", "X-OJS-Tenant-Id"])
def test_a_header_of_another_tenant_than_the_keys_is_refused(gate: Client, header: str) -> None:
    headers = {**key("admin", tenant="acme"), header: "other"}

    assert walk(gate, headers) == expected(lambda _scope, _permit: False, 403)


@pytest.mark.parametrize("role", [None, *sorted(set(Least) - {Least.ANYONE})])
def test_a_session_gets_in_by_its_role(gate: Client, role: Least | None) -> None:
    client = session(role)

    has = expected(lambda _, one: role is not None and role >= one.role, 403)

    assert walk(client, OWN_PAGE) == has


@pytest.mark.parametrize("role", list(Role))
def test_a_session_of_one_tenant_is_kept_from_what_concerns_all(gate: Client, role: Role) -> None:
    client = session(Least(role), "acme")

    has = expected(lambda _, one: role >= one.role and one.tenants is not Tenants.ALL, 403)

    assert walk(client, OWN_PAGE) == has


@pytest.mark.parametrize("operation", CONFIGURES)
def test_configuring_is_for_admins_alone(operation: str) -> None:
    assert required(operation).permit.role > Least.OPERATOR


def test_the_table_has_no_operation_that_is_gone() -> None:
    there = {view.required(method).operation for method, _, view in WALKED}  # type: ignore[union-attr]  # tested
    parts = {name for name in table().operations if "?" in name}

    assert set(table().operations) - parts == there
    assert {name.partition("?")[0] for name in parts} <= there


def test_an_operation_belongs_to_one_view() -> None:
    owners: dict[str, set[type]] = {}
    for method, _, view in WALKED:
        owners.setdefault(view.required(method).operation, set()).add(view)  # type: ignore[union-attr]  # tested

    assert [name for name, found in owners.items() if len(found) > 1] == []


def test_an_edge_of_two_permits_is_refused() -> None:
    one, other = (
        Permit(name, Least.VIEWER, (), Tenants.OWN, api={"s": "getX"}) for name in ("a", "b")
    )
    with pytest.raises(ValueError, match="two permits claim 'getX'"):
        Table.of([one, other])


def test_every_page_and_button_of_the_console_has_a_permit() -> None:
    pages = {str(one.name): view_of(one) for one in guarded()}
    read = {
        n for n, view in pages.items() if hasattr(view, "get") and "get" in view.http_method_names
    }
    posted = {n for n, view in pages.items() if hasattr(view, "post")} - {
        "act", "operation", "operation_new", "simulated",
    }  # fmt: skip

    assert {page.name for page in PAGES if page.read and not page.is_debug} == read
    assert {page.name for page in PAGES if page.post} == posted
    assert set(OPERATIONS) == {"cancel", "retry", "delete", "export", "adopt", "forget"}
    named = {permit for page in PAGES for permit in (page.read, page.post) if permit}
    for name in {*named, *(action.permit for action in ACTIONS.values()), *OPERATIONS.values()}:
        assert name in table().named, name


def test_templates_name_permits_that_are_there() -> None:
    for page in (ROOT / "console/templates").rglob("*.html"):
        text = page.read_text()
        for name in re.findall(r"\bmay\.(\w+\.\w+)", text):
            assert name in table().named, (page.name, name)
        assert "perms." not in text, page.name


def test_every_verb_of_the_admin_has_a_permit() -> None:
    forms = admin.site._registry
    offered = {
        f"{model._meta.label}:{verb}"
        for model, form in forms.items()
        for verb in [getattr(one, "__name__", one) for one in form.actions or ()]
    }

    assert all(
        issubclass(type(one), import_string("jobs.admin.Permitted")) for one in forms.values()
    )
    assert offered <= set(table().admin), offered - set(table().admin)
    for edge in table().admin:
        label, _, verb = edge.partition(":")
        form = admin.site._registry[apps.get_model(label)]
        assert edge in offered or verb in {"add", "change", "delete", "delete_selected"}
        assert verb != "change" or not form.__class__.__name__.startswith("ReadOnly")


@pytest.fixture(params=list(Role))
def role(store: None, request: pytest.FixtureRequest) -> Iterator[tuple[Role, User]]:
    """Return a role and a user who has it."""
    user = User.objects.create(username=f"only {request.param.name}", is_staff=True)
    user.groups.set([Group.objects.get(name=request.param.group)])
    yield request.param, User.objects.get(pk=user.pk)
    user.delete()


def test_the_admin_offers_what_the_role_has(role: tuple[Role, User]) -> None:
    least, user = role
    request = RequestFactory().get("/")
    request.user = user
    for model, form in admin.site._registry.items():
        label = model._meta.label
        allowed = {
            verb
            for verb, may in (("add", form.has_add_permission(request)),
                              ("change", form.has_change_permission(request)),
                              ("delete", form.has_delete_permission(request)))
            if may
        } | set(form.get_actions(request))  # fmt: skip
        wanted = {
            edge.partition(":")[2]
            for edge, permit in table().admin.items()
            if edge.startswith(f"{label}:") and least >= permit.role
        }
        view = f"{model._meta.app_label}.view_{model._meta.model_name}"
        assert allowed == wanted, label
        assert form.has_view_permission(request) == (least >= role_of(view)), label


def test_every_command_of_this_project_has_a_permit() -> None:
    ours = {
        name
        for name, app in get_commands().items()
        if str(app) in {*_apps(), "ojs_project", "ojs_tasks"}
    }
    named = {one for permit in table().named.values() for one in permit.commands.split()}

    assert named == ours


def _apps() -> set[str]:
    return {one.name for one in apps.get_app_configs() if one.label in OURS}


def test_every_task_of_the_cluster_is_a_function_that_is_there() -> None:
    assert table().tasks
    for path in table().tasks:
        assert callable(import_string(path))


def test_the_manual_has_every_permit_with_its_role() -> None:
    manual = (ROOT / "docs" / "access.md").read_text()

    for permit in table().named.values():
        row = re.search(rf"^\| `{permit.name}` \|(.*)$", manual, re.MULTILINE)
        assert row, permit.name
        assert f"| {permit.role.name.lower()} |" in row[1], permit.name
        names = " ".join(permit.api.values()).split()
        assert set(names) <= set(re.split(r"[,;|\s]+", row[1])), permit.name


def test_paths_of_the_walk_are_real() -> None:
    names = {name for _, path, _ in WALKED for name in re.findall(r"{(\w+)}", path)}
    assert names <= {"job_id", *PATHS}
