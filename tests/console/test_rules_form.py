"""The form of routing rules, over HTTP. Spec: contract 22.4, 31."""

import re
from html import unescape
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.http import HttpResponse
from django.test import Client

from console.roles import Role
from console.rule_forms import RulesForm
from jobs.models import Audit
from tests.versioning.routing import GUARD, SPLIT, get, put
from tests.versioning.wire import TYPE
from versioning.models import Routing

pytestmark = pytest.mark.usefixtures("store")
NEW = "/console/new-rules/"
EMPTY = RulesForm().shown
EDIT = f"/console/versions/{TYPE}/rules/"
ONE = f"/console/versions/{TYPE}/"


def filled(**given: str) -> dict[str, str]:
    """Return a filled form for new rules."""
    unset = {name for name in ("guard", "plan") if not given.get(name)}
    form = {**EMPTY, "type": TYPE, "rules": "2.0 10\n1.0 90", **given}
    return {name: text for name, text in form.items() if name not in unset}


def as_shown(client: Client, **given: str) -> dict[str, str]:
    """Return the form of the current rules as the page shows it, with these changes."""
    shown = dict(client.get(EDIT).context["fields"])
    return filled(**{**shown, **given})


def error_of(answer: Any) -> tuple[str, str]:
    """Return the wrong field and its error message, as the page shows them."""
    page = answer.content.decode()
    marked = re.search(r'name="(\w+)"[^>]*aria-invalid="true" aria-describedby="wrong"', page)
    said = re.search(r'id="wrong" role="alert">([^<]*)<', page)
    assert bool(marked) == bool(said) == bool(answer.context["wrong"].field)
    return (marked[1], unescape(said[1])) if marked and said else ("", "")


def test_rules_are_made_as_by_the_api(console: Client) -> None:
    answer = console.post(NEW, filled(
        rules="3.1 10\r\n\r\n 3.0  90 %", mode="override", on_no_worker="fallback",
        fallback_after="PT2M", guard="on", threshold="0.1", window="PT10M", min_samples="50",
        significance="0.01", cool_down="PT1M", plan="on", steps="5, 25 100%", bake_time="PT1H",
        plan_samples="7", reason="a new template",
    ), follow=True)  # fmt: skip

    assert answer.redirect_chain == [(ONE, 302)]
    assert "apply to every new job" in answer.content.decode()
    stored = get()
    expected = {
        "rules": [{"version": "3.1", "weight": 5}, {"version": "3.0", "weight": 95}],
        "mode": "override", "on_no_worker": "fallback", "fallback_after": "PT2M",
        "auto_rollback": {
            "error_rate_threshold": 0.1, "evaluation_window": "PT10M", "min_samples": 50,
            "action": "route_all_to_previous", "significance": 0.01, "cool_down": "PT1M",
        },
    }  # fmt: skip
    assert {name: stored[name] for name in expected} == expected
    assert stored["plan"]["steps"] == [5, 25, 100]
    assert (stored["plan"]["bake_time"], stored["plan"]["min_samples"]) == ("PT1H", 7)
    entry = Audit.objects.get(action="routing.changed")
    assert (entry.actor, entry.target, entry.reason) == (
        "console:operator", TYPE, "a new template",
    )  # fmt: skip


@pytest.mark.parametrize(
    "rules",
    [
        {},
        {"auto_rollback": GUARD},
        {"auto_rollback": {**GUARD, "significance": 0.05, "cool_down": "PT30S"},
         "plan": {"steps": [12.5, 100], "bake_time": "PT5M", "min_samples": 3}},
        {"mode": "override", "on_no_worker": "fallback", "fallback_after": "PT1H30M"},
        {"rules": [{"version": 2, "weight": 0.125}, {"version": "1.10", "weight": 1_000_000}]},
    ],
)  # fmt: skip
def test_what_is_shown_and_stored_again_stays_as_it_is(
    rules: dict[str, Any], console: Client
) -> None:
    before = put(rules.pop("rules", None), **rules)

    assert console.post(EDIT, as_shown(console)).status_code == 302

    after = get()
    changing = ("revision", "updated_at", "created_at", "plan", "outcomes")
    assert {k: v for k, v in before.items() if k not in changing} == {
        k: v for k, v in after.items() if k not in changing
    }
    assert (before["plan"] is None) == (after["plan"] is None)
    if before["plan"]:
        same = ("steps", "bake_time", "min_samples")
        assert [before["plan"][one] for one in same] == [after["plan"][one] for one in same]
    assert after["revision"] > before["revision"]


@pytest.mark.parametrize(
    ("given", "field", "said"),
    [
        ({"type": "Not A Type"}, "type", "Must be dot-separated lower-case words, not “Not A"),
        ({"type": ""}, "type", "Must be dot-separated"),
        ({"rules": ""}, "rules", "Must be an array of 1 to 20 rules"),
        ({"rules": "2.0 10\n1.0"}, "rules", "Line 2: weight must be a number from 0 to 1000000"),
        ({"rules": "2.0 ten"}, "rules", "Line 1: weight must be a number from 0"),
        ({"rules": "2.0 nan"}, "rules", "Line 1: weight must be"),
        ({"rules": "2.0 -1"}, "rules", "Line 1: weight must be"),
        ({"rules": "^2.0 1"}, "rules", "Line 1: version must be major.minor"),
        ({"rules": "2.0 1\n2 1"}, "rules", "Line 2: version is in the rules twice, not “2”"),
        ({"rules": "2.0 0"}, "rules", "Must have a weight above 0"),
        ({"mode": "other"}, "mode", "Must be one of compatible, override"),
        ({"on_no_worker": "other"}, "on_no_worker", "Must be one of hold, fallback"),
        ({"fallback_after": "soon"}, "fallback_after", ""),
        ({"guard": "on", "threshold": ""}, "threshold", "Must be a number from 0 to 1."),
        ({"guard": "on", "threshold": "5"}, "threshold", "Must be a number from 0 to 1, not “5”."),
        ({"guard": "on", "window": "PT1S"}, "window", "Must be from PT5S to"),
        ({"guard": "on", "min_samples": "0"}, "min_samples", "Must be an integer from 1"),
        ({"guard": "on", "min_samples": "1.5"}, "min_samples", "Must be an integer from 1"),
        ({"guard": "on", "significance": "0"}, "significance", "Must be above 0"),
        ({"guard": "on", "significance": "0.9"}, "significance", "Must be a number from 0 to 0.5"),
        ({"guard": "on", "cool_down": "P2D"}, "cool_down", "Must be from PT0S to"),
        ({"plan": "on", "rules": "1.0 1"}, "plan", "Needs a second version to take the rest"),
        ({"plan": "on", "steps": ""}, "steps", "Must be an array of 1 to 20 percentages"),
        ({"plan": "on", "steps": "25 5"}, "steps", "Number 2 must be above the one before it"),
        ({"plan": "on", "steps": "5 101"}, "steps", "Number 2 must be a number from 0 to 100"),
        ({"plan": "on", "bake_time": ""}, "bake_time", ""),
        ({"plan": "on", "plan_samples": "-1"}, "plan_samples", "Must be an integer from 0"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_at_its_field_and_what_was_typed_is_kept(
    given: dict[str, str], field: str, said: str, console: Client
) -> None:
    form = filled(**{"reason": "<b>why</b>", "cool_down": "PT7S", **given})

    answer = console.post(NEW, form)

    assert answer.status_code == 400
    assert error_of(answer)[0] == field
    assert error_of(answer)[1].startswith(said)
    assert answer.context["fields"] == RulesForm(form).shown
    assert "<b>why" not in answer.content.decode()
    assert not Routing.objects.exists()


def test_too_many_versions_are_told_at_the_rules(console: Client, settings: Any) -> None:
    settings.OJS_VERSIONING = {"MAX_VERSIONS": 1}

    answer = console.post(NEW, filled(rules="\n".join(f"{n}.0 1" for n in range(15))))

    assert error_of(answer)[0] == "rules"
    assert "has 1 versions already" in error_of(answer)[1]


def test_rules_that_were_changed_meanwhile_are_not_overwritten_unless_meant(
    console: Client,
) -> None:
    put()
    form = as_shown(console, rules="3.0 1\n2.0 1", reason="mine")
    theirs = put([{"version": "2.0", "weight": 7}], status=200)

    answer = console.post(EDIT, form)

    page = answer.content.decode()
    assert answer.status_code == 409
    assert "have changed" in page
    assert "2.0 100 %" in page
    assert answer.context["fields"]["rules"] == "3.0 1\n2.0 1"
    assert get()["revision"] == theirs["revision"]
    # a second try without the box still does not overwrite the rules
    assert console.post(EDIT, RulesForm(form).shown).status_code == 409
    assert console.post(EDIT, form | {"instead": str(theirs["revision"])}).status_code == 302
    assert [one["version"] for one in get()["rules"]] == ["3.0", "2.0"]
    # the box means the rules that were shown, not any later rules
    assert console.post(EDIT, form | {"instead": str(theirs["revision"])}).status_code == 409


def test_a_new_form_does_not_overwrite_rules_that_there_are(console: Client) -> None:
    before = put()

    assert console.post(NEW, filled(rules="9.0 1")).status_code == 409
    assert get()["revision"] == before["revision"]


def test_rules_that_are_gone_are_told(console: Client) -> None:
    put()
    form = as_shown(console)
    Routing.objects.all().delete()

    answer = console.post(EDIT, form)

    assert answer.status_code == 409
    assert "have changed" in answer.content.decode()


def test_rules_are_removed_with_a_reason(console: Client) -> None:
    row = put()
    assert "Remove rules" in console.get(ONE).content.decode()
    sent = {"id": TYPE, "next": ONE, "reason": "done"}

    late = console.post("/console/actions/routing-delete/", {**sent, "revision": 1}, follow=True)
    assert "have changed" in late.content.decode()
    assert Routing.objects.exists()
    page = console.post(
        "/console/actions/routing-delete/", {**sent, "revision": row["revision"]}, follow=True
    ).content.decode()

    assert "are removed" in page
    assert "Set rules" in page
    assert not Routing.objects.exists()
    done = Audit.objects.get(action="routing.deleted", outcome="success")
    assert (done.reason, done.data["rules"]) == ("done", SPLIT)


def by_role(role: Role) -> Client:
    user, _ = User.objects.get_or_create(username=f"a {role.name}")
    user.groups.set([Group.objects.get(name=role.group)])
    client = Client()
    client.force_login(user)
    return client


def test_admins_set_rules_operators_act_on_them_viewers_look(operator: User) -> None:
    put()
    for role, may in ((Role.VIEWER, 403), (Role.OPERATOR, 403), (Role.ADMIN, 200)):
        client = by_role(role)
        assert client.get(EDIT).status_code == may
        assert client.get(NEW).status_code == may
        assert client.post(EDIT, filled(revision="0")).status_code == (may if may == 403 else 409)
        page = client.get(ONE).content.decode()
        assert ("Change rules" in page) == (role is Role.ADMIN)
        assert ("Remove rules" in page) == (role is Role.ADMIN)
        assert ("Roll back" in page) == (role is not Role.VIEWER)
        removed = client.post("/console/actions/routing-delete/", {"id": "none.such"})
        assert removed.status_code == (302 if role is Role.ADMIN else 403)
    assert get()["rules"] == SPLIT


def test_the_form_needs_a_token(operator: User) -> None:
    careless = Client(enforce_csrf_checks=True)
    careless.force_login(operator)

    assert careless.post(NEW, filled()).status_code == 403
    assert not Routing.objects.exists()


@pytest.mark.parametrize(
    "form",
    [
        {}, {"rules": "\x00"}, {"revision": "x" * 99}, {"revision": "9" * 30},
        {"instead": "²", "rules": "1.0 1"}, {"rules": "1.0 " + "9" * 6000},
        {"rules": "\n" * 30 + "1.0"}, {"plan": "on", "guard": "on"},
    ],
)  # fmt: skip
def test_the_form_takes_anything(form: dict[str, str], console: Client) -> None:
    answer: HttpResponse = console.post(EDIT, form)  # type: ignore[assignment]

    assert answer.status_code in (302, 400, 409)


@pytest.mark.parametrize("path", ["Not-A-Type/rules/", "x" * 300 + "/rules/"])
def test_what_is_no_type_has_no_form(path: str, console: Client) -> None:
    assert console.get(f"/console/versions/{path}").status_code == 404


def test_a_type_without_rules_begins_with_an_empty_form(console: Client) -> None:
    assert console.get(EDIT).context["fields"] == {**EMPTY, "type": TYPE}
    assert console.get(f"{NEW}?type=a.b").context["fields"]["type"] == "a.b"
