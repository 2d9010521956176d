"""The pages of tenants: noisy tenants, contents, changes and refusals. Spec: contract 21.2."""

import re
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qsl

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import Page, expect

from console.tenants import SIZE, TenantFilter, page
from jobs.domain.dispatch.claim import FetchRequest
from jobs.domain.errors import Unprocessable
from jobs.domain.states import State
from jobs.models import Audit, TenantPeriod
from jobs.services.dispatch.fetch import fetch
from tenancy.domain.noise import Reason, Signal
from tenancy.domain.tenant import Definition, QuotaMode, Rate, Source, Standing, TenantLimits
from tenancy.domain.throttle import Action, Hold
from tenancy.models import Survey, Tenant, Throttle
from tenancy.services import noise, tenants
from tenancy.services.watch import survey
from tests.concurrency import aggregate_all
from tests.console.conftest import WAIT_MS
from tests.console.test_pages import MOST_OF_CAUSES, MOST_STATEMENTS, text, url
from tests.console.test_pools import act, words
from tests.cost import statements_of
from tests.factories import JobFactory, stored
from tests.spec import spec

expect.set_options(timeout=WAIT_MS)
LIMITS = TenantLimits(
    max_concurrency=2, max_enqueue_rate=Rate(300, 60_000), max_queue_depth=100, max_scheduled=7
)
VERBS = (
    "tenant-suspend", "tenant-resume", "tenant-release", "tenant-limit", "tenant-delete",
    "tenant-delete-force",
)  # fmt: skip


def put(name: str = "blue", /, **said: Any) -> None:
    """Configure a tenant."""
    tenants.put(name, Definition(**said))


def of(tenant: str, number: int = 1, **draft: Any) -> None:
    """Enqueue jobs of a tenant."""
    stored(number, meta={"tenant_id": tenant}, tenant=tenant, **draft)


def did(tenant: str, **counts: int) -> None:
    """Store the counts of a tenant for the minute before, as the aggregation does."""
    known = {"enqueued": 0, "started": 0, "completed": 0, "failed": 0, "wait_ms": 0, "run_ms": 0}
    minute = timezone.now().replace(second=0, microsecond=0) - timedelta(minutes=1)
    TenantPeriod.objects.create(
        tenant=tenant, span_s=60, at=minute, queue="default", **{**known, **counts}
    )
    survey()


def listed(console: Client, **query: str) -> list[str]:
    """Return the ids that the list shows."""
    answer = console.get(url("tenants", **query))
    assert answer.status_code == 200
    return [line.row.id for line in answer.context["page"].lines]


def form(**fields: str) -> dict[str, str]:
    """Return a filled form."""
    return {"tenant_id": "blue", "quota_mode": "hard", "reason": "ticket 7", **fields}


# --- list -----------------------------------------------------------------------------------------


def test_list_shows_shares_rates_and_limits_in_use(console: Client) -> None:
    put("blue", name="Blue Ltd", weight=3.0, limits=LIMITS)
    put("red")
    of("blue", 5)
    of("red", 2)
    fetch(FetchRequest(("default",), 2, "w1"))
    did("blue", enqueued=50, started=30, completed=25, failed=5)
    did("red", enqueued=10, started=10)

    shown = words(text(console, url("tenants")))

    assert "blue Blue Ltd" in shown
    line = re.search(r"blue Blue Ltd (.*?) red ", shown)
    assert line
    for part in (
        "3 75 % 75 %",
        "10 5.0 1.0",
        "/2 active",
        "5/300 new",
        "/100 available and scheduled",
        "0/7 sch",
    ):
        assert part in line[1], part
    assert "none set" in shown


def test_entitlements_of_tenants_with_jobs_add_up_whatever_the_survey_saw(
    console: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    put("blue", weight=3.0)
    put("red")
    put("gone", weight=4.0)
    of("red")
    of("gone")
    survey()
    fetch(FetchRequest(("default",), 2, "w1"))  # empties both lanes

    of("blue")

    assert due() == {"blue": 1.0}
    of("red")
    assert due() == {"blue": 0.75, "red": 0.25}
    monkeypatch.setattr("console.tenants.LANES", 1)
    assert due() == {"blue": 3 / 5, "red": 1 / 5}  # by the survey


def due() -> dict[str, float]:
    """Return the entitlement of each tenant that has one, by the list."""
    lines = page(TenantFilter()).lines
    return {line.row.id: line.due for line in lines if line.due is not None}


def test_list_puts_the_loudest_first_and_others_by_id(console: Client) -> None:
    for name in ("b", "a", "loud", "busy"):
        put(name)
    did("busy", enqueued=90, started=10)
    did("loud", enqueued=200, started=100)

    assert listed(console) == ["loud", "busy", "_default", "a", "b"]
    assert listed(console, sort="id") == ["_default", "a", "b", "busy", "loud"]
    assert listed(console, noisy="1") == ["loud"]
    assert listed(console, name="LOU") == ["loud"]


def test_who_is_loud_now_names_those_that_stand_out_and_why(console: Client) -> None:
    put("loud", limits=TenantLimits(max_concurrency=0))
    put("calm")
    did("loud", enqueued=900, started=100)
    did("calm", enqueued=100, started=300)

    answer = console.get(url("tenants"))

    assert [line.row.id for line in answer.context["noisy"]] == ["loud", "calm"]
    shown = words(answer.content.decode())
    assert "90 % of all new jobs in the last 5 minutes · limit of 0 active" in shown
    assert "75 % of all starts in the last 5 minutes" in shown
    assert not console.get(url("tenants", name="l")).context["noisy"]


def test_nobody_is_loud_alone_or_with_few_jobs(console: Client) -> None:
    put("only")
    did("only", enqueued=5000, started=5000)
    assert "No tenant uses much more" in text(console, url("tenants"))
    did("other", enqueued=1)
    TenantPeriod.objects.filter(tenant="only").update(enqueued=99, started=99)
    survey()
    assert "No tenant uses much more" in text(console, url("tenants"))


def test_suspended_tenants_are_marked_and_found(console: Client) -> None:
    put("blue", standing=Standing.SUSPENDED)
    put("red")

    assert listed(console, state="suspended") == ["blue"]
    assert "blue suspended" in words(text(console, url("tenants", state="suspended")))


def test_tenant_at_a_limit_is_marked(console: Client) -> None:
    put("blue", limits=TenantLimits(max_queue_depth=3))
    of("blue", 3)

    assert "blue at a limit" in words(text(console, url("tenants")))
    assert "3/3 available and scheduled" in words(text(console, url("tenants")))


@pytest.mark.parametrize("sort", ["", "id"])
def test_paging_shows_each_tenant_once(store: None, sort: str) -> None:
    names = [f"t{n:04}" for n in range(2 * SIZE + 20)]
    Tenant.objects.bulk_create(Tenant(id=name, source=Source.AUTO) for name in names)
    for n in range(0, len(names), 3):
        did(names[n], enqueued=n)
    seen: list[str] = []
    wanted = TenantFilter(sort=sort)
    while True:
        found = page(wanted)
        seen += [line.row.id for line in found.lines]
        if not found.next:
            break
        wanted = TenantFilter.read(dict(parse_qsl(found.next)))

    assert sorted(seen) == ["_default", *names]
    if sort:
        assert seen == sorted(seen)
    TenantPeriod.objects.all().delete()


@pytest.mark.parametrize(
    "query",
    [
        {"name": "\x00%_'"}, {"state": "nonsense"}, {"after": "x~y"}, {"after": "9~"},
        {"after": f"{'9' * 15}~t"}, {"after": f"{'9' * 99}~t"}, {"noisy": "2"}, {"sort": "weight"},
    ],
)  # fmt: skip
def test_any_query_string_is_answered(console: Client, query: dict[str, str]) -> None:
    put()
    assert console.get(url("tenants", **query)).status_code == 200


def test_every_page_costs_as_much_whatever_there_is(console: Client) -> None:
    def cost(address: str) -> int:
        return statements_of(lambda: text(console, address))

    pages = (url("tenants"), url("tenant", "blue"), url("tenant_edit", "blue"), url("tenant_new"))
    put("blue", limits=LIMITS)
    of("blue", queue="a")
    before = [cost(address) for address in pages]
    for n in range(12):
        put(f"t{n}", limits=LIMITS, weight=2.0)
        of(f"t{n}", 2, queue=f"q{n}")
        of("blue", 1, queue=f"q{n}")
        did(f"t{n}", enqueued=200 * n, started=n)
    aggregate_all()

    assert [cost(address) for address in pages] == before
    assert max(before) <= MOST_STATEMENTS + MOST_OF_CAUSES


@spec("MT-9.1-a")
def test_noisy_tenants_come_first_with_their_signals(console: Client) -> None:
    put("busy")
    put("noisy")
    did("busy", enqueued=90)
    noise.note(
        {
            "noisy": (
                Signal(Reason.QUEUE_DEPTH, 500, 3, 10),
                Signal(Reason.ENQUEUE_RATE, 20, 1.5, 5),
                Signal(Reason.ACTIVE, 30, 40, 0.5),
                Signal(Reason.ERROR_RATE, 0.5, 0.01, 3),
            )
        }
    )

    answer = console.get(url("tenants"))

    assert [line.row.id for line in answer.context["noisy"]] == ["noisy"]
    assert listed(console)[:2] == ["noisy", "busy"]
    assert listed(console, noisy="1") == ["noisy"]
    shown = words(answer.content.decode())
    for said in (
        "500 available jobs, median of the other tenants: 3",
        "1,200 new jobs in the last minute, mean of the other tenants: 90",
        "30 of all 40 active jobs",
        "50 % of its attempts in the last minute failed, mean of the other tenants: 1 %",
    ):  # fmt: skip
        assert said in shown


def throttle(name: str) -> None:
    """Reduce the weight of a tenant to a fifth by a throttle."""
    until = timezone.now() + timedelta(minutes=5)
    Throttle.objects.create(
        tenant_id=name, hold=Hold.APPLIED, action=Action.WEIGHT, factor=0.2, had=10,
        reasons=["active_ratio_exceeded"], until=until,
    )  # fmt: skip


@spec("MT-9.2-c")
def test_throttled_tenant_is_shown_and_released(console: Client) -> None:
    put("blue", weight=10.0)
    put("red")
    throttle("blue")
    of("blue")
    of("red")
    survey()

    shown = words(text(console, url("tenants")))
    assert "throttled: weight 2 instead of 10" in shown
    assert "66.7 %" in shown
    assert "weight 2 instead of 10" in words(text(console, url("tenant", "blue")))
    told = act(console, "tenant-release", id="blue", reason="it was a test")

    assert "is no longer throttled" in told
    assert Throttle.objects.get().hold == Hold.LIFTED
    assert "instead of 10" not in text(console, url("tenants"))
    entry = Audit.objects.get(action="tenant.throttle_released")
    assert (entry.actor, entry.reason) == ("console:operator", "it was a test")


# --- one tenant -----------------------------------------------------------------------------------


def test_detail_shows_jobs_limits_queues_chart_and_audit(console: Client) -> None:
    tenants.put("blue", Definition(limits=LIMITS, weight=3.0), reason="asked for")
    of("blue", 4, queue="mail")
    JobFactory.create(meta={"tenant_id": "blue"}, tenant="blue", queue="pages", priority=3)
    fetch(FetchRequest(("mail",), 2, "w1"))
    did("blue", enqueued=40, started=20, completed=10)

    page_ = text(console, url("tenant", "blue"))
    shown = words(page_)

    for part in (
        "3 available", "2 active", "2/2 limit reached", "New jobs in 1 min", "/300",
        "Available and scheduled jobs 3/100",
        "40 enqueued", "mail 2 2 0", "pages 1 0 0", "tenant.configured", "asked for",
        "Fairness weight 3", "Jobs over a limit are refused",
    ):  # fmt: skip
        assert part in shown, part
    assert f"{url('jobs')}?state=available&amp;queue=mail&amp;tenant=blue" in page_
    assert f"{url('jobs')}?state=active&amp;tenant=blue" in page_
    assert f"{url('audit')}?target=blue" in page_


def test_jobs_without_a_tenant_have_one_name(console: Client) -> None:
    (job,) = stored(1)

    assert "no tenant _default" in words(text(console, url("tenants")))
    assert "Tenant _default no tenant" in words(text(console, url("tenant", "_default")))
    assert "Tenant no tenant" in words(text(console, url("job", job.id)))
    assert re.search(r"default no tenant \d", words(text(console, url("jobs"))))


def test_detail_of_the_default_tenant_is_always_there(console: Client) -> None:
    stored(2)

    page_ = text(console, url("tenant", "_default"))

    assert "2 available" in words(page_)
    assert "tenant-delete" not in page_


def test_tenant_that_nobody_configured_may_be_made(console: Client) -> None:
    answer = console.get(url("tenant", "later"))

    assert answer.status_code == 404
    assert f"{url('tenant_new')}?id=later" in answer.content.decode()
    assert 'value="later"' in text(console, f"{url('tenant_new')}?id=later")
    assert console.get(url("tenant_edit", "later")).status_code == 404
    assert console.get("/console/tenants/%3Cscript%3E/").status_code == 404
    assert console.get("/console/tenants/_other/").status_code == 404


@spec("D-MT-12")
def test_a_deleted_tenant_shows_who_did_it_and_what_is_left(console: Client, viewer: User) -> None:
    put("blue")
    JobFactory.create(
        meta={"tenant_id": "blue"}, tenant="blue", state=State.COMPLETED, queue="mail"
    )
    told = act(console, "tenant-delete", id="blue", reason="they left us")
    assert "blue" in told

    answer = console.get(url("tenant", "blue"))

    assert answer.status_code == 404
    shown = words(answer.content.decode())
    for part in ("blue no such tenant", "1 completed", "by console:operator: they left us",
                 "Its jobs keep its id", "tenant.deleted"):  # fmt: skip
        assert part in shown, part
    client = Client()
    client.force_login(viewer)
    seen = words(client.get(url("tenant", "blue")).content.decode())
    assert "they left us" not in seen
    assert "1 completed" in seen


def test_a_search_goes_on_behind_the_tenants_that_were_looked_at(
    store: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("console.tenants.LOOKED", 100)
    Tenant.objects.bulk_create(Tenant(id=f"t{n:04}", source=Source.AUTO) for n in range(350))
    did("t0007", enqueued=9)
    seen: list[list[str]] = []
    wanted = TenantFilter(name="7")
    while True:
        found = page(wanted)
        seen.append([line.row.id for line in found.lines])
        if not found.next:
            break
        wanted = TenantFilter.read(dict(parse_qsl(found.next)))

    every = [f"t{n:04}" for n in range(350) if "7" in str(n)]
    assert seen[0][0] == "t0007"  # the busy tenant comes first
    assert sorted(one for listed in seen for one in listed) == every
    assert len(seen) == 4


def test_the_list_goes_by_the_last_survey_and_not_by_an_old_one(console: Client) -> None:
    put("a")
    put("b")
    did("b", enqueued=900)
    did("a", enqueued=1)
    assert listed(console) == ["b", "a", "_default"]

    Survey.objects.update(at=timezone.now() - timedelta(minutes=6))

    assert listed(console) == ["_default", "a", "b"]
    assert "of all new jobs" not in text(console, url("tenants"))


def test_jobs_lead_to_their_tenant(console: Client) -> None:
    job = JobFactory.create(meta={"tenant_id": "blue"}, tenant="blue")
    link = f'<a href="{url("tenant", "blue")}">blue</a>'

    assert link in text(console, url("jobs"))
    assert link in text(console, url("job", job.id))


def test_audit_is_for_those_who_may_see_it(viewer: User) -> None:
    tenants.put("blue", Definition(), reason="secret reason")
    client = Client()
    client.force_login(viewer)

    assert "secret reason" not in text(client, url("tenant", "blue"))


def test_audit_log_is_searched_by_what_something_was_done_to(console: Client) -> None:
    put("blue")
    put("red")

    found = console.get(url("audit", target="blue")).context["entries"]

    assert [entry.target for entry in found] == ["blue"]


# --- forms ----------------------------------------------------------------------------------------


@spec("MT-9.3-a")
def test_form_makes_a_tenant_and_the_audit_log_has_the_reason(console: Client) -> None:
    answer = console.post(
        url("tenant_new"),
        form(name="Blue Ltd", fairness_weight="2.5", quota_mode="soft", isolation="shared",
             max_concurrency="8", max_enqueue_rate="300", max_enqueue_period="1m",
             max_queue_depth="2500", max_scheduled="400"),
    )  # fmt: skip

    assert answer["Location"] == url("tenant", "blue")
    made = tenants.find("blue")
    assert (made.name, made.fairness_weight, made.source) == ("Blue Ltd", 2.5, "dynamic")
    assert (made.quota_mode, made.isolation) == (QuotaMode.SOFT, "shared")
    assert (made.max_concurrency, made.enqueue_limit, made.enqueue_period_ms) == (8, 300, 60_000)
    assert (made.max_queue_depth, made.max_scheduled) == (2500, 400)
    entry = Audit.objects.get()
    assert (entry.action, entry.target, entry.actor, entry.reason) == (
        "tenant.configured", "blue", "console:operator", "ticket 7",
    )  # fmt: skip


def test_form_shows_a_tenant_and_stores_it_as_it_was(console: Client) -> None:
    put("blue", name="Blue", weight=0.5, limits=LIMITS, quota_mode=QuotaMode.SOFT)
    tenants.set_standing("blue", Standing.SUSPENDED)
    before = Tenant.objects.values().get()

    shown = console.get(url("tenant_edit", "blue")).context["form"]
    fields = {name: shown[name].value() or "" for name in shown.fields}
    answer = console.post(url("tenant_edit", "blue"), {**fields, "reason": "same"})

    assert answer["Location"] == url("tenant", "blue")
    assert {**Tenant.objects.values().get(), "updated_at": None} == {**before, "updated_at": None}


def test_form_empties_what_is_emptied(console: Client) -> None:
    put("blue", name="Blue", weight=2.0, limits=LIMITS)

    console.post(url("tenant_edit", "blue"), form(tenant_id="ignored"))

    changed = tenants.find("blue")
    assert (changed.name, changed.fairness_weight, changed.max_concurrency) == (None, None, None)
    assert (changed.enqueue_limit, changed.enqueue_period_ms) == (None, None)
    assert Tenant.objects.count() == 1


@pytest.mark.parametrize(
    ("fields", "field", "words_of_it"),
    [
        ({"tenant_id": ""}, "tenant_id", "required"),
        ({"tenant_id": "no spaces"}, "tenant_id", "must be 1 to 255 letters"),
        ({"tenant_id": "_other"}, "tenant_id", "must be 1 to 255 letters"),
        ({"tenant_id": "taken"}, "tenant_id", "A tenant with this id exists."),
        ({"reason": " "}, "reason", "required"),
        ({"reason": "x" * 1001}, "reason", "at most 1000"),
        ({"name": "x" * 256}, "name", "at most 255"),
        ({"fairness_weight": "heavy"}, "fairness_weight", "Enter a number"),
        ({"fairness_weight": "nan"}, "fairness_weight", "Enter a number"),
        ({"fairness_weight": "0"}, "fairness_weight", "greater than or equal to 0.001"),
        ({"quota_mode": "none"}, "quota_mode", "Select a valid choice"),
        ({"isolation": "none"}, "isolation", "Select a valid choice"),
        ({"max_concurrency": "-1"}, "max_concurrency", "greater than or equal to 0"),
        ({"max_queue_depth": "9" * 40}, "max_queue_depth", "less than or equal to"),
        ({"max_scheduled": "many"}, "max_scheduled", "Enter a whole number"),
        ({"max_enqueue_rate": "0"}, "max_enqueue_rate", "greater than or equal to 1"),
        (
            {"max_enqueue_rate": "5", "max_enqueue_period": "soon"},
            "max_enqueue_period",
            "It must be a duration such as PT30S or 30s.",
        ),
        ({"max_enqueue_period": "PT1M"}, "max_enqueue_rate", "It must be an integer from 1"),
    ],
)
def test_form_says_what_is_wrong_by_the_field_and_keeps_the_rest(
    console: Client, fields: dict[str, str], field: str, words_of_it: str
) -> None:
    put("taken")

    answer = console.post(url("tenant_new"), form(**{"max_scheduled": "77", **fields}))

    assert answer.status_code == 400
    shown = answer.context["form"]
    assert list(shown.errors) == [field]
    assert words_of_it in str(shown.errors[field])
    page_ = answer.content.decode()
    assert re.search(rf'<(input|select)[^>]* name="{field}"[^>]*aria-invalid="true"', page_)
    assert 'value="77"' in page_ or "max_scheduled" in fields
    assert Tenant.objects.count() == 1


def test_what_the_service_refuses_is_told_by_the_field(
    console: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_given: object, **_more: object) -> None:
        raise Unprocessable.field("isolation", "must wait until its jobs have ended")

    monkeypatch.setattr(tenants, "put", refuse)

    answer = console.post(url("tenant_new"), form())

    assert answer.status_code == 400
    assert answer.context["form"].errors == {
        "isolation": ["It must wait until its jobs have ended."]
    }


# --- actions --------------------------------------------------------------------------------------


def test_suspend_and_resume_say_why_in_the_audit_log(console: Client) -> None:
    put()

    assert "blue is suspended" in act(console, "tenant-suspend", id="blue", reason="too loud")
    assert tenants.find("blue").state == Standing.SUSPENDED
    assert "Resume blue" in text(console, url("tenant", "blue"))
    assert "is resumed" in act(console, "tenant-resume", id="blue", reason="calm again")
    assert tenants.find("blue").state == Standing.ACTIVE

    found = Audit.objects.exclude(action="tenant.configured").order_by("id")
    assert [(one.action, one.actor, one.reason) for one in found] == [
        ("tenant.suspended", "console:operator", "too loud"),
        ("tenant.resumed", "console:operator", "calm again"),
    ]


@spec("MT-9.3-a")
def test_one_limit_is_set_and_the_others_stay(console: Client) -> None:
    put("blue", limits=LIMITS)

    told = act(console, "tenant-limit", id="blue", limit="max_concurrency", value="5", reason="x")
    assert told == "“Active jobs” of tenant blue: 5 from now on."
    told = act(console, "tenant-limit", id="blue", limit="max_enqueue_rate", value="9", reason="x")
    assert "“New jobs per minute” of tenant blue: 9" in told
    told = act(console, "tenant-limit", id="blue", limit="max_scheduled", value="", reason="x")
    assert "“Scheduled jobs” of tenant blue: unlimited" in told

    row = tenants.find("blue")
    assert (row.max_concurrency, row.enqueue_limit, row.max_scheduled) == (5, 9, None)
    assert row.max_queue_depth == 100
    entry = Audit.objects.filter(action="tenant.limits_changed").order_by("id")[0]
    assert (entry.reason, entry.data["limits"]["max_concurrency"]) == ("x", 5)


def test_delete_refuses_while_jobs_are_there_and_force_cancels_them(console: Client) -> None:
    put()
    of("blue", 2)

    told = act(console, "tenant-delete", id="blue", reason="left")
    assert "has 2 jobs that have not ended" in told
    told = act(console, "tenant-delete-force", id="blue", reason="left")
    assert "Tenant blue is deleted" in told
    assert not Tenant.objects.exists()
    assert Audit.objects.get(action="tenant.deleted").reason == "left"
    assert "not exist" in act(console, "tenant-delete", id="blue", reason="left")


def test_default_tenant_is_not_deleted(console: Client) -> None:
    put("_default")

    assert "cannot be deleted" in act(console, "tenant-delete", id="_default", reason="x")


@pytest.mark.parametrize("verb", VERBS)
def test_each_action_asks_for_a_reason(console: Client, verb: str) -> None:
    put("blue", limits=LIMITS)
    before = Tenant.objects.values().get()

    for reason in ("", " ", "\x00", "x" * 1001):
        told = act(console, verb, id="blue", limit="max_scheduled", value="1", reason=reason)
        assert "eason" in told
    assert Tenant.objects.values().get() == before


@pytest.mark.parametrize(
    "fields",
    [
        {"id": ""}, {"id": "no spaces"}, {"id": "\x00"}, {"id": "nobody"}, {"limit": "max_luck"},
        {"value": "-1"}, {"value": "many"}, {"value": "9" * 30}, {"value": "²"}, {"value": "1.5"},
    ],
)  # fmt: skip
def test_limit_that_makes_no_sense_is_refused_in_words(
    console: Client, fields: dict[str, str]
) -> None:
    put()
    given = {"id": "blue", "limit": "max_scheduled", "value": "1", "reason": "x", **fields}

    assert act(console, "tenant-limit", **given)
    assert Tenant.objects.get().max_scheduled is None


def test_actions_refuse_get_strangers_and_requests_without_token(
    console: Client, viewer: User
) -> None:
    put()
    looking, strict = Client(), Client(enforce_csrf_checks=True)
    looking.force_login(viewer)
    strict.force_login(User.objects.get(username="operator"))
    for verb in VERBS:
        address = reverse("ojs_console:act", args=[verb])
        body = {"id": "blue", "reason": "x"}
        assert console.get(address).status_code == 405
        assert looking.post(address, body).status_code == 403
        assert strict.post(address, body).status_code == 403
        assert Client().post(address, body)["Location"].startswith(url("login"))
    for address in (url("tenant_new"), url("tenant_edit", "blue")):
        assert looking.get(address).status_code == 403
        assert looking.post(address, form()).status_code == 403
        assert strict.post(address, form()).status_code == 403
    assert tenants.find("blue").state == Standing.ACTIVE


def test_viewer_sees_tenants_and_no_buttons(viewer: User) -> None:
    put()
    client = Client()
    client.force_login(viewer)

    for address in (url("tenants"), url("tenant", "blue")):
        page_ = text(client, address)
        for verb in (*VERBS, "Change", url("tenant_new")):
            assert verb not in page_


def test_force_needs_the_permission_to_end_jobs(viewer: User) -> None:
    put()
    of("blue")
    viewer.user_permissions.add(Permission.objects.get(codename="delete_tenant"))
    client = Client()
    client.force_login(viewer)
    address = reverse("ojs_console:act", args=["tenant-delete-force"])

    assert client.post(address, {"id": "blue", "reason": "x"}).status_code == 403
    assert "tenant-delete-force" not in text(client, url("tenant", "blue"))
    viewer.user_permissions.add(Permission.objects.get(codename="delete_job"))
    assert client.post(address, {"id": "blue", "reason": "x"}).status_code == 302
    assert not Tenant.objects.exists()


# --- in a browser ---------------------------------------------------------------------------------


def test_loud_tenant_is_found_limited_and_suspended(page: Page) -> None:
    put("loud")
    put("calm")
    of("loud", 3)
    did("loud", enqueued=900, started=300)
    did("calm", enqueued=100, started=300)
    page.get_by_role("link", name="Tenants", exact=True).click()
    panel = page.locator("#noisy")
    expect(panel).to_contain_text("90 % of all new jobs")
    panel.get_by_text("Set limit").first.click()
    panel.get_by_label("Limit of loud").select_option("max_queue_depth")
    panel.get_by_label("At most").first.fill("10")
    panel.get_by_role("button", name="Set limit").first.click()
    assert tenants.find("loud").max_queue_depth is None  # the browser requires a reason
    panel.get_by_label("Reason").first.fill("ticket 7")
    panel.get_by_role("button", name="Set limit").first.click()
    expect(page.get_by_role("status")).to_contain_text(
        "“Available and scheduled jobs” of tenant loud: 10"
    )
    page.locator("#live").get_by_role("link", name="loud").first.click()
    expect(page.locator("h1")).to_contain_text("loud")
    expect(page.locator("#live")).to_contain_text("3/10")
    page.locator("#suspend-one summary").click()
    page.locator("#suspend-one").get_by_label("Reason").fill("ticket 8")
    page.get_by_role("button", name="Suspend loud").click()
    expect(page.get_by_role("status")).to_contain_text("is suspended")
    expect(page.locator("h1 .badge").first).to_have_text("suspended")
    assert tenants.find("loud").state == Standing.SUSPENDED
    TenantPeriod.objects.all().delete()


def test_form_that_is_being_filled_in_stays(page: Page) -> None:
    put("blue")
    page.goto(url("tenant", "blue"))
    page.locator("#suspend-one summary").click()
    page.locator("#suspend-one").get_by_label("Reason").fill("half a rea")
    page.locator("h1").click()  # otherwise the focus keeps the section from refreshing
    with page.expect_response(lambda answer: answer.url.endswith("/tenants/blue/")):
        pass
    page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    expect(page.locator("#suspend-one").get_by_label("Reason")).to_have_value("half a rea")


@pytest.mark.parametrize("width", [360, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_page_of_tenants_is_wider_than_the_screen(page: Page, width: int, scheme: str) -> None:
    name = "t" * 255
    put(name, name="n" * 255, limits=LIMITS)
    put("other")
    of(name, 3, queue="q" * 100)
    did(name, enqueued=900, started=300)
    did("other", enqueued=1)
    page.set_viewport_size({"width": width, "height": 800})
    page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    for address in (url("tenants"), url("tenant", name), url("tenant_edit", name),
                    url("tenant_new"), url("tenant", "none")):  # fmt: skip
        page.goto(address)
        for ask in page.locator("details.ask summary").all()[:2]:
            ask.click()
            assert page.evaluate("document.documentElement.scrollWidth") <= width, address
        assert page.evaluate("document.documentElement.scrollWidth") <= width, address
    TenantPeriod.objects.all().delete()
