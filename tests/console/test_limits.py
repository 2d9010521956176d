"""The page of rate limits. Spec: contract 27.3."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import Page, expect

from jobs.domain.access.caller import SYSTEM
from jobs.domain.dispatch.claim import FetchRequest
from jobs.domain.lanes.limits import LimitPolicy
from jobs.models import Audit, Limit
from jobs.services.dispatch.fetch import fetch
from jobs.services.lanes import limits
from jobs.services.lanes.queue_config import configure
from tests.console.conftest import answer
from tests.factories import stored
from tests.spec import spec

PATH = "/console/rate-limits/"
POLICY = LimitPolicy(concurrency=7)


def act(client: Client, verb: str, **form: str) -> str:
    """Send the form of an action and return the next page."""
    address = reverse("ojs_console:act", args=[verb])
    return client.post(address, {"next": PATH, **form}, follow=True).content.decode()


def limited(key: str = "stripe", **more: object) -> None:
    """Store jobs of a limit and start as many as it allows."""
    rate = {"limit": 100, "period": "PT1M"}
    stored(5, rate_limit={"key": key, "concurrency": 2, "rate": rate}, **more)
    fetch(FetchRequest(("default",), count=10))


@spec("contract 27.3")
def test_limits_are_listed_with_what_is_used(console: Client) -> None:
    limited()
    configure("mail", {"concurrency": 0})
    stored(3, queue="mail")

    answer = console.get(PATH)

    assert [
        (one.key, one.active, one.waiting, one.started) for one in answer.context["limits"]
    ] == [("stripe", 2, 3, 2), ("queue:mail", 0, 3, 0)]
    page = " ".join(answer.content.decode().split())
    for words in ("2 active, 100 per 1 min", "queue:mail", "0 active"):
        assert words in page


def test_limits_are_found_by_a_part_of_their_key(console: Client) -> None:
    for key in ("stripe", "paypal"):
        limits.override(key, POLICY, None, SYSTEM)

    found = console.get(PATH, {"name": "pay"}).context["limits"]

    assert [one.key for one in found] == ["paypal"]
    assert "has \u201cnone\u201d in its key" in console.get(PATH, {"name": "none"}).content.decode()


def test_many_limits_are_a_page_at_a_time(console: Client) -> None:
    for n in range(51):
        Limit.objects.create(kind=0, tenant="_default", key=f"k{n:02}", policy=POLICY.to_row())

    first, second = console.get(PATH), console.get(PATH, {"page": "2"})

    assert (len(first.context["limits"]), len(second.context["limits"])) == (50, 1)
    assert first.context["next_link"] == "name=&page=2"
    assert second.context["next_link"] == ""


@pytest.mark.parametrize("query", ["page=0", "page=x", "name=%00", "key=%3Cb%3E", "tenant=%00"])
def test_the_page_takes_any_query(console: Client, query: str) -> None:
    answer = console.get(f"{PATH}?{query}")

    assert answer.status_code == 200
    assert "<b>" not in answer.content.decode()


@spec("contract 27.3")
def test_an_operator_overrides_a_limit_for_a_time_and_ends_that(console: Client) -> None:
    limited()

    page = act(console, "limit-override", key="stripe", tenant="_default", concurrency="9",
               limit="5", period="1m", minutes="30")  # fmt: skip

    state = limits.state("stripe", "_default")
    assert state.override == LimitPolicy(9, 5, 60_000)
    assert state.override_until is not None
    assert timedelta(minutes=29) < state.override_until - timezone.now() < timedelta(minutes=31)
    assert "stripe is overridden for 30 minutes" in page
    assert "overridden</span>" in page

    assert "has ended" in act(console, "limit-end", id="stripe", tenant="_default")
    assert limits.state("stripe", "_default").override is None
    entries = Audit.objects.order_by("id").values_list("actor", "action", "target")
    assert list(entries) == [
        ("console:operator", "rate_limit.overridden", "stripe"),
        ("console:operator", "rate_limit.override_ended", "stripe"),
    ]
    first = Audit.objects.earliest("id").data
    assert (first["concurrency"], first["rate"], first["tenant"]) == (
        9, {"limit": 5, "period": "PT1M"}, "_default",
    )  # fmt: skip


def test_keys_of_two_tenants_are_overridden_one_by_one(console: Client) -> None:
    for tenant in ("t1", "t2"):
        Limit.objects.create(kind=0, tenant=tenant, key="k", policy=POLICY.to_row())

    act(console, "limit-override", key="k", tenant="t2", concurrency="1")

    assert limits.state("k", "t1").override is None
    assert limits.state("k", "t2").override == LimitPolicy(concurrency=1)


@pytest.mark.parametrize(
    ("given", "kept"),
    [({}, "drop"), ({"on_limit": ""}, "drop"), ({"on_limit": "reschedule"}, "reschedule")],
)
def test_an_override_keeps_what_happens_to_jobs_over_the_limit(
    console: Client, given: dict[str, str], kept: str
) -> None:
    Limit.objects.create(
        kind=0, tenant="t1", key="k", policy=LimitPolicy(concurrency=3, on_limit="drop").to_row()
    )

    act(console, "limit-override", key="k", tenant="t1", concurrency="1", **given)

    assert limits.state("k", "t1").override == LimitPolicy(concurrency=1, on_limit=kept)


def test_an_override_names_one_of_the_known_reactions(console: Client) -> None:
    page = act(console, "limit-override", key="k", concurrency="1", on_limit="explode")

    assert "must be one of wait, reschedule, drop" in page


def test_a_key_that_no_job_used_and_a_type_can_be_limited(console: Client) -> None:
    act(console, "limit-override", key="new", concurrency="1")
    act(console, "limit-override", key="type:mail.send", concurrency="0")

    assert limits.state("new", None).in_force.concurrency == 1
    assert limits.state("type:mail.send", None).in_force.concurrency == 0


@pytest.mark.parametrize(
    ("form", "words"),
    [
        ({"key": "k"}, "are required"),
        ({"key": "k", "concurrency": "x"}, "concurrency"),
        ({"key": "k", "concurrency": "-1"}, "concurrency"),
        ({"key": "k", "limit": "5"}, "period"),
        ({"key": "k", "limit": "5", "period": "soon"}, "period"),
        ({"key": "k", "concurrency": "1", "minutes": "0"}, "Minutes must"),
        ({"key": "not a key", "concurrency": "1"}, "Key must"),
        ({"key": "queue:unknown", "concurrency": "1"}, "does not exist"),
    ],
)
def test_what_is_wrong_is_said_and_changes_nothing(
    console: Client, form: dict[str, str], words: str
) -> None:
    page = act(console, "limit-override", **form)

    assert words in page.partition('class="messages"')[2].partition("</ul>")[0]
    assert not Limit.objects.exists()
    assert not Audit.objects.exists()


def test_ending_an_override_of_no_limit_is_said(console: Client) -> None:
    assert "does not exist" in act(console, "limit-end", id="unknown")


def test_only_who_may_change_limits_can_override(viewer: User) -> None:
    limited()
    client = Client()
    client.force_login(viewer)

    assert "limit-override" not in client.get(PATH).content.decode()
    assert client.post(reverse("ojs_console:act", args=["limit-override"])).status_code == 403
    assert client.post(reverse("ojs_console:act", args=["limit-end"])).status_code == 403

    viewer.user_permissions.add(Permission.objects.get(codename="change_limit"))
    act(client, "limit-override", key="stripe", concurrency="1")
    assert limits.state("stripe", None).override == LimitPolicy(concurrency=1)


def test_overrides_need_the_csrf_token(operator: User) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(operator)

    answer = client.post(
        reverse("ojs_console:act", args=["limit-override"]), {"key": "k", "concurrency": "1"}
    )

    assert answer.status_code == 403
    assert not Limit.objects.exists()


def test_an_override_is_set_and_ended_in_the_browser(page: Page) -> None:
    limited()
    page.goto("/console/")
    page.get_by_text("More").click()
    page.get_by_role("link", name="Rate limits").click()
    page.get_by_role("link", name="Override stripe").click()
    expect(page.get_by_role("main").get_by_label("Key").last).to_have_value("stripe")
    page.get_by_label("Active jobs").fill("0")
    page.get_by_role("button", name="Override", exact=True).click()
    expect(page.get_by_role("status")).to_contain_text("stripe is overridden")
    expect(page.locator(".badge")).to_have_text("overridden")
    page.get_by_role("button", name="End override").click()
    answer(page)
    expect(page.get_by_role("status")).to_contain_text("has ended")
    expect(page.locator(".badge")).to_have_count(0)
