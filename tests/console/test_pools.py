"""The pages of pools: contents, changes and refusals. Spec: contract 20.2, 20.3."""

import re
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.contrib.messages import get_messages
from django.test import Client, override_settings
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import Page, expect

from jobs.domain.dispatch.claim import FetchRequest, PriorityScope, Strategy
from jobs.models import Audit, Period, TenantPeriod
from jobs.services.dispatch.fetch import fetch
from jobs.services.operate.queues import pause
from jobs.services.workers.heartbeat import Report, heartbeat
from scheduling.domain.pool import Cost, Scope, TenantWeights
from scheduling.domain.pool_request import parse_pool
from scheduling.models import Configuration, PoolRow
from scheduling.services import configuration, pools
from tests.concurrency import aggregate_all
from tests.console.conftest import answer
from tests.console.test_pages import MOST_STATEMENTS, text, url
from tests.cost import statements_of
from tests.factories import stored
from tests.scheduling.pools import of_tenant
from tests.spec import spec

MINE = {
    "queues": {"a": 3, "b": 1}, "strategy": "weighted", "concurrency": 4,
    "starvation_prevention": {"min_dispatch_ratio": 0.1, "rotation_interval": "PT1M"},
    "tenant_fairness": {"weights": {"blue": 4}, "default_weight": 2},
}  # fmt: skip
STATIC = {"POOLS": [{"name": "fixed", "queues": ["x"]}]}


def define(name: str = "mine", **body: Any) -> None:
    """Store a pool."""
    pools.put(parse_pool(name, body or MINE))


def claim(pool: str, count: int, worker_id: str = "w1") -> list[str]:
    return [job.id for job in fetch(FetchRequest((), count, worker_id, pool=pool)).jobs]


def form(**fields: str) -> dict[str, str]:
    """Return a filled form."""
    return {"name": "mail", "queues": "a\nb", "strategy": "round-robin", **fields}


def act(console: Client, verb: str, **fields: str) -> str:
    """Send the form of a button; return the message of the next page."""
    answer = console.post(reverse("ojs_console:act", args=[verb]), fields)
    assert answer.status_code == 302
    return " ".join(str(message) for message in get_messages(answer.wsgi_request))


def words(page: str) -> str:
    """Return the text of a page without its tags."""
    return " ".join(re.sub(r"<[^>]*>", " ", page).split())


# --- list -----------------------------------------------------------------------------------------


@spec("FS-10.1")
def test_list_shows_pools_with_what_is_used_of_them(console: Client) -> None:
    define()
    define("gpu", queues=["render"], isolated=True, concurrency=2)
    define("rest", queues=[f"q{n}" for n in range(10)])
    heartbeat(Report("w9", pool="gpu"))
    stored(5, queue="render")
    claim("gpu", 5, "w9")

    page = words(text(console, url("pools")))

    for shown in (
        "mine weighted a weight 3 b weight 1 0 of 4", "10 % each, within 1 min",
        "gpu isolated round-robin", "render 2 of 2 full 1 off", "q7 2 more", "0 no limit",
    ):  # fmt: skip
        assert shown in page


def test_list_without_pools_says_what_they_are_for(console: Client, viewer: User) -> None:
    assert "Create a pool" in text(console, url("pools"))
    other = Client()
    other.force_login(viewer)
    page = text(other, url("pools"))
    assert "No pool yet" in page
    assert "Create a pool" not in page


def test_list_goes_on_page_by_page(console: Client) -> None:
    for n in range(55):
        define(f"p{n:02}", queues=["a"])

    first, second = console.get(url("pools")), console.get(url("pools", page="2"))

    assert [line.pool.name for line in first.context["lines"]] == [f"p{n:02}" for n in range(50)]
    assert [line.pool.name for line in second.context["lines"]] == [f"p{n}" for n in range(50, 55)]
    assert (first.context["following"], second.context["previous"]) == (2, 1)
    assert console.get(url("pools", page="x'")).status_code == 200


def test_static_pools_are_marked_and_not_changed(console: Client) -> None:
    with override_settings(OJS_SCHEDULING=STATIC):
        listed, page = (words(text(console, a)) for a in (url("pools"), url("pool", "fixed")))
        answer = console.post(url("pool_edit", "fixed"), form(queues="y"))
        told = act(console, "pool-delete", id="fixed", force="1")

    assert "fixed static" in listed
    assert "Defined in the server" in page
    assert "Change" not in page
    assert answer.status_code == 400
    assert "Pool fixed is defined by the server&#x27;s settings." in answer.content.decode()
    assert "is defined by the server's settings" in told


def test_every_page_costs_as_much_whatever_there_is(console: Client) -> None:
    def cost(address: str) -> int:
        return statements_of(lambda: text(console, address))

    pages = (url("pools"), url("pool", "mine"), url("pool_edit", "mine"), url("pool_new"))
    define()
    stored(1, queue="a")
    before = [cost(address) for address in pages]
    for n in range(12):
        define(f"p{n}", queues=[f"q{m}" for m in range(n + 1)], concurrency=3)
        heartbeat(Report(f"w{n}", pool="mine"))
        stored(2, queue=f"q{n}")
    define("mine", queues=[f"q{n}" for n in range(12)], strategy="weighted")
    claim("mine", 5)
    aggregate_all()

    assert [cost(address) for address in pages] == before
    assert max(before) <= MOST_STATEMENTS + 2


# --- one pool -------------------------------------------------------------------------------------


@spec("FS-10.1")
def test_detail_shows_queues_shares_turns_and_workers(console: Client) -> None:
    define()
    stored(20, queue="a")
    stored(20, queue="b")
    heartbeat(Report("w1", pool="mine", hostname="north"))
    assert len(claim("mine", 4)) == 4
    minute = timezone.now().replace(second=0, microsecond=0)
    for queue, started in (("a", 3), ("b", 1)):  # as the aggregation counts them
        Period.objects.create(span_s=60, at=minute, queue=queue, type="x", started=started)

    page = words(text(console, url("pool", "mine")))

    for shown in (
        "4 of 4 full", "10 % each, within 1 min", "blue 4, others 2", "other workers may use",
        "a 3 17 3 3 75 % 75 %", "b 1 19 1 1 25 % 25 %", "w1 north running 4",
    ):  # fmt: skip
        assert shown in page
    assert re.search(r"Next turns .* now a b a \W3 b a \W3 b", page)
    Period.objects.all().delete()


@spec("FS-9.2-a")
def test_detail_shows_tenants_that_share_over_several_queues(console: Client) -> None:
    define("p", queues=["a", "b"], tenant_fairness={"scope": "pool", "weights": {"red": 3}})
    for tenant, queue in (("red", "a"), ("blue:x", "a"), ("blue:x", "b")):
        of_tenant(tenant, 5, queue)
    claim("p", 2)
    minute = timezone.now().replace(second=0, microsecond=0)
    for tenant, queue, started in (("red", "a", 3), ("blue:x", "b", 1), ("red", "other", 50)):
        nothing = dict.fromkeys(("enqueued", "completed", "failed", "wait_ms", "run_ms"), 0)
        TenantPeriod.objects.create(
            tenant=tenant, span_s=60, at=minute, queue=queue, started=started, **nothing
        )

    page = words(text(console, url("pool", "p")))

    assert "red 3, others 1 across all queues of the pool" in page
    assert "over the queues of this pool" in page
    assert "red 3 3 75 % 75 %" in page
    assert "blue:x 1 1 25 % 25 %" in page
    define("p", queues=["a", "b"], tenant_fairness={"scope": "global"})
    assert "over all queues with this scope" in words(text(console, url("pool", "p")))
    define("p", queues=["a", "b"])
    assert "Tenants of several queues" not in text(console, url("pool", "p"))
    TenantPeriod.objects.all().delete()


@spec("fair-scheduling 8")
def test_detail_marks_queues_that_are_owed_paused_or_empty(console: Client) -> None:
    define("p", queues=["a", "b", "c", "d"], strategy="strict",
           starvation_prevention={"min_dispatch_ratio": 0.25})  # fmt: skip
    for queue in "abc":
        stored(20, queue=queue)
    pause("c")
    claim("p", 2)

    page = words(text(console, url("pool", "p")))

    assert "b 20 0 0 \N{EN DASH} at least 25 % owed next" in page
    assert "c paused 20 0 0 \N{EN DASH} at least 25 % no job can start" in page
    assert "d 0 0 0 \N{EN DASH} at least 25 % no job can start" in page


def test_detail_of_the_default_pool_counts_workers_that_name_none(console: Client) -> None:
    define("default", queues=["a"])
    heartbeat(Report("w1"))

    assert "and 1 without a pool" in text(console, url("pool", "default"))


def test_pool_that_is_not_defined_may_be_made(console: Client) -> None:
    answer = console.get(url("pool", "later"))

    assert answer.status_code == 404
    assert "no policy applies to them" in answer.content.decode()
    assert f"{url('pool_new')}?name=later" in answer.content.decode()
    assert 'value="later"' in text(console, f"{url('pool_new')}?name=later")
    assert console.get(url("pool_edit", "later")).status_code == 404
    assert console.get("/console/pools/%3Cscript%3E/").content.count(b"<script>") == 0


def test_workers_and_jobs_show_their_pool(console: Client) -> None:
    define()
    stored(1, queue="a")
    heartbeat(Report("w1", pool="mine"))
    (job_id,) = claim("mine", 1)
    link = f'<a href="{url("pool", "mine")}">mine</a>'

    for address in (url("workers"), url("overview"), url("job", job_id)):
        assert link in text(console, address)
    assert f"of pool {link}" in text(console, url("job", job_id))


@spec("contract 20.5")
def test_job_page_tells_the_gates_of_pools(console: Client) -> None:
    define("p", queues=["a", "b"], concurrency=1, isolated=True)
    heartbeat(Report("w1", pool="p"))
    ids = [job.id for job in stored(2, queue="a")]
    claim("p", 1)

    page = words(text(console, url("job", ids[1])))

    assert "Pool p is full: 1 of its jobs run, 1 may; there is room when one of them ends." in page
    assert "closed to all workers outside of isolated pool p" in page
    assert "In the round-robin turns of pool p queue a" in page


# --- forms ----------------------------------------------------------------------------------------


@spec("FS-10.1-b")
def test_form_makes_a_pool(console: Client) -> None:
    answer = console.post(
        url("pool_new"),
        form(queues="a 3\n\n  b\n", strategy="weighted", concurrency="7", isolated="on",
             prevention="on", ratio="0.25", rotation="PT10S", tenants="blue 4\nx y 2",
             over="pool"),
    )  # fmt: skip

    assert answer["Location"] == url("pool", "mail")
    made = pools.find("mail").pool
    assert (made.queues, made.weights, made.strategy) == (("a", "b"), (3, 1), Strategy.WEIGHTED)
    assert (made.concurrency, made.isolated) == (7, True)
    assert (made.prevention.enabled, made.prevention.min_ratio) == (True, 0.25)
    assert made.prevention.rotation_ms == 10_000
    assert made.tenants is not None
    assert (made.tenants.weights, made.tenants.default) == ({"blue": 4, "x y": 2}, 1)
    assert made.tenants.scope is Scope.POOL
    entry = Audit.objects.get()
    assert (entry.action, entry.target, entry.actor) == (
        "pool.changed", "mail", "console:operator",
    )  # fmt: skip


def test_form_shows_a_pool_and_stores_it_as_it_was(console: Client) -> None:
    define()
    before = pools.find("mine")

    page = console.get(url("pool_edit", "mine"))
    answer = console.post(url("pool_edit", "mine"), page.context["fields"])

    assert answer["Location"] == url("pool", "mine")
    assert pools.find("mine") == before


def test_form_empties_what_is_emptied(console: Client) -> None:
    define()

    console.post(url("pool_edit", "mine"), form(queues="c", name="ignored"))

    changed = pools.find("mine").pool
    assert (changed.queues, changed.concurrency, changed.tenants) == (("c",), None, None)
    assert not changed.prevention.enabled
    assert PoolRow.objects.count() == 1


@pytest.mark.parametrize(
    ("fields", "field", "words_of_it"),
    [
        ({"name": "no spaces"}, "name", "Must be 1 to 128 letters"),
        ({"name": "mine"}, "name", "Is taken by another pool, not “mine”"),
        ({"queues": ""}, "queues", "Must be an array of 1 to 100 names"),
        ({"queues": "A"}, "queues", "Must hold valid queue names, not “A”."),
        ({"queues": "a\na"}, "queues", "Must not name a queue twice"),
        ({"queues": "a 0"}, "queues", "Weight of a must be an integer from 1 to 1000000, not “0”."),
        ({"queues": "a b c"}, "queues", "Weight of a must be an integer"),
        ({"strategy": "luck"}, "strategy", "Must be one of strict, round-robin"),
        ({"concurrency": "many"}, "concurrency", "Must be an integer from 1 to"),
        ({"concurrency": "0"}, "concurrency", "not “0”."),
        ({"prevention": "on", "ratio": "2"}, "ratio", "Must be a number from 0 to 1, not “2”."),
        (
            {"queues": "y\nz", "prevention": "on", "ratio": "0.9"},
            "ratio",
            "Adds up to more than 1 over the queues",
        ),
        ({"rotation": "soon"}, "rotation", "Must be a duration such as PT30S or 30s"),
        ({"tenants": "blue"}, "tenants", "Must have a name and a weight on each line, not “blue”."),
        ({"tenants": "blue x"}, "tenants", "Weight of blue must be an integer"),
        ({"default": "-1"}, "default", "Must be an integer"),
        ({"over": "all"}, "over", "Must be one of queue, pool, global, not “all”."),
        (
            {"over": "pool", "sharing": "time"},
            "sharing",
            "Must be dispatch with scope pool, not “duration”.",
        ),
        ({"tenants": "blue 5", "queues": "a"}, "tenants", ""),  # `mine` weighs a otherwise
    ],
)
def test_form_says_what_is_wrong_by_the_field_and_keeps_the_rest(
    console: Client, fields: dict[str, str], field: str, words_of_it: str
) -> None:
    define()

    answer = console.post(url("pool_new"), form(**{"tenants": "red 9", "queues": "z", **fields}))

    assert answer.status_code == 400
    assert answer.context["wrong"].field == field
    page = answer.content.decode()
    assert words_of_it in page
    assert re.search(rf'<(input|select|textarea) name="{field}"[^>]*aria-invalid="true"', page)
    assert page.count('id="wrong"') == 1
    assert "red 9" in page or "tenants" in fields
    assert PoolRow.objects.count() == 1


# --- delete, configuration, permissions -----------------------------------------------------------


def test_delete_asks_for_force_while_workers_live(console: Client) -> None:
    define()
    assert "Delete with" not in text(console, url("pool", "mine"))
    heartbeat(Report("w1", pool="mine"))

    assert "Delete with 1 live worker" in words(text(console, url("pool", "mine")))
    assert "Pool mine has 1 live worker." in act(console, "pool-delete", id="mine")
    assert "Pool mine is deleted" in act(console, "pool-delete", id="mine", force="1")
    assert "does not exist" in act(console, "pool-delete", id="mine")
    assert not PoolRow.objects.exists()
    assert [one.actor for one in Audit.objects.filter(action="pool.deleted")] == [
        "console:operator"
    ]


def test_configuration_is_shown_and_changed(console: Client) -> None:
    assert "round-robin one job of each queue in turn" in words(text(console, url("pools")))

    fields = {"strategy": "strict", "tenants": "blue 3", "default": "2"}
    fields |= {"sharing": "time", "over": "queue", "scope": "global"}
    answer = console.post(url("pools"), fields)

    assert answer["Location"] == url("pools")
    held = configuration.defaults()
    assert (held.strategy, held.scope) == (Strategy.STRICT, PriorityScope.GLOBAL)
    assert held.tenants == TenantWeights({"blue": 3}, 2, cost=Cost.DURATION)
    page = console.get(url("pools"))
    assert page.context["fields"] == fields
    assert "strict the first queue with jobs, in order" in words(page.content.decode())
    assert Audit.objects.get(action="scheduling.configured").actor == "console:operator"

    console.post(url("pools"), {"strategy": "", "tenants": "", "default": ""})

    row = Configuration.objects.get()
    assert (row.default_strategy, row.tenants) == (None, None)


def test_configuration_that_is_wrong_is_told_by_the_field(console: Client) -> None:
    answer = console.post(url("pools"), {"strategy": "", "tenants": "blue 0", "default": ""})

    assert answer.status_code == 400
    assert "Weight of blue must be an integer from 1 to 1000000, not “0”." in words(
        answer.content.decode()
    )
    assert '<details id="configure" open>' in answer.content.decode()
    assert not Configuration.objects.exists()


def test_viewer_sees_pools_and_changes_nothing(viewer: User) -> None:
    define()
    client = Client()
    client.force_login(viewer)

    for address in (url("pools"), url("pool", "mine")):
        page = text(client, address)
        for verb in ("Change", "Delete", "pool-delete", "Store"):
            assert verb not in page
    assert client.get(url("pool_edit", "mine")).status_code == 403
    assert client.post(url("pool_edit", "mine"), form()).status_code == 403
    assert client.post(url("pool_new"), form()).status_code == 403
    assert client.post(url("pools"), {"strategy": "strict"}).status_code == 403
    deletion = client.post(reverse("ojs_console:act", args=["pool-delete"]), {"id": "mine"})
    assert deletion.status_code == 403
    assert pools.find("mine").pool.queues == ("a", "b")


@pytest.mark.parametrize("kinds", [("add",), ("change",), ("add", "change")])
def test_configuring_pools_takes_both_permissions(viewer: User, kinds: tuple[str, ...]) -> None:
    define()
    names = [f"{kind}_poolrow" for kind in kinds]
    viewer.user_permissions.add(*Permission.objects.filter(codename__in=names))
    client = Client()
    client.force_login(viewer)

    made = client.post(url("pool_new"), form()).status_code
    changed = client.post(url("pool_edit", "mine"), form(queues="a")).status_code

    assert (made, changed) == ((302, 302) if len(kinds) > 1 else (403, 403))


def test_forms_need_the_token_of_the_page(operator: User) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(operator)

    for address in (
        url("pool_new"),
        url("pools"),
        reverse("ojs_console:act", args=["pool-delete"]),
    ):
        assert client.post(address, form()).status_code == 403
    assert not PoolRow.objects.exists()


# --- in a browser ---------------------------------------------------------------------------------


def test_pool_is_made_watched_and_deleted(page: Page) -> None:
    page.get_by_role("link", name="Pools", exact=True).click()
    page.get_by_role("link", name="New").click()
    page.get_by_label("Name", exact=True).fill("mail")
    page.get_by_label("Queues in order").fill("a 0\nb")
    page.locator("[name=strategy]").select_option("weighted")
    page.get_by_label("Maximum active jobs").fill("2")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("Weight of a must be an integer")
    page.get_by_label("Queues in order").fill("a 2\nb")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_role("status")).to_contain_text("Pool mail is saved")
    page.evaluate("window.isSamePage = true")
    stored(9, queue="a")
    heartbeat(Report("w1", pool="mail"))
    claim("mail", 5)
    expect(page.locator("#live")).to_contain_text("2 of 2 full")
    expect(page.get_by_role("row", name="w1")).to_be_visible()
    assert page.evaluate("window.isSamePage")
    page.get_by_role("button", name="Delete").click()
    answer(page)
    expect(page.get_by_role("status")).to_contain_text("has 1 live worker")
    page.go_back()
    page.get_by_label("Delete with 1 live worker").check()
    page.get_by_role("button", name="Delete").click()
    answer(page)
    expect(page.get_by_role("status")).to_contain_text("Pool mail is deleted")
    assert not PoolRow.objects.exists()


@pytest.mark.parametrize("width", [360, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_page_of_pools_is_wider_than_the_screen(page: Page, width: int, scheme: str) -> None:
    name = "p" * 120
    define(name, queues=["q" * 100, *(f"queue-number-{n}" for n in range(30))], concurrency=1,
           strategy="weighted", isolated=True)  # fmt: skip
    heartbeat(Report("w" * 100, pool=name, hostname="h" * 100))
    stored(3, queue="q" * 100)
    claim(name, 1, "w" * 100)
    page.set_viewport_size({"width": width, "height": 800})
    page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    for address in (url("pools"), url("pool", name), url("pool_edit", name), url("pool_new"),
                    url("pool", "none")):  # fmt: skip
        page.goto(address)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, address
