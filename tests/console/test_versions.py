"""The pages of versions and routing rules. Spec: contract 22."""

import re
from datetime import timedelta

import pytest
from django.contrib.auth.models import Permission, User
from django.db.models import F
from django.test import Client

from console.versions import Slower
from jobs.models import Audit
from jobs.services.read import clock
from tests.cost import statements_of
from tests.versioning.routing import GUARD, SPLIT, put
from tests.versioning.wire import TYPE, declares, push
from versioning.domain.evidence import Outcomes
from versioning.domain.version import parse_version
from versioning.models import Outcome, Routing
from versioning.services import held, routing
from versioning.services.routes import route_of

pytestmark = pytest.mark.usefixtures("store")
PAGE = "/console/versions/"
ONE = f"{PAGE}{TYPE}/"
PLAN = {"steps": [5, 25, 100], "bake_time": "PT10M"}


def act(client: Client, verb: str, **form: object) -> str:
    """Send the form of a button and return the next page."""
    sent = {"id": TYPE, "next": ONE, **form}
    return client.post(f"/console/actions/routing-{verb}/", sent, follow=True).content.decode()


def ended(version: str, acked: int, failed: int) -> None:
    """Record the outcomes of ended attempts of a version."""
    route = route_of(TYPE, None, parse_version(version))
    Outcome.objects.create(route=route, at=clock.now(), acked=acked, failed=failed)


def test_types_are_listed_with_rules_and_what_is_held(console: Client) -> None:
    put()
    push("7.0", type="other.type")
    declares("w1", "*", queues=["elsewhere"])
    held.watch()

    page = console.get(PAGE).content.decode()

    assert TYPE in page
    assert "2.0 10 %, 1.0 90 %" in page
    assert "other.type" in page
    assert ">held<" in page
    assert TYPE not in console.get(PAGE, {"type": "other"}).content.decode()


def test_a_type_shows_error_rates_with_their_confidence(console: Client) -> None:
    put(auto_rollback={**GUARD, "significance": 0.01})
    ended("2.0", 90, 10)
    declares("w1", ">=1.0")

    page = console.get(ONE).content.decode()

    assert '10.0 % <span class="quiet">(5.5 to 17.4 %)</span>' in page
    assert re.search(r"and after the rules were saved\s+<time", page)
    assert "no attempt ended" in page
    assert "above 5 % failed attempts, of at least 20" in page
    assert '<svg class="share band full"' in page
    assert "no evidence against the newest version" in page


def test_a_plan_is_promoted_paused_and_rolled_back_by_buttons(console: Client) -> None:
    put(plan=PLAN)
    assert 'aria-current="step"' in console.get(ONE).content.decode()

    assert "gets 25 % of the jobs" in act(console, "promote")
    assert "is paused" in act(console, "pause")
    assert "The plan is paused" in console.get(ONE).content.decode()
    assert "is resumed" in act(console, "resume")
    page = act(console, "rollback")
    assert "go to version 1.0" in page
    assert "was rolled back" in page
    assert "By console:operator" in page
    assert "routing.rolled_back" in page
    actors = set(Audit.objects.exclude(action="routing.changed").values_list("actor", flat=True))
    assert actors == {"console:operator"}


def test_a_rollback_stops_the_step_of_the_plan(console: Client) -> None:
    put(plan=PLAN)
    act(console, "promote")
    act(console, "rollback")

    page = console.get(ONE).content.decode()

    assert 'aria-current="step"' not in page
    steps = re.findall(r"<b>([\d.]+) %</b> <span>([a-z ]+)</span>", page)
    assert steps == [("5", "done"), ("25", "stopped"), ("100", "not reached")]


@pytest.mark.parametrize(
    ("factors", "words"),
    [
        ((1.0, 0.69), "2.0 takes as long as 1.0 at p50, and 0.69 times as long at p95."),
        ((1.5, 1.0), "2.0 takes 1.50 times as long as 1.0 at p50, and as long at p95."),
    ],
)
def test_run_times_of_two_versions_are_compared_in_words(
    factors: tuple[float, float], words: str
) -> None:
    assert Slower(parse_version("2.0"), parse_version("1.0"), *factors).words == words


def test_a_button_of_rules_that_have_changed_does_nothing(console: Client) -> None:
    revision = put()["revision"]
    put(status=200)

    page = act(console, "rollback", revision=revision)

    assert "have changed" in page
    assert [one["version"] for one in Routing.objects.get().rules] == ["2.0", "1.0"]


@pytest.mark.parametrize("verb", ["promote", "pause", "resume", "rollback"])
@pytest.mark.parametrize("name", [TYPE, "", "x\x00", "<script>"])
def test_buttons_take_any_form(verb: str, name: str, console: Client) -> None:
    page = act(console, verb, id=name, revision="9" * 40)

    assert "message" in page
    assert "<script>" not in page.replace("<script src", "")


def test_buttons_need_a_token_and_the_permission(viewer: User, operator: User) -> None:
    put()
    careless = Client(enforce_csrf_checks=True)
    careless.force_login(operator)
    looking = Client()
    looking.force_login(viewer)

    assert careless.post("/console/actions/routing-rollback/", {"id": TYPE}).status_code == 403
    assert looking.post("/console/actions/routing-rollback/", {"id": TYPE}).status_code == 403
    assert looking.get(ONE).status_code == 403
    viewer.user_permissions.add(Permission.objects.get(codename="view_routing"))
    looking.force_login(User.objects.get(pk=viewer.pk))
    shown = looking.get(ONE).content.decode()
    assert "Roll back" not in shown
    assert [one["version"] for one in Routing.objects.get().rules] == ["2.0", "1.0"]


@pytest.mark.parametrize("path", ["x%3Cscript%3E/", "Not-A-Type/", "x" * 300 + "/"])
def test_what_is_no_type_has_no_page(path: str, console: Client) -> None:
    assert console.get(PAGE + path).status_code == 404


@pytest.mark.parametrize(
    "query", ["?page=0", "?page=x", "?page=99999999", "?page=9999", "?type=%00x", "never.seen/"]
)
def test_the_pages_take_any_query(query: str, console: Client) -> None:
    put(name="a.b")

    assert console.get(PAGE + query).status_code == 200


def test_more_types_take_no_more_statements(console: Client) -> None:
    def statements() -> int:
        return statements_of(lambda: console.get(PAGE))

    put(name="a.b")
    before = statements()
    for n in range(5):
        put(name=f"a.b{n}")
        push(f"{n}.0", type=f"a.b{n}")

    assert statements() == before


def test_rules_that_were_rolled_back_say_why(console: Client) -> None:
    row = put(SPLIT, auto_rollback=GUARD)
    routing.roll_back_by(TYPE, routing.Verdict(row["revision"], Outcomes(24, 6)))
    Routing.objects.update(rolled_back_at=F("rolled_back_at") - timedelta(minutes=2))

    page = console.get(ONE).content.decode()

    assert "6 of 30 attempts failed" in page
    assert "Version 2.0 was rolled back" in page
    assert "rolled back" in console.get(PAGE).content.decode()
