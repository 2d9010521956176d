"""Simulate the change of a form, apply it from the result, and compare what then happened."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.http import HttpResponse
from django.test import Client, override_settings
from django_q.models import OrmQ, Task
from playwright.sync_api import Page, expect

from console import proposals, simulations
from console.conf import conf
from console.proposals import APPLIED
from console.trials import FEW
from jobs.domain.access.caller import Caller
from jobs.domain.dispatch.claim import FetchRequest, PriorityScope, Strategy
from jobs.domain.lanes.limits import LimitPolicy
from jobs.models import Audit, ConfigChange, Undo
from jobs.permits import table
from jobs.services.dispatch.fetch import fetch
from jobs.services.lanes import limits, queue_config
from jobs.services.outcome.ack import Ack, ack
from jobs.services.read.clock import now
from scheduling.services import configuration, pools
from scheduling.services.scenarios import Wish
from tenancy.models import Tenant
from tenancy.services import tenants
from tests.concurrency import at_once
from tests.console.conftest import WAIT_MS
from tests.console.test_accessibility import violations
from tests.console.test_actions import act, messages_of
from tests.console.test_pages import MOST_STATEMENTS, text, url
from tests.console.test_pools import define, form, words
from tests.console.test_simulate import perform
from tests.console.test_tenants import put as put_tenant
from tests.cost import statements_of
from tests.effort import of_each
from tests.factories import stored

expect.set_options(timeout=WAIT_MS)
ADA = Caller("ada")
REASON = "mail waits too long"


@dataclass(frozen=True)
class Case:
    """A form of a setting: its page, a change, a wrong field, and checks of what is stored."""

    page: Callable[[], str]
    fields: dict[str, str]
    wrong: dict[str, str]
    is_stored: Callable[[], bool]
    shown: str  # the change, on the page of the result
    change: Callable[[], Any]  # another change of the same object
    action: str  # of the audit log, when the form is saved


def _of_pool() -> bool:
    pool = pools.find("mixed").pool
    return (pool.weights, pool.strategy) == ((4, 1), Strategy.WEIGHTED)


def _of_defaults() -> bool:
    found = configuration.defaults()
    return (found.strategy, found.scope) == (Strategy.STRICT, PriorityScope.GLOBAL)


CASES = {
    "pool": Case(
        lambda: url("pool_edit", "mixed"),
        form(queues="mail 4\nexport 1", strategy="weighted"),
        {"concurrency": "many"},
        _of_pool,
        "strategy round-robin weighted",
        lambda: define("mixed", queues=["mail", "other"]),
        "pool.changed",
    ),
    "scheduling": Case(
        lambda: url("pools"),
        {"strategy": "strict", "scope": "global"},
        {"strategy": "best"},
        _of_defaults,
        "priority_scope not set global",
        lambda: configuration.configure(configuration.Wanted(Strategy.WEIGHTED), ADA),
        "scheduling.configured",
    ),
    "queue": Case(
        lambda: url("queue", "mail"),
        {"concurrency": "2", "rate": "100", "rate_period": "PT1M"},
        {"rate": "many"},
        lambda: queue_config.config_of("mail").get("concurrency") == 2,
        "concurrency absent 2",
        lambda: queue_config.change("mail", {"concurrency": 9}, ADA),
        "queue.config_changed",
    ),
    "tenant": Case(
        lambda: url("tenant_edit", "blue"),
        {"fairness_weight": "5", "quota_mode": "hard", "reason": "test"},
        {"fairness_weight": "-1"},
        lambda: tenants.find("blue").fairness_weight == 5,
        "fairness_weight 1.0 5.0",
        lambda: put_tenant("blue", weight=2.0),
        "tenant.configured",
    ),
}


@pytest.fixture(autouse=True)
def a_past(store: None) -> Any:
    """Run jobs of two queues and tenants under a pool; remove all tasks after the test."""
    define("mixed", queues=["mail", "export"])
    put_tenant("blue", weight=1.0)
    put_tenant("red")
    worked("mail", 4, "blue")
    worked("export", 3, "red")
    yield
    OrmQ.objects.all().delete()
    Task.objects.all().delete()


def worked(queue: str, number: int, tenant: str) -> None:
    """Enqueue jobs of a queue and tenant, start and complete them."""
    stored(number, queue=queue, meta={"tenant_id": tenant}, tenant=tenant)
    claimed = fetch(FetchRequest((queue,), number, worker_id="w1")).jobs
    ack([Ack(job.id) for job in claimed])


def sent(client: Client, case: Case, **fields: str) -> HttpResponse:
    """Press Simulate in the form of a case."""
    answer = client.post(case.page(), {**case.fields, "simulate": "1", **fields})
    assert isinstance(answer, HttpResponse)
    return answer


def simulated(client: Client, case: Case, **fields: str) -> str:
    """Simulate the change of a case; return the path of the result."""
    answer = sent(client, case, **fields)
    assert answer.status_code == 302, answer.content.decode()
    perform()
    return str(answer["Location"])


def apply(client: Client, page: str, reason: str = REASON) -> HttpResponse:
    """Press Apply."""
    answer = client.post(page, {"reason": reason})
    assert isinstance(answer, HttpResponse)
    return answer


def key_of(page: str) -> str:
    """Return the key of the simulation of a page."""
    return page.rstrip("/").rpartition("/")[2]


@pytest.mark.parametrize("name", CASES)
def test_the_change_of_a_form_is_simulated_applied_and_undone(console: Client, name: str) -> None:
    case = CASES[name]
    assert 'name="simulate"' in text(console, case.page())

    page = simulated(console, case)

    assert not case.is_stored()
    shown = text(console, page)
    assert case.shown in words(shown)
    assert "data-ojs-compared" in shown
    assert ">Apply</button>" in shown
    assert "What then happened" not in shown

    answer = apply(console, page)

    assert answer.status_code == 302
    assert case.is_stored()
    saved = Audit.objects.filter(action=case.action).latest("id")
    entry = Audit.objects.get(action=APPLIED)
    assert (saved.actor, saved.reason) == (entry.actor, entry.reason) == (
        "console:operator", REASON,
    )  # fmt: skip
    change = ConfigChange.objects.latest("id")
    assert (entry.target, entry.data["change"]) == (key_of(page), change.pk)
    after = text(console, page)
    assert "Applied" in after
    assert REASON in after
    assert "What then happened" in after
    assert ">Apply</button>" not in after

    act(console, "undo", id=str(Undo.objects.latest("id").pk), reason="a mistake")
    assert not case.is_stored()


@pytest.mark.parametrize("name", of_each(CASES))
def test_a_wrong_field_is_told_as_when_saving_and_nothing_starts(
    console: Client, name: str
) -> None:
    case = CASES[name]
    begun = Audit.objects.count()
    saved = console.post(case.page(), {**case.fields, **case.wrong})

    answer = sent(console, case, **case.wrong)

    assert saved.status_code == answer.status_code == 400
    wrong = re.findall(r'class="wrong"[^>]*>([^<]+)<', answer.content.decode())
    assert wrong == re.findall(r'class="wrong"[^>]*>([^<]+)<', saved.content.decode())
    assert len(wrong) == 1
    assert not OrmQ.objects.exists()
    assert Audit.objects.count() == begun


@pytest.mark.parametrize("name", of_each(CASES))
def test_a_form_without_a_change_starts_nothing(console: Client, name: str) -> None:
    case = CASES[name]
    apply(console, simulated(console, case))
    begun = Audit.objects.count()

    answer = sent(console, case)

    assert answer.status_code == 400
    assert "changes nothing that a simulation replays" in answer.content.decode()
    assert not OrmQ.objects.exists()
    assert Audit.objects.count() == begun


@pytest.mark.parametrize("name", of_each(CASES))
def test_a_setting_that_was_changed_meanwhile_is_not_overwritten(
    console: Client, name: str
) -> None:
    case = CASES[name]
    page = simulated(console, case)
    case.change()
    assert "was changed since the simulation began" in text(console, page)
    assert ">Apply</button>" not in text(console, page)
    changes = ConfigChange.objects.count()

    answer = apply(console, page)

    assert answer.status_code == 409
    assert "was changed again since" in answer.content.decode()
    assert not case.is_stored()
    assert ConfigChange.objects.count() == changes
    assert not Audit.objects.filter(action=APPLIED).exists()


def test_a_change_and_back_again_does_not_stop_the_application(console: Client) -> None:
    case = CASES["queue"]
    page = simulated(console, case)
    case.change()
    queue_config.replace("mail", {}, ADA)

    assert apply(console, page).status_code == 302
    assert case.is_stored()


@pytest.mark.parametrize("name", of_each(CASES))
def test_a_second_application_does_nothing(console: Client, name: str) -> None:
    case = CASES[name]
    page = simulated(console, case)
    apply(console, page)
    entries, changes = Audit.objects.count(), ConfigChange.objects.count()

    answer = apply(console, page)

    assert any("has been applied before" in one for one in messages_of(answer))
    assert (Audit.objects.count(), ConfigChange.objects.count()) == (entries, changes)


def test_applications_at_the_same_time_store_once(console: Client) -> None:
    key = key_of(simulated(console, CASES["pool"]))
    found = simulations.simulation(key)
    assert found is not None
    proposal = found.proposal
    assert proposal is not None

    done = at_once([lambda: proposals.apply(key, proposal, ADA)] * 2)

    assert sorted(done) == [False, True]
    assert Audit.objects.filter(action=APPLIED).count() == 1


@pytest.mark.parametrize(
    ("until", "said"), [(None, "until an operator ends it"), (86_400, r"until in \d+ [^:]+")]
)
def test_an_override_of_the_limit_is_named_before_and_after_the_application(
    console: Client, until: int | None, said: str
) -> None:
    case = CASES["queue"]
    queue_config.change("mail", {"concurrency": 5}, ADA)
    end = now() + timedelta(seconds=until) if until else None
    limits.override("queue:mail", LimitPolicy(concurrency=1), end, ADA)
    warning = rf"of the limits of queue mail is in force {said}: 1 active\."
    page = simulated(console, case)

    for one in (text(console, case.page()), text(console, page)):
        assert re.search(warning, words(one))
        assert "The limits of the configuration have no effect before." in words(one)
    assert apply(console, page).status_code == 302

    assert case.is_stored()
    assert limits.state("queue:mail", None).in_force.concurrency == 1
    assert re.search(warning, words(text(console, page)))
    limits.end_override("queue:mail", ADA)
    assert "have no effect before" not in text(console, page)
    assert limits.state("queue:mail", None).in_force.concurrency == 2


def test_an_application_asks_for_a_reason(console: Client) -> None:
    case = CASES["pool"]
    page = simulated(console, case)

    for reason, problem in (("", "Reason is required"), ("x" * 1001, "Reason must have at most")):
        answer = apply(console, page, reason)
        assert answer.status_code == 400
        assert problem in answer.content.decode()
    assert not case.is_stored()


def test_a_simulation_without_a_result_is_not_applied(console: Client) -> None:
    case = CASES["queue"]
    page = str(sent(console, case)["Location"])
    shown = text(console, page)
    assert "no operator task cluster is running" in shown
    assert ">Apply</button>" not in shown

    answer = apply(console, page)

    assert answer.status_code == 409
    assert "The simulation has no result yet" in answer.content.decode()
    assert not case.is_stored()


def test_a_simulation_that_came_from_no_form_is_not_applied(console: Client) -> None:
    key = simulations.start(Wish(60), ADA)
    perform()

    assert apply(console, url("simulated", key)).status_code == 404
    assert ">Apply</button>" not in text(console, url("simulated", key))


def test_only_who_may_simulate_has_the_button(viewer: User) -> None:
    for permission in table().named["queues.configure"].permissions:
        codename = permission.partition(".")[2]
        viewer.user_permissions.add(Permission.objects.get(codename=codename))
    client = Client()
    client.force_login(viewer)
    page = text(client, url("queue", "mail"))
    assert ">Save</button>" in page
    assert 'name="simulate"' not in page

    answer = sent(client, CASES["queue"])

    assert answer.status_code == 403
    assert not OrmQ.objects.exists()


def test_only_who_may_change_the_setting_applies_it(console: Client, viewer: User) -> None:
    case = CASES["queue"]
    page = simulated(console, case)
    viewer.user_permissions.add(Permission.objects.get(codename="change_poolrow"))
    client = Client()
    client.force_login(viewer)
    shown = text(client, page)
    assert "Your account lacks the permission" in shown
    assert ">Apply</button>" not in shown

    assert apply(client, page).status_code == 403
    assert not case.is_stored()


def test_a_read_only_console_applies_nothing(console: Client) -> None:
    case = CASES["queue"]
    page = simulated(console, case)

    with override_settings(OJS_CONSOLE={"READ_ONLY": True}):
        assert conf().read_only
        assert ">Apply</button>" not in text(console, page)
        assert apply(console, page).status_code == 403
    assert not case.is_stored()


@pytest.mark.parametrize("name", of_each(CASES))
def test_the_form_is_shown_again_with_the_simulated_values(console: Client, name: str) -> None:
    case = CASES[name]
    page = text(console, simulated(console, case))
    back = re.search(r'href="([^"]+)">Back to the form<', page)
    assert back
    filled = console.get(back[1].partition("#")[0]).context

    for field, value in case.fields.items():
        if name == "tenant":
            assert str(filled["form"][field].value()) == value
        elif field != "name":
            assert filled["fields"][field] == value
    assert back[1].partition("?")[0] == case.page()


def test_a_key_of_another_form_or_of_nothing_fills_in_nothing(console: Client) -> None:
    key = key_of(simulated(console, CASES["queue"]))
    define("other", queues=["x"])

    for known in (key, "nonsense", "\x00", "x" * 300):
        shown = console.get(url("pool_edit", "other"), {"simulation": known})
        assert shown.context["fields"]["queues"] == "x"


def test_a_new_pool_is_simulated_and_made(console: Client) -> None:
    given = form(name="fresh", queues="export", concurrency="2")
    answer = console.post(url("pool_new"), {**given, "simulate": "1"})
    perform()
    page = str(answer["Location"])
    assert not pools.exists("fresh")
    assert f"{url('pool_new')}?simulation=" in text(console, page)

    apply(console, page)

    assert pools.find("fresh").pool.concurrency == 2
    assert url("pool_edit", "fresh") in text(console, page)


def test_a_pool_that_cannot_be_stored_is_refused_before_it_is_simulated(console: Client) -> None:
    with override_settings(OJS_SCHEDULING={"POOLS": [{"name": "fixed", "queues": ["x"]}]}):
        answer = console.post(url("pool_edit", "fixed"), {**form(queues="y"), "simulate": "1"})

    assert answer.status_code == 400
    assert "defined by the server" in answer.content.decode()
    assert not OrmQ.objects.exists()


def test_a_new_tenant_is_neither_simulated_nor_made(console: Client) -> None:
    assert 'name="simulate"' not in text(console, url("tenant_new"))
    given = {"tenant_id": "green", "quota_mode": "hard", "reason": "test", "simulate": "1"}

    answer = console.post(url("tenant_new"), given)

    assert answer.status_code == 400
    assert "no jobs to simulate" in answer.content.decode()
    assert not Tenant.objects.filter(id="green").exists()


def test_members_that_are_not_replayed_are_named_and_applied(console: Client) -> None:
    page = simulated(console, CASES["queue"], timeout="PT5M")
    assert "does not replay default_timeout_ms" in words(text(console, page))

    apply(console, page)

    assert queue_config.config_of("mail") == {
        "concurrency": 2, "rate_limit": {"limit": 100, "period": "PT1M"},
        "default_timeout_ms": 300_000,
    }  # fmt: skip


def test_a_change_that_no_simulation_replays_is_refused(console: Client) -> None:
    answer = console.post(url("queue", "mail"), {"timeout": "PT5M", "simulate": "1"})

    assert answer.status_code == 400
    assert "changes nothing that a simulation replays" in answer.content.decode()


def test_a_queue_that_is_not_there_is_not_found(console: Client) -> None:
    assert (
        console.post(url("queue", "none"), {"concurrency": "2", "simulate": "1"}).status_code == 404
    )


def test_what_then_happened_stands_beside_the_prediction(console: Client) -> None:
    page = simulated(console, CASES["pool"])
    apply(console, page)
    worked("mail", FEW + 5, "blue")
    worked("export", 5, "red")

    since = console.get(page).context["trial"].since
    shown = words(text(console, page))

    lines = {line.name: line for _, group in since.groups for line in group}
    assert {name: line.starts for name, line in lines.items()} == {
        "mail": FEW + 5, "export": 5, "blue": FEW + 5, "red": 5,
    }  # fmt: skip
    assert since.starts == FEW + 10
    waits = lines["mail"].waits
    assert waits.share == (FEW + 5) / (FEW + 10)
    assert 0 <= waits.p50_ms <= waits.p95_ms <= waits.p99_ms <= waits.max_ms
    assert lines["mail"].predicted["started"] == 4
    assert "too few to compare: 5 starts so far" in shown
    assert f"measured {FEW + 5} 83" in shown


def test_what_then_happened_ends_after_its_time(
    console: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = simulated(console, CASES["pool"])
    apply(console, page)
    worked("mail", FEW, "blue")
    assert not console.get(page).context["trial"].since.is_over
    short = timedelta(microseconds=1)
    monkeypatch.setattr("console.trials.LONGEST", short)

    since = console.get(page).context["trial"].since

    assert since.is_over
    assert since.until - since.since == short
    assert since.starts == 0  # the jobs started later


def test_the_page_of_a_result_costs_a_fixed_number_of_statements(console: Client) -> None:
    page = simulated(console, CASES["pool"])
    apply(console, page)

    def cost() -> int:
        return statements_of(lambda: text(console, page))

    before = cost()
    worked("mail", FEW, "blue")
    worked("export", FEW, "red")

    assert cost() == before <= MOST_STATEMENTS


def test_a_task_of_an_earlier_version_is_still_shown(console: Client) -> None:
    page = simulated(console, CASES["pool"])
    task = Task.objects.get()
    task.args = task.args[:2]
    task.save()

    assert "data-ojs-compared" in text(console, page)


def test_a_change_is_simulated_and_applied_in_a_browser(page: Page) -> None:
    page.goto("/console/pools/mixed/edit/")
    page.get_by_label("Queues in order").fill("mail 4\nexport 1")
    page.get_by_label("Strategy").select_option("weighted")
    page.get_by_role("main").get_by_label("Reason").fill(REASON)
    page.get_by_role("button", name="Simulate", exact=True).click()
    page.wait_for_url(re.compile(r"/console/simulate/.+/"))
    expect(page.get_by_role("progressbar")).to_be_visible()

    perform()

    expect(page.locator(".compared canvas")).to_have_count(4)
    change = page.locator("#change")
    expect(change).to_contain_text("round-robin")
    expect(change.get_by_label("Reason")).to_have_value(REASON)
    assert not violations(page)
    page.get_by_role("link", name="Back to the form").click()
    expect(page.get_by_label("Queues in order")).to_have_value("mail 4\nexport 1")
    page.go_back()
    page.get_by_role("button", name="Apply", exact=True).click()
    expect(page.get_by_role("status")).to_contain_text("is applied")
    expect(page.get_by_role("heading", name="What then happened")).to_be_visible()
    expect(page.locator("#since")).to_contain_text("too few to compare: 0 starts so far")
    assert _of_pool()

    page.get_by_role("status").get_by_role("button", name="Undo").click()
    expect(page.get_by_role("status")).to_contain_text("Undone: pool.changed of mixed.")
    assert not _of_pool()
    page.reload()
    expect(page.locator("#since")).to_be_visible()
    assert not violations(page)
