"""Routing rules over HTTP: stored, shown, refused, changed. Spec: contract 22.3, 22.4."""

from typing import Any

import pytest
from django.test import Client

from jobs.api.wire.media import OJS_TYPE
from jobs.domain.record.events import Kind
from jobs.models import Audit, Event
from tests.jobs.api.conftest import new_key, with_keys
from tests.spec import spec
from tests.tenancy.wire import answer, event_data, send
from tests.versioning.routing import GUARD, SPLIT, act, get, put
from tests.versioning.wire import TYPE
from versioning.models import Rollback

pytestmark = pytest.mark.usefixtures("store")
__all__ = ["new_key", "with_keys"]


@spec("job-versioning 11.3")
def test_rules_are_stored_and_shown() -> None:
    made = put(auto_rollback={**GUARD, "action": "route_all_to_previous"})

    shown = get()

    assert shown == made
    assert (shown["type"], shown["rules"]) == (TYPE, SPLIT)
    assert shown["mode"] == "compatible"
    assert (shown["on_no_worker"], shown["fallback_after"]) == ("hold", "PT30S")
    assert shown["auto_rollback"] == {
        "error_rate_threshold": 0.05, "evaluation_window": "PT2M", "min_samples": 20,
        "action": "route_all_to_previous", "significance": None, "cool_down": "PT0S",
    }  # fmt: skip
    assert (shown["rolled_back_at"], shown["rolled_back_from"], shown["plan"]) == (None, None, None)
    assert [one["version"] for one in shown["outcomes"]] == ["2.0", "1.0"]
    again = put(status=200, mode="override")
    assert again["revision"] > made["revision"]
    assert (again["mode"], again["auto_rollback"]) == ("override", None)
    assert again["created_at"] == made["created_at"]


@spec("contract 22.3")
def test_a_type_that_was_never_configured_has_no_rules() -> None:
    assert get() == {"type": TYPE, "rules": []}
    answer(send("GET", "admin/routing/Not-A-Type"), 404)


@spec("contract 22.3")
def test_rules_are_deleted_and_listed() -> None:
    for name in ("c.d", "a.b"):
        put(name=name)

    found = answer(send("GET", "admin/routing?per_page=1"))
    assert [one["type"] for one in found["items"]] == ["a.b"]
    assert found["pagination"]["total"] == 2
    assert send("DELETE", "admin/routing/a.b").status_code == 204
    answer(send("DELETE", "admin/routing/a.b"), 404)
    assert get("a.b") == {"type": "a.b", "rules": []}


@spec("D-VER-1")
def test_versions_are_shown_as_they_were_written() -> None:
    rules = [{"version": 2, "weight": 1}, {"version": "1.4.7", "weight": 0.5}]

    assert put(rules)["rules"] == rules


PLAN: dict[str, Any] = {"steps": [5, 50], "bake_time": "PT10M"}
GUARDS: list[tuple[str, Any]] = [
    ("error_rate_threshold", 1.1), ("evaluation_window", "PT1S"),
    ("evaluation_window", 5), ("min_samples", 0), ("min_samples", 2**63),
    ("action", "explode"), ("significance", 0), ("significance", 0.9),
    ("cool_down", "soon"), ("other", 1),
]  # fmt: skip
WRONG: list[tuple[dict[str, Any], str, str, int]] = [
    ({}, "rules", "invalid_request", 400),
    ({"rules": None}, "rules", "invalid_request", 400),
    ({"rules": []}, "rules", "invalid_request", 422),
    ({"rules": {}}, "rules", "invalid_request", 422),
    ({"rules": [1]}, "rules[0]", "invalid_request", 422),
    ({"rules": SPLIT * 11}, "rules", "invalid_request", 422),
    ({"rules": [{"version": "1", "weight": 0}]}, "rules", "invalid_request", 422),
    ({"rules": [{"version": "1"}]}, "rules[0].weight", "invalid_request", 422),
    ({"rules": [{"version": "1", "weight": -1}]}, "rules[0].weight", "invalid_request", 422),
    ({"rules": [{"version": "1", "weight": True}]}, "rules[0].weight", "invalid_request", 422),
    ({"rules": [{"version": "1", "weight": 2**63}]}, "rules[0].weight", "invalid_request", 422),
    ({"rules": [{"version": "1", "weight": "5"}]}, "rules[0].weight", "invalid_request", 422),
    ({"rules": [{"version": "v1", "weight": 1}]}, "rules[0].version", "invalid_version", 422),
    ({"rules": [{"version": 1.5, "weight": 1}]}, "rules[0].version", "invalid_version", 422),
    ({"rules": [{"version": "1\n", "weight": 1}]}, "rules[0].version", "invalid_version", 422),
    ({"rules": [{"weight": 1}]}, "rules[0].version", "invalid_version", 422),
    ({"rules": [*SPLIT, {"version": 1, "weight": 1}]}, "rules[2].version", "invalid_request", 422),
    ({"rules": [{**SPLIT[0], "wieght": 1}]}, "rules[0].wieght", "invalid_request", 422),
    ({"rules": SPLIT, "mode": "both"}, "mode", "invalid_request", 422),
    ({"rules": SPLIT, "on_no_worker": 1}, "on_no_worker", "invalid_request", 422),
    ({"rules": SPLIT, "fallback_after": "soon"}, "fallback_after", "invalid_request", 422),
    ({"rules": SPLIT, "fallback_after": "P9D"}, "fallback_after", "invalid_request", 422),
    ({"rules": SPLIT, "type": "other.type"}, "type", "invalid_request", 422),
    ({"rules": SPLIT, "unknown": 1}, "unknown", "invalid_request", 422),
    ({"rules": SPLIT, "revision": "x"}, "revision", "invalid_request", 422),
    ({"rules": SPLIT, "auto_rollback": []}, "auto_rollback", "invalid_request", 422),
    ({"rules": SPLIT, "auto_rollback": {}}, "auto_rollback.error_rate_threshold",
     "invalid_request", 422),
    *[
        ({"rules": SPLIT, "auto_rollback": GUARD | {member: value}}, f"auto_rollback.{member}",
         "invalid_request", 422)
        for member, value in GUARDS
    ],
    *[
        ({"rules": SPLIT, "plan": PLAN | {name: value}},
         f"plan.{field}", "invalid_request", 422)
        for name, value, field in [
            ("steps", [], "steps"), ("steps", "x", "steps"), ("steps", [0, 5], "steps[0]"),
            ("steps", [5, 5], "steps[1]"), ("steps", [101], "steps[0]"),
            ("steps", list(range(1, 30)), "steps"), ("bake_time", "PT0S", "bake_time"),
            ("min_samples", -1, "min_samples"), ("pause", True, "pause"),
        ]
    ],
    ({"rules": SPLIT, "plan": {"steps": [5]}}, "plan.bake_time", "invalid_request", 400),
    ({"rules": SPLIT[:1], "plan": {"steps": [5], "bake_time": "PT1M"}}, "plan",
     "invalid_request", 422),
]  # fmt: skip


@pytest.mark.parametrize(("body", "field", "code", "status"), WRONG)
@spec("job-versioning 11.3")
def test_wrong_rules_are_refused_with_their_place(
    body: dict[str, Any], field: str, code: str, status: int
) -> None:
    error = answer(send("PUT", f"admin/routing/{TYPE}", body), status)["error"]

    assert (error["details"]["field"], error["code"]) == (field, code)
    assert get()["rules"] == []


@pytest.mark.parametrize("weight", ["1" + "0" * 400, "1e999", "-1e-999", "NaN"])
def test_numbers_that_no_float_has_are_refused(weight: str) -> None:
    body = f'{{"rules": [{{"version": "1", "weight": {weight}}}]}}'

    found = Client().put(f"/ojs/v1/admin/routing/{TYPE}", body, content_type=OJS_TYPE)

    assert found.status_code in {400, 422}


def test_rules_are_of_types() -> None:
    answer(send("PUT", "admin/routing/Not-A-Type", {"rules": SPLIT}), 422)
    answer(send("PUT", f"admin/routing/{TYPE}@2.0", {"rules": SPLIT}), 422)


def test_a_revision_says_which_rules_are_meant() -> None:
    first = put(revision=0)
    error = put(status=409, revision=first["revision"] - 1)["error"]

    assert error["details"] == {"field": "revision", "type": TYPE, "revision": first["revision"]}
    assert put(status=200, revision=first["revision"])["revision"] > first["revision"]
    for verb in ("promote", "rollback", "pause", "resume"):
        act(verb, {"revision": first["revision"]}, status=409)
        act(verb, {"reason": "x"}, status=422)


@spec("VER-10.2-a")
def test_a_rollback_by_hand_sends_all_to_the_next_lower_version() -> None:
    put([{"version": version, "weight": 1} for version in ("1.0", "3.0", "2.0")])

    shown = act("rollback")

    assert shown["rules"] == [{"version": "2.0", "weight": 100}]
    assert shown["rolled_back_from"] == "3.0"
    assert shown["rolled_back_at"] is not None
    (event,) = event_data(Kind.VERSION_ROLLED_BACK)
    assert (event["from"], event["to"], event["automatic"]) == ("3.0", "2.0", False)
    act("rollback", status=409)
    assert put(status=200)["rolled_back_at"] is None
    assert [(row.from_version, row.by_rate) for row in Rollback.objects.all()] == [("3.0", False)]


def test_a_promotion_without_a_plan_gives_the_newest_all() -> None:
    put()

    shown = act("promote")

    assert [one["weight"] for one in shown["rules"]] == [100, 0]
    act("promote", status=409)
    act("pause", status=409)
    assert act("rollback")["rules"] == [{"version": "1.0", "weight": 100}]


def test_a_plan_is_promoted_step_by_step_and_halted_by_a_rollback() -> None:
    plan = {"steps": [5, 25, 100], "bake_time": "PT10M"}
    made = put(plan=plan)

    assert [one["weight"] for one in made["rules"]] == [5, 95]
    assert (made["plan"]["step"], made["plan"]["state"]) == (0, "running")
    assert act("pause")["plan"]["state"] == "paused"
    assert act("promote")["rules"][0]["weight"] == 25
    assert act("resume")["plan"]["state"] == "running"
    last = act("promote")
    assert ([one["weight"] for one in last["rules"]], last["plan"]["state"]) == (
        [100, 0], "complete",
    )  # fmt: skip
    act("resume", status=409)
    halted = act("rollback")
    assert (halted["plan"]["state"], halted["rules"][0]["version"]) == ("halted", "1.0")


@pytest.mark.parametrize("verb", ["promote", "pause", "resume", "rollback"])
def test_a_type_without_rules_has_nothing_to_act_on(verb: str) -> None:
    act(verb, status=404)


def test_every_change_is_told_and_audited() -> None:
    put(plan={"steps": [5, 100], "bake_time": "PT10M"})
    act("pause")
    act("resume")
    act("promote")
    act("rollback")
    send("DELETE", f"admin/routing/{TYPE}")

    changes = [event["change"] for event in event_data(Kind.ROUTING_CHANGED)]
    assert changes == ["put", "promote", "rollback", "delete"]
    assert event_data(Kind.ROUTING_CHANGED)[0]["rules"][0] == {"version": "2.0", "weight": 5}
    assert set(Event.objects.filter(kind=Kind.ROUTING_CHANGED).values_list("type", flat=True)) == {
        TYPE
    }
    actions = list(Audit.objects.order_by("id").values_list("action", flat=True))
    assert actions == [
        f"routing.{verb}"
        for verb in ("changed", "paused", "resumed", "promoted", "rolled_back", "deleted")
    ]


@spec("contract 30.1")
def test_the_registry_shows_the_routing_of_the_type() -> None:
    schema = {"args_schema": {"type": "array"}}
    answer(send("PUT", f"admin/schemas/{TYPE}/2.0", schema), 201)
    assert answer(send("GET", f"admin/schemas/{TYPE}/2.0"))["routing"]["versions"] == []

    put()

    for path in (TYPE, f"{TYPE}/2.0"):
        shown = answer(send("GET", f"admin/schemas/{path}"))
        assert shown["routing"] == {"strategy": "weighted", "versions": SPLIT}
    (listed,) = answer(send("GET", "admin/schemas"))["items"]
    assert listed["routing"]["versions"] == SPLIT
