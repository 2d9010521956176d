"""The assistant's page, and the jobs that a version touched. Spec: job-versioning 9.1, 10.2."""

import re
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client

from tests.cost import statements_of
from tests.tenancy.wire import answer, send
from tests.versioning.routing import ack, fail, looked, put, takes
from tests.versioning.services.test_future_producers import schedule
from tests.versioning.services.test_touched import SOME, rolled_back
from tests.versioning.wire import TYPE, declares, push
from versioning.services.routes import latest

pytestmark = pytest.mark.usefixtures("store")
ONE = f"/console/versions/{TYPE}/"
REMOVAL, TOUCHED = f"{ONE}removal/", f"{ONE}touched/"
MOST_STATEMENTS = 15


def shown(console: Client, query: str = "") -> dict[str, tuple[str, list[str]]]:
    """Return the page's answer for each version, with the codes of its reasons."""
    found = console.get(f"{REMOVAL}{query}").context["found"]
    return {
        one.removed: (str(one.safe), [str(why.why) for why in one.reasons])
        for one in found.removals
    }


def test_the_page_answers_for_each_major_as_the_api_does(console: Client) -> None:
    push("1.0")
    push("2.0")
    schedule("nightly", type=TYPE, version="1.4")
    declares("w1", ">=1.0 <3.0")

    page = console.get(REMOVAL).content.decode()

    removals = answer(send("GET", f"admin/versions/{TYPE}"))["removals"]
    assert shown(console) == {
        one["versions"]: (one["safe"], [why["code"] for why in one["reasons"]]) for one in removals
    }
    assert "Safe to remove 1.x" in page
    assert "1 schedule will send 1.4" in page
    assert "1 available job of 1.0 is left" in page
    assert "&gt;=1.0 &lt;3.0" in page
    assert "blocks" in page
    assert re.search(r"producers sent 1\.0 <time [^>]*>", page)


def test_a_version_or_a_range_is_asked_for(console: Client) -> None:
    push("1.0")

    assert shown(console, "?remove=9.x").keys() == {"9.x"}
    assert shown(console, "?remove=%3C2.0").keys() == {"<2.0"}


@pytest.mark.parametrize("query", ["?remove=^1.0", "?remove=%00", "?remove=" + "x" * 500, "?x=1"])
def test_the_page_takes_any_question(query: str, console: Client) -> None:
    push("1.0")

    page = console.get(REMOVAL + query)

    assert page.status_code == 200
    assert "Safe to remove 1.x" in page.content.decode()
    assert ('role="alert"' in page.content.decode()) == ("1.0" in query or "xx" in query)


def test_a_type_that_was_never_seen_has_a_page(console: Client) -> None:
    page = console.get("/console/versions/never.seen/removal/").content.decode()

    assert "No job of this type names a version" in page


def test_the_pages_take_as_many_statements_whatever_there_is(console: Client) -> None:
    def cost(path: str) -> int:
        latest()
        return statements_of(lambda: console.get(path))

    push("0.1")  # the check of a type with versions of its own takes more statements
    rolled_back(SOME)
    paths = (ONE, REMOVAL, TOUCHED, f"{ONE}rules/")
    before = {path: cost(path) for path in paths}
    for n in range(5):
        push(f"{n}.1", queue=f"q{n}")
        schedule(f"s{n}", type=TYPE, version=f"{n}.7")
        declares(f"w{n}", f">={n}.0", queues=[f"q{n}"])

    assert {path: cost(path) for path in paths} == before
    assert max(before.values()) <= MOST_STATEMENTS, before


def test_after_a_rollback_the_jobs_of_the_version_are_listed_and_retried(console: Client) -> None:
    jobs = rolled_back(SOME)

    page = console.get(ONE).content.decode()

    assert "Jobs with attempts of" in page
    for job in jobs:
        assert f"/console/jobs/{job}/" in page
    listed = console.get(TOUCHED, {"version": "2.0", "ended": "failed"})
    assert {one.id for one in listed.context["jobs"]} == set(jobs[:2])
    assert "Retry" in listed.content.decode()
    done = console.post("/console/actions/retry/", {"id": jobs[0], "next": TOUCHED}, follow=True)
    assert "available again" in done.content.decode()
    states = {one.id: one.state for one in done.context["jobs"]}
    assert (states[jobs[0]], states[jobs[1]]) == (3, 8)


@pytest.mark.parametrize(
    "query", [{}, {"version": "x"}, {"version": "9.0"}, {"ended": "x"}, {"page": "99"}]
)
def test_the_list_takes_any_query(query: dict[str, str], console: Client) -> None:
    assert console.get(TOUCHED, query).status_code == 200


def test_the_page_of_a_type_compares_run_times(console: Client) -> None:
    put([{"version": "2.0", "weight": 50}, {"version": "1.0", "weight": 50}])
    for _ in range(20):
        push()
    new, old = takes("2.0"), takes("1.0")
    ack(new[1:])
    fail(new[:1])
    ack(old)
    looked(20)

    page = console.get(ONE)

    assert page.context["slower"].p50 > 0
    assert "times as long as 1.0" in page.content.decode()


def test_only_who_may_see_rules_sees_them(viewer: User) -> None:
    client = Client()
    client.force_login(viewer)
    paths: tuple[Any, ...] = (REMOVAL, TOUCHED)

    assert {client.get(path).status_code for path in paths} == {403}
    viewer.user_permissions.add(Permission.objects.get(codename="view_routing"))
    client.force_login(User.objects.get(pk=viewer.pk))
    assert {client.get(path).status_code for path in paths} == {200}
