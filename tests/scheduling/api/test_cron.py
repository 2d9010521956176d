"""Endpoints of schedules. Spec: contract 7.1, 7.5, 24.5, 24.6, 31."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson
import pytest
from django.test import Client

from jobs.api.wire.media import OJS_TYPE
from jobs.domain.states import State
from jobs.services.outcome.cancel import cancel
from scheduling.domain.definition import Definition
from scheduling.models import CronEntry
from scheduling.services.cron_declared import reconcile
from scheduling.services.cron_fire import fire
from tests.asserts import state
from tests.jobs.api.conftest import new_key, with_keys  # noqa: F401 - fixtures
from tests.jobs.api.refusals import assert_refused
from tests.scheduling.conftest import NORTH, SOUTH, entry, make_due, registered
from tests.spec import spec

ROOTS = ("cron", "crons")
NESTED = {
    "name": "month-end",
    "expression": "0 23 L * *",
    "timezone": "America/Chicago",
    "job_template": {"type": "billing.close", "options": {"queue": "billing"}},
}
FLAT = {
    "name": "month-end",
    "cron": "0 23 L * *",
    "timezone": "America/Chicago",
    "type": "billing.close",
    "args": [1],
    "meta": {"a": 1},
    "options": {"queue": "billing"},
}
Ask = Callable[..., Any]


@pytest.fixture
def ask(store: None) -> Ask:
    """Return a function that sends a request in this process and returns the decoded answer."""
    client = Client(raise_request_exception=False)

    def send(
        method: str, path: str = "cron", body: object = None, status: int = 200, **headers: str
    ) -> Any:
        sent = b"" if body is None else orjson.dumps(body)
        answer = client.generic(
            method, f"/ojs/v1/{path}", sent, content_type=OJS_TYPE, headers=headers
        )
        assert answer.status_code == status, answer.content[:800]
        if status >= 400:
            return assert_refused(answer, status)
        return answer.json()

    return send


def time(text: str) -> datetime:
    return datetime.fromisoformat(text)


# --- registration ---------------------------------------------------------------------------------


@spec("contract 7.5")
def test_registration_answers_with_the_schedule_in_every_vocabulary(ask: Ask) -> None:
    answer = ask("POST", body=NESTED, status=201)

    template = {"type": "billing.close", "args": [], "meta": {}, "options": {"queue": "billing"}}
    shown = answer["cron"]
    times = {name: shown.pop(name) for name in ("next_run_at", "created_at", "updated_at")}
    assert shown == {
        "id": "month-end", "name": "month-end", "expression": "0 23 L * *", "cron": "0 23 L * *",
        "schedule": "0 23 L * *", "timezone": "America/Chicago", **template, "queue": "billing",
        "job_template": template, "overlap_policy": "skip", "enabled": True, "status": "active",
        "last_run_at": None, "last_job_id": None, "run_count": 0,
    }  # fmt: skip
    assert answer["cron_job"] == answer["cron"] | times
    flat = {name: answer[name] for name in shown if name != "cron"}
    assert flat == {name: value for name, value in shown.items() if name != "cron"}
    assert times["created_at"] == times["updated_at"] < times["next_run_at"]


@pytest.mark.parametrize("name", ["expression", "cron", "schedule"])
def test_cron_d31_expression_is_taken_under_each_of_its_names(ask: Ask, name: str) -> None:
    body = {"name": "a", name: "@daily", "type": "a.b"}

    shown = ask("POST", "crons", body, 201)["cron"]

    assert (shown["expression"], shown["cron"], shown["schedule"]) == ("@daily",) * 3
    assert shown["next_run_at"].endswith("T00:00:00Z")


def test_cron_d31_flat_and_nested_jobs_are_the_same(ask: Ask) -> None:
    flat = ask("POST", body=FLAT, status=201)["cron"]
    again = ask("POST", body={**flat, "name": "other"}, status=201)["cron"]

    assert flat["job_template"] == {
        "type": "billing.close", "args": [1], "meta": {"a": 1}, "options": {"queue": "billing"},
    }  # fmt: skip
    assert again["job_template"] == flat["job_template"]


@spec("contract 7.1")
def test_other_members_of_the_job_are_kept(ask: Ask) -> None:
    ask("POST", body={**NESTED, "job_template": {"type": "a.b", "tags": ["x"], "x_more": 1}},
        status=201)  # fmt: skip
    make_due()
    fire()

    job = ask("GET", f"jobs/{entry('month-end').last_job_id}")["job"]
    assert (job["tags"], job["x_more"]) == (["x"], 1)


def test_cron_d31_top_level_queue_of_a_flat_job_counts(ask: Ask) -> None:
    shown = ask("POST", body={"name": "a", "cron": "@daily", "type": "a", "queue": "q"}, status=201)

    assert shown["queue"] == "q"
    make_due()
    fire()
    assert ask("GET", f"jobs/{entry('a').last_job_id}")["job"]["queue"] == "q"


def test_cron_d32_registration_of_a_known_name_replaces_it(ask: Ask) -> None:
    ask("POST", body=NESTED, status=201)
    make_due()
    fire()
    before = ask("GET", "cron/month-end")["cron"]

    body = {"name": "month-end", "cron": "@hourly", "type": "a.b", "overlap_policy": "allow",
            "description": "d"}  # fmt: skip
    after = ask("POST", body=body, status=200)["cron"]

    for kept in ("created_at", "run_count", "last_run_at", "last_job_id"):
        assert after[kept] == before[kept]
    assert (after["run_count"], after["type"], after["args"]) == (1, "a.b", [])
    assert (after["timezone"], after["overlap_policy"], after["description"]) == (
        "UTC",
        "allow",
        "d",
    )
    assert after["next_run_at"] != before["next_run_at"]
    assert after["updated_at"] > before["updated_at"]


@spec("contract 7.5")
def test_equal_registration_keeps_a_run_that_is_due(ask: Ask) -> None:
    ask("POST", body=NESTED, status=201)
    make_due()

    ask("POST", body=NESTED, status=200)

    assert fire() == 1


@spec("contract 7.5")
def test_replaced_interval_still_counts_from_its_last_run(ask: Ask) -> None:
    body = {"name": "a", "cron": "@every 1h", "type": "a"}
    ask("POST", body=body, status=201)
    make_due()
    fire()
    ran = ask("GET", "cron/a")["cron"]["last_run_at"]

    shown = ask("POST", body={**body, "cron": "@every 90m"}, status=200)["cron"]

    assert time(shown["next_run_at"]) == time(ran) + timedelta(minutes=90)


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "no name": ({"name": None}, "name"),
    "upper case": ({"name": "Nightly"}, "name"),
    "underscore": ({"name": "a_b"}, "name"),
    "dash first": ({"name": "-a"}, "name"),
    "long name": ({"name": "a" * 256}, "name"),
    "name with a line": ({"name": "a\n"}, "name"),
    "no expression": ({"expression": None}, "expression"),
    "expression is a number": ({"expression": 5}, "expression"),
    "empty expression": ({"expression": ""}, "expression"),
    "nonsense": ({"expression": "not a valid cron"}, "expression"),
    "seven fields": ({"expression": "0 0 0 0 0 0 0"}, "expression"),
    "six fields": ({"expression": "0 0 0 * * *"}, "expression"),
    "out of range": ({"expression": "99 25 32 13 8"}, "expression"),
    "never": ({"expression": "0 0 31 2 *"}, "expression"),
    "never, by working days": ({"expression": "0 0 30W 2 *"}, "expression"),
    "always skipped by clocks": (
        {"expression": "30 2 * 3 SUN#2", "timezone": "America/New_York"}, "expression",
    ),
    "two expressions": ({"cron": "@daily"}, "cron"),
    "offset": ({"timezone": "+02:00"}, "timezone"),
    "abbreviation": ({"timezone": "EST"}, "timezone"),
    "zone is a number": ({"timezone": 1}, "timezone"),
    "no type": ({"job_template": {"args": []}}, "type"),
    "bad type": ({"job_template": {"type": "Bad Type"}}, "type"),
    "template is a list": ({"job_template": []}, "job_template"),
    "args is an object": ({"job_template": {"type": "a", "args": {}}}, "args"),
    "meta is a list": ({"job_template": {"type": "a", "meta": []}}, "meta"),
    "options is a text": ({"job_template": {"type": "a", "options": "x"}}, "options"),
    "bad queue": ({"job_template": {"type": "a", "options": {"queue": "A B"}}}, "queue"),
    "bad top-level queue": ({"queue": "A B"}, "queue"),
    "bad priority": ({"job_template": {"type": "a", "options": {"priority": 101}}}, "priority"),
    "id": ({"job_template": {"type": "a", "id": "0197a0c2-5b1e-7c44-9a10-6f2d8c3b7e55"}}, "id"),
    "two types": ({"type": "b"}, "type"),
    "policy": ({"overlap_policy": "replace"}, "overlap_policy"),
    "policy is a list": ({"overlap_policy": ["skip"]}, "overlap_policy"),
    "enabled is a text": ({"enabled": "true"}, "enabled"),
    "enabled is a number": ({"enabled": 1}, "enabled"),
    "long description": ({"description": "x" * 1001}, "description"),
    "pending under enqueue": (
        {"overlap_policy": "enqueue", "job_template": {"type": "a", "options": {"pending": True}}},
        "pending",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("body", "field"), BAD.values(), ids=BAD)
@spec("contract 7.1")
def test_bad_registration_is_refused_by_name(ask: Ask, body: dict[str, Any], field: str) -> None:
    error = ask("POST", body={**NESTED, **body}, status=400)

    assert (error["code"], error["details"]["field"]) == ("invalid_request", field)
    assert not CronEntry.objects.exists()


@spec("contract 7.1")
def test_bad_retry_policy_is_refused_as_at_push(ask: Ask) -> None:
    template = {"type": "a", "options": {"retry": {"backoff_coefficient": 0.5}}}

    error = ask("POST", body={**NESTED, "job_template": template}, status=422)

    assert error["details"]["field"] == "retry.backoff_coefficient"


@spec("contract 7.1")
def test_job_that_would_be_too_large_with_its_marks_is_refused(ask: Ask) -> None:
    template = {"type": "a", "meta": {"x": "y" * (65_536 - 20)}}

    assert ask("POST", body={**NESTED, "job_template": template}, status=413)["code"] == (
        "metadata_too_large"
    )


# --- reading --------------------------------------------------------------------------------------


@pytest.mark.parametrize("root", ROOTS)
@spec("contract 7.5")
def test_list_is_by_name_and_paged(ask: Ask, root: str) -> None:
    for name in ("c", "a", "b"):
        registered(name)

    first = ask("GET", f"{root}?limit=2")
    second = ask("GET", f"{root}?page=2&per_page=2")

    assert [one["name"] for one in first["crons"]] == ["a", "b"]
    assert first["crons"] == first["cron_jobs"] == first["items"]
    assert (first["count"], first["total"]) == (2, 3)
    assert first["pagination"] == {
        "total": 3, "limit": 2, "offset": 0, "has_more": True, "page": 1, "per_page": 2,
        "next_cursor": first["pagination"]["next_cursor"],
    }  # fmt: skip
    assert [one["name"] for one in second["crons"]] == ["c"]
    assert (second["pagination"]["page"], second["pagination"]["has_more"]) == (2, False)
    follow = ask("GET", f"{root}?limit=2&cursor={first['pagination']['next_cursor']}")
    assert follow["crons"] == second["crons"]


@spec("contract 7.5")
def test_list_by_enabled(ask: Ask) -> None:
    registered("on")
    registered("off", enabled=False)

    assert [one["name"] for one in ask("GET", "cron?enabled=true")["crons"]] == ["on"]
    off = ask("GET", "cron?enabled=false")["crons"]
    assert [(one["name"], one["status"], one["next_run_at"]) for one in off] == [
        ("off", "disabled", None)
    ]
    assert ask("GET", "cron?enabled=x", status=400)["details"]["field"] == "enabled"


@pytest.mark.parametrize("root", ROOTS)
@spec("contract 7.5")
def test_detail_is_flat_and_wrapped(ask: Ask, root: str) -> None:
    registered()

    answer = ask("GET", f"{root}/nightly")

    assert answer["cron"] == answer["cron_job"]
    assert (answer["name"], answer["run_count"]) == ("nightly", 0)


UNKNOWN = ["cron/unknown", "crons/unknown", "cron/Bad%20Name", "cron/" + "a" * 300]


@pytest.mark.parametrize("path", UNKNOWN)
@pytest.mark.parametrize(
    ("method", "tail"),
    [("GET", ""), ("PATCH", ""), ("DELETE", ""), ("POST", "/trigger"), ("POST", "/pause"),
     ("POST", "/resume"), ("GET", "/history"), ("GET", "/upcoming")],
)  # fmt: skip
@spec("contract 7.5")
def test_unknown_name_is_not_found(ask: Ask, path: str, method: str, tail: str) -> None:
    error = ask(method, path + tail, {}, 404)

    assert error["details"]["resource_type"] == "cron"


def test_cron_upcoming_lists_the_next_runs_in_utc_and_in_the_zone(ask: Ask) -> None:
    registered(expression="0 9 * * *", timezone="Asia/Tokyo")

    answer = ask("GET", "cron/nightly/upcoming?limit=3")

    assert [one["at"][-10:] for one in answer["runs"]] == ["T00:00:00Z"] * 3
    assert [one["local"][-15:] for one in answer["runs"]] == ["T09:00:00+09:00"] * 3
    assert answer["runs"][0]["at"] == ask("GET", "cron/nightly")["next_run_at"]
    assert len(ask("GET", "cron/nightly/upcoming")["runs"]) == 10
    ask("POST", "cron/nightly/pause")
    assert len(ask("GET", "cron/nightly/upcoming?limit=500")["runs"]) == 100


# --- change ---------------------------------------------------------------------------------------


@spec("contract 7.5")
def test_patch_switches_off_and_on_again(ask: Ask) -> None:
    registered()
    make_due()

    off = ask("PATCH", "crons/nightly", {"enabled": False})["cron"]
    assert (off["enabled"], off["status"], off["next_run_at"]) == (False, "disabled", None)
    assert fire() == 0
    on = ask("PATCH", "cron/nightly", {"enabled": True})["cron"]

    assert on["status"] == "active"
    assert time(on["next_run_at"]) > datetime.now(UTC)


@spec("contract 7.5")
def test_patch_changes_what_it_names_and_nothing_else(ask: Ask) -> None:
    ask("POST", body={**FLAT, "description": "old", "overlap_policy": "allow"}, status=201)
    before = ask("GET", "cron/month-end")["cron"]

    after = ask("PATCH", "cron/month-end", {"job_template": {"args": [2]}, "timezone": "UTC"})[
        "cron"
    ]

    changed = {name for name in before if before[name] != after[name]}
    assert changed == {"args", "job_template", "timezone", "next_run_at", "updated_at"}
    assert after["args"] == [2]
    assert after["next_run_at"].endswith("T23:00:00Z")


@pytest.mark.parametrize(
    ("changes", "name", "value"),
    [
        ({"expression": "@daily"}, "cron", "@daily"),
        ({"cron": "@daily"}, "expression", "@daily"),
        ({"overlap_policy": "enqueue"}, "overlap_policy", "enqueue"),
        ({"type": "b.c"}, "type", "b.c"),
        ({"meta": {}}, "meta", {}),
        ({"options": {"priority": 3}}, "options", {"priority": 3}),
        ({"queue": "other"}, "queue", "other"),
        ({"job_template": {"queue": "other"}}, "queue", "other"),
        ({"description": "new"}, "description", "new"),
        ({"name": "month-end"}, "name", "month-end"),
        ({"unknown": 1}, "name", "month-end"),
        ({"timezone": None, "enabled": None, "type": None}, "timezone", "America/Chicago"),
    ],
)
@spec("contract 7.5")
def test_patch_takes_every_field(ask: Ask, changes: dict[str, Any], name: str, value: Any) -> None:
    ask("POST", body=FLAT, status=201)

    ask("PATCH", "cron/month-end", changes)

    assert ask("GET", "cron/month-end")["cron"][name] == value


@spec("contract 7.5")
def test_patch_removes_a_description_by_null(ask: Ask) -> None:
    registered(description="old")

    assert "description" not in ask("PATCH", "cron/nightly", {"description": None})["cron"]


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"name": "other"}, "name"),
        ({"expression": "0 0 31 2 *"}, "expression"),
        ({"timezone": "EST"}, "timezone"),
        ({"enabled": "yes"}, "enabled"),
        ({"overlap_policy": 1}, "overlap_policy"),
        ({"type": "Bad"}, "type"),
        ({"args": "x"}, "args"),
        ({"meta": 1}, "meta"),
        ({"options": {"priority": "x"}}, "priority"),
    ],
)
@spec("contract 7.5")
def test_bad_patch_is_refused_and_changes_nothing(
    ask: Ask, changes: dict[str, Any], field: str
) -> None:
    registered()
    before = ask("GET", "cron/nightly")

    error = ask("PATCH", "cron/nightly", {"description": "x", **changes}, 400)

    assert error["details"]["field"] == field
    assert ask("GET", "cron/nightly") == before


@spec("contract 7.5")
def test_pause_and_resume_are_idempotent(ask: Ask) -> None:
    registered()

    for _ in range(2):
        assert ask("POST", "cron/nightly/pause")["cron"]["enabled"] is False
    for _ in range(2):
        assert ask("POST", "crons/nightly/resume", {})["enabled"] is True


@spec("contract 7.5")
def test_delete_keeps_the_jobs(ask: Ask) -> None:
    registered()
    make_due()
    fire()
    job_id = str(entry().last_job_id)

    answer = ask("DELETE", "cron/nightly")

    assert (answer["deleted"], answer["name"]) == (True, "nightly")
    assert answer["cron"]["run_count"] == answer["cron_job"]["run_count"] == 1
    assert state(job_id) is State.AVAILABLE
    ask("GET", "cron/nightly", status=404)
    ask("DELETE", "cron/nightly", status=404)
    assert ask("POST", body={**NESTED, "name": "nightly"}, status=201)["run_count"] == 0


# --- trigger and history --------------------------------------------------------------------------


@spec("contract 24.6")
def test_trigger_runs_now_and_leaves_the_next_run(ask: Ask) -> None:
    registered(options={"queue": "mail"})
    before = ask("GET", "cron/nightly")

    answer = ask("POST", "cron/nightly/trigger", status=201)

    assert answer["job"]["id"] == answer["job_id"]
    assert (answer["job"]["queue"], answer["job"]["meta"]["cron_name"]) == ("mail", "nightly")
    after = ask("GET", "cron/nightly")
    assert (after["run_count"], after["last_job_id"]) == (1, answer["job_id"])
    assert after["next_run_at"] == before["next_run_at"]


@spec("contract 24.6")
def test_trigger_runs_a_paused_schedule(ask: Ask) -> None:
    registered(enabled=False)

    ask("POST", "crons/nightly/trigger", {}, 201)

    assert ask("GET", "cron/nightly")["enabled"] is False


def test_a_schedule_in_code_can_only_be_paused_and_run(ask: Ask) -> None:
    template = {"type": "tests.cron", "args": [], "meta": {}, "options": {}}
    reconcile("shop", [Definition("nightly", "@yearly", template=template)])

    for method, path, body in [
        ("PATCH", "cron/nightly", {"expression": "@daily"}),
        ("POST", "cron", {"name": "nightly", "expression": "@daily", "type": "tests.cron"}),
        ("DELETE", "cron/nightly", None),
    ]:
        error = ask(method, path, body, status=409)
        assert error["details"] == {"name": "nightly", "project": "shop"}
        assert "defined in code by project shop" in error["message"]

    assert ask("PATCH", "cron/nightly", {"enabled": False})["enabled"] is False
    assert ask("POST", "cron/nightly/resume")["enabled"] is True
    ask("POST", "cron/nightly/trigger", status=201)
    assert entry().expression == "@yearly"


@spec("contract 7.4")
def test_trigger_obeys_the_overlap_policy(ask: Ask) -> None:
    registered()
    registered("follow", overlap_policy="enqueue")
    registered("replace", overlap_policy="cancel_previous")
    ids = {name: ask("POST", f"cron/{name}/trigger", status=201)["job_id"]
           for name in ("nightly", "follow", "replace")}  # fmt: skip

    error = ask("POST", "cron/nightly/trigger", status=409)
    followed = ask("POST", "cron/follow/trigger", status=201)["job"]
    ask("POST", "cron/replace/trigger", status=201)

    assert error["details"] == {"reason": "overlap_skip", "existing_job_id": ids["nightly"]}
    assert followed["state"] == "pending"
    assert state(ids["replace"]) is State.CANCELLED
    assert ask("GET", "cron/nightly")["run_count"] == 1


@spec("contract 24.6")
def test_history_shows_occurrences_with_the_states_of_their_jobs(ask: Ask) -> None:
    registered()
    at = make_due()
    fire()
    ran = str(entry().last_job_id)
    make_due()
    fire()  # skipped
    cancel(ran)
    manual = ask("POST", "cron/nightly/trigger", status=201)["job_id"]

    answer = ask("GET", "cron/nightly/history")

    shown = answer["executions"]
    assert [one["job_id"] for one in shown] == [manual, None, ran]
    assert [one["state"] for one in shown] == ["available", "skipped", "cancelled"]
    assert [one["trigger"] for one in shown] == ["manual", "schedule", "schedule"]
    assert shown[1]["reason"] == "overlap_skip"
    assert time(shown[2]["scheduled_at"]) == at
    assert shown[2]["started_at"] is None
    assert shown[2]["completed_at"] is not None
    assert ask("GET", "cron/nightly/history?limit=1")["executions"] == shown[:1]
    assert ask("GET", "crons/nightly/history?limit=0", status=400)["details"]["field"] == "limit"


@spec("contract 12.4")
def test_events_of_schedules_name_them_as_subject(ask: Ask) -> None:
    registered()
    make_due()
    fire()
    make_due()
    fire()

    events = ask("GET", "events?types=cron.*")["events"]

    assert [event["type"] for event in events] == ["cron.skipped", "cron.triggered"]
    assert {event["subject"] for event in events} == {"nightly"}
    assert events[0]["data"]["existing_job_id"] == events[1]["data"]["job_id"]
    of_job = ask("GET", f"events?job_id={entry().last_job_id}")["events"]
    assert {event["type"] for event in of_job} == {"job.enqueued", "cron.triggered"}


def test_reset_forgets_schedules(ask: Ask) -> None:
    registered(overlap_policy="enqueue")
    make_due()
    fire()

    Client().post("/ojs/v1/admin/reset", content_type=OJS_TYPE)

    assert ask("GET", "cron")["crons"] == []
    ask("POST", body={**NESTED, "name": "nightly"}, status=201)


# --- tenants and keys -----------------------------------------------------------------------------

Keys = Callable[..., dict[str, str]]
SCOPES = ("ojs:data:enqueue", "ojs:data:read")


@spec("multi-tenancy 13")
def test_names_are_those_of_a_tenant(ask: Ask, new_key: Keys) -> None:  # noqa: F811
    north, south = new_key(*SCOPES, tenant="north"), new_key(*SCOPES, tenant="south")
    ask("POST", body=NESTED, status=201, **north)
    ask("POST", body={**NESTED, "expression": "@daily"}, status=201, **south)

    seen = ask("GET", "cron", **north)

    assert [(one["expression"], one["tenant_id"]) for one in seen["crons"]] == [
        ("0 23 L * *", "north")
    ]
    assert ask("GET", "cron/month-end", **south)["expression"] == "@daily"


@pytest.mark.parametrize(
    ("method", "tail"),
    [("GET", ""), ("PATCH", ""), ("DELETE", ""), ("POST", "/trigger"), ("POST", "/pause"),
     ("POST", "/resume"), ("GET", "/history"), ("GET", "/upcoming")],
)  # fmt: skip
@spec("contract 31")
def test_key_of_a_tenant_neither_sees_nor_changes_another_ones(
    ask: Ask,
    new_key: Keys,  # noqa: F811
    method: str,
    tail: str,
) -> None:
    registered("mine", NORTH)
    registered("ours")
    key = new_key(*SCOPES, tenant="south")

    for name in ("mine", "ours", "mine?tenant=north"):
        path = f"cron/{name.replace('?', tail + '?') if '?' in name else name + tail}"
        ask(method, path, {}, 404, **key)

    assert ask("GET", "cron", **key)["crons"] == []
    assert ask("GET", "cron?tenant=north", **key)["crons"] == []
    assert CronEntry.objects.filter(enabled=True, run_count=0).count() == 2


@spec("contract 31")
def test_caller_of_all_tenants_names_the_tenant_where_several_share_a_name(ask: Ask) -> None:
    registered("shared", NORTH)
    assert ask("GET", "cron/shared")["tenant_id"] == "north"
    registered("shared", SOUTH)

    error = ask("GET", "cron/shared", status=409)
    assert error["details"] == {"field": "tenant", "tenants": ["north", "south"]}
    assert ask("GET", "cron/shared?tenant=south")["tenant_id"] == "south"
    assert len(ask("GET", "cron")["crons"]) == 2
    assert len(ask("GET", "cron?tenant=north")["crons"]) == 1

    registered("shared")
    assert "tenant_id" not in ask("GET", "cron/shared")
    assert "tenant_id" not in ask("DELETE", "cron/shared")["cron"]


@pytest.mark.parametrize("tenant", ["%00", "", "a%20b", "a" * 256])
@spec("contract 31")
def test_tenant_that_cannot_be_is_refused(ask: Ask, tenant: str) -> None:
    assert ask("GET", f"cron?tenant={tenant}", status=400)["details"]["field"] == "tenant"


@spec("contract 31")
def test_key_registers_only_jobs_it_may_enqueue(ask: Ask, new_key: Keys) -> None:  # noqa: F811
    key = new_key(*SCOPES, queues_enqueue=("mail",), job_types=("mail.*",))
    body = {"name": "a", "cron": "@daily", "type": "mail.send", "queue": "mail"}
    ask("POST", body=body, status=201, **key)
    registered("foreign", type="other")

    ask("POST", body={**body, "name": "b", "queue": "other"}, status=403, **key)
    ask("POST", body={**body, "name": "b", "type": "other"}, status=403, **key)
    ask("PATCH", "cron/a", {"queue": "other"}, 403, **key)
    ask("POST", "cron/foreign/trigger", status=403, **key)

    assert entry("a").template["queue"] == "mail"
    assert CronEntry.objects.count() == 2
