"""Django's admin: every table is there, themed, linked to the console, and changed by services."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.apps import apps
from django.contrib import admin
from django.contrib.auth.models import Group, User
from django.db.models import CompositePrimaryKey, Model
from django.test import Client, RequestFactory
from django.urls import reverse
from playwright.sync_api import Page, expect

from console.admin_groups import GROUPS, INTERNALS, PLAIN
from console.roles import OURS, Role
from console.site import Site
from jobs.domain.access.caller import Caller
from jobs.domain.states import State
from jobs.models import Audit, Job, LoopTick, Queue, Staff, Worker
from jobs.queries import now
from jobs.services.operate.queues import pause
from jobs.services.workers.heartbeat import Report, heartbeat
from scheduling.api.cron_codec import decode_definition
from scheduling.models import CronEntry
from scheduling.services import cron_register
from tests.asserts import assert_state
from tests.console.conftest import WAIT_MS
from tests.factories import JobFactory

expect.set_options(timeout=WAIT_MS)
EDITED = {  # changed by forms and services
    "ojs_jobs.ApiKey", "ojs_jobs.Staff", "ojs_tenancy.Tenant", "ojs_federation.Region",
}  # fmt: skip
MODELS = [model for model in apps.get_models() if model._meta.app_label in OURS]
SHOWN = [model for model in MODELS if not isinstance(model._meta.pk, CompositePrimaryKey)]
Act = Callable[..., Any]


def named(models: list[type[Model]]) -> list[Any]:
    """Give parameters the names of their models."""
    return [pytest.param(model, id=model._meta.label) for model in models]


def on(model: type[Model], verb: str, *args: object) -> str:
    """Return the path of a page of the admin."""
    return reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_{verb}", args=args)


@pytest.fixture
def root(store: None) -> Iterator[Client]:
    """Return a client of a superuser."""
    client = Client()
    client.force_login(User.objects.create_superuser("root"))
    yield client
    User.objects.all().delete()


@pytest.fixture
def act(root: Client) -> Act:
    """Return a function that runs an action of a list on one row."""

    def run(model: type[Model], verb: str, pk: object) -> Any:
        form = {"action": verb, "_selected_action": [str(pk)]}
        return root.post(on(model, "changelist"), form, follow=True)

    return run


@pytest.mark.parametrize("model", named(MODELS))
def test_every_table_with_one_key_is_registered_with_a_list(model: type[Model]) -> None:
    if model not in SHOWN:  # Django cannot show these models; the console shows them
        assert not admin.site.is_registered(model)
        return
    shown = admin.site._registry[model]
    assert tuple(shown.list_display) != ("__str__",)
    assert shown.show_full_result_count is False or model is Staff
    assert shown.list_per_page <= 100


@pytest.mark.parametrize("model", named(SHOWN))
def test_every_list_answers_with_what_it_sorts_filters_and_searches(
    root: Client, model: type[Model]
) -> None:
    JobFactory.create(state=State.ACTIVE)
    shown = admin.site._registry[model]
    queries = ["", *(f"?o={n}" for n in range(1, len(shown.list_display) + 1))]
    queries += (
        ["?q=x", "?q=%00", "?q=01890000-0000-7000-8000-000000000000"] if shown.search_fields else []
    )

    for query in queries:
        assert root.get(on(model, "changelist") + query).status_code in {200, 302}
    answer = root.get(on(model, "changelist"))
    for row in list(answer.context["cl"].result_list)[:3]:
        assert root.get(on(model, "change", row.pk)).status_code == 200


@pytest.mark.parametrize(
    "model", named([model for model in SHOWN if model._meta.label not in EDITED])
)
def test_tables_that_services_write_are_read_only(root: Client, model: type[Model]) -> None:
    assert root.get(on(model, "add")).status_code == 403
    request = root.get(on(model, "changelist")).wsgi_request
    shown = admin.site._registry[model]
    assert not shown.has_change_permission(request)
    assert not shown.has_delete_permission(request)


def test_actions_call_the_services_and_are_recorded(act: Act) -> None:
    dead = JobFactory.create(state=State.DISCARDED, queue="dead")
    live = JobFactory.create(queue="live")
    heartbeat(Report("w1"))
    entry, _ = cron_register.register(
        decode_definition({"name": "nightly", "expression": "0 3 * * *",
                           "job_template": {"type": "report", "args": []}}),
        Caller("ada"), lambda _queue, _kind: None,
    )  # fmt: skip

    act(Job, "retry", dead.id)
    act(Job, "cancel", live.id)
    act(Queue, "pause", "live")
    act(Worker, "quiet", "w1")
    act(CronEntry, "run_now", entry.pk)
    act(CronEntry, "pause", entry.pk)

    assert_state(State.AVAILABLE, dead.id)
    assert_state(State.CANCELLED, live.id)
    assert Queue.objects.get(name="live").paused_at is not None
    assert Worker.objects.get().directive == 1
    assert Job.objects.filter(type="report").count() == 1
    assert CronEntry.objects.get().enabled is False
    recorded = Audit.objects.order_by("id").values_list("actor", "action")
    assert list(recorded)[-6:] == [
        ("admin:root", action)
        for action in ("job.retried", "job.cancelled", "queue.paused", "worker.quiet",
                       "cron.trigger", "cron.pause")
    ]  # fmt: skip


def test_what_an_action_cannot_do_is_told(act: Act) -> None:
    live = JobFactory.create()

    told = act(Job, "retry", live.id).content.decode()

    assert str(live.id) in told
    assert "errornote" in told or 'class="error"' in told
    assert_state(State.AVAILABLE, live.id)


def test_a_viewer_reads_and_may_not_act(store: None) -> None:
    user = User.objects.create_user("viewer", is_staff=True)
    user.groups.add(Group.objects.get(name=Role.VIEWER.group))
    client = Client()
    client.force_login(user)
    pause("mail")

    listed = client.get(on(Queue, "changelist"))
    client.post(on(Queue, "changelist"), {"action": "resume", "_selected_action": ["mail"]})

    assert listed.status_code == 200
    assert "resume" not in listed.content.decode()
    assert Queue.objects.get().paused_at is not None
    User.objects.all().delete()


def test_who_is_restricted_to_tenants_is_kept_out(root: Client) -> None:
    other = User.objects.create_user("other", is_staff=True)
    other.groups.add(Group.objects.get(name=Role.ADMIN.group))
    made = root.post(on(Staff, "add"), {"user": other.pk, "tenants": "blue, green"})
    assert made.status_code == 302, made.context["errors"]
    client = Client()
    client.force_login(other)

    assert client.get(reverse("admin:index")).status_code == 302
    assert client.get(on(Job, "changelist")).status_code == 302
    assert Staff.objects.get().tenants == ["blue", "green"]
    assert Audit.objects.latest("id").action == "staff.restricted"

    root.post(on(Staff, "delete", other.pk), {"post": "yes"})

    assert client.get(reverse("admin:index")).status_code == 200
    assert Audit.objects.latest("id").action == "staff.freed"


def test_the_admin_is_as_read_only_as_the_console(act: Act, settings: Any) -> None:
    pause("mail")
    settings.OJS_CONSOLE = {"READ_ONLY": True}

    assert act(Queue, "resume", "mail").status_code == 403
    assert Queue.objects.get().paused_at is not None
    assert isinstance(admin.site._wrapped, Site)  # type: ignore[attr-defined]  # it is lazy


def test_the_console_and_the_admin_lead_to_each_other(page: Page) -> None:
    job = JobFactory.create(type="mail.send")
    page.locator(".more > summary").click()
    page.get_by_role("link", name="Administration").click()
    page.goto(reverse("admin:ojs_jobs_job_change", args=[job.id]))
    page.get_by_role("link", name="View on site").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("mail.send")
    page.locator(".more > summary").click()
    page.get_by_role("link", name="Administration").click()
    background = "getComputedStyle(document.getElementById('header')).backgroundColor"
    assert page.evaluate(background) == "rgb(31, 35, 64)"
    page.get_by_role("link", name="Console").click()
    expect(page).to_have_url("/console/")


def test_every_page_works_under_the_policy_of_the_console(page: Page, operator: User) -> None:
    """Visit pages in Chromium; the fixture fails at a violation of the policy."""
    request = RequestFactory().get("/admin/")
    request.user = operator
    places = [reverse("admin:index"), reverse("admin:password_change")]
    for model, options in admin.site._registry.items():
        places.append(on(model, "changelist"))
        if options.has_add_permission(request):
            places.append(on(model, "add"))
    places += [on(User, "change", operator.pk), on(User, "history", operator.pk)]
    places += [on(User, "delete", operator.pk), f"/admin/auth/user/{operator.pk}/password/"]

    for place in places:
        answer = page.goto(place)
        assert answer is not None
        assert answer.status == 200, place
        assert "default-src 'self'" in answer.headers["content-security-policy"]

    page.goto(on(User, "change", operator.pk))
    page.locator("#id_groups_add_all, #id_groups_add_all_link").first.click()
    assert page.locator("#id_groups_to option").count() == 3


def index_of(client: Client) -> dict[str, list[dict[str, Any]]]:
    """Return the models of the index by the name of their group."""
    listed = client.get(reverse("admin:index")).context["app_list"]
    return {group["name"]: group["models"] for group in listed}


def test_index_lists_every_model_under_a_plain_name(root: Client) -> None:
    groups = index_of(root)
    shown = {model["model"]._meta.label for models in groups.values() for model in models}

    assert list(groups) == list(GROUPS)
    assert shown == PLAIN.keys() == {model._meta.label for model in admin.site._registry}
    assert all(model["explanation"] for models in groups.values() for model in models)


def test_bookkeeping_is_read_only_in_a_group_of_its_own(root: Client) -> None:
    internals = index_of(root)[INTERNALS]

    assert list(index_of(root))[-1] == INTERNALS
    assert {"Split types", "Held versions", "Started attempts", "Redraws", "Canary evidence"} <= {
        model["name"] for model in internals
    }
    assert all(model["view_only"] and not model["add_url"] for model in internals)


def test_list_and_row_have_the_plain_name(root: Client) -> None:
    listed = root.get(on(LoopTick, "changelist")).content.decode()
    LoopTick.objects.get_or_create(name="promote", defaults={"ticked_at": now()})
    row = root.get(on(LoopTick, "change", "promote")).content.decode()

    assert "<h1>Loop runs</h1>" in listed
    assert "The last run of each background loop." in listed
    assert ">Loop runs</a>" in row
