"""Schedules in code, and their reconciliation with the database."""

from functools import partial
from typing import Any

import pytest

from jobs.domain.errors import Conflict
from jobs.testing import run_available
from ojs_tasks import Refused, UnknownTerm, job, periodic
from ojs_tasks.declared import reconcile, schedules
from ojs_tasks.server import Reconciled, project
from scheduling.models import CronEntry
from scheduling.services import cron_register
from scheduling.services.cron_fire import fire
from scheduling.services.cron_register import Changes
from tests.concurrency import at_once
from tests.scheduling.conftest import ANYBODY, allow_all, entry, make_due, registered


@pytest.fixture(autouse=True)
def no_schedules(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove all schedules in code for the test."""
    forget(monkeypatch)


def forget(monkeypatch: pytest.MonkeyPatch) -> None:
    """Begin with new code: without handlers and schedules."""
    monkeypatch.setattr("ojs_tasks.registry._handlers", {})
    monkeypatch.setattr("ojs_tasks.declared._schedules", {})


@pytest.fixture
def daily(store: None) -> Any:
    """Return a handler with a schedule, which is registered."""
    handler = declare()
    assert reconcile() == Reconciled(added=["report-daily"], changed=[], removed=[], refused={})
    return handler


def declare(expression: str = "0 6 * * *", **members: Any) -> Any:
    """Define a handler with a schedule."""

    @periodic(expression, **members)
    @job("report_daily", queue="reports")
    def report(form: str = "pdf") -> str:
        return form

    return report


def names() -> list[str]:
    """Return the names of all stored schedules."""
    return sorted(CronEntry.objects.values_list("name", flat=True))


def test_a_schedule_is_what_a_request_registers() -> None:
    @periodic("@hourly", name="reports-csv", args=["csv"], priority="high", tenant="north")
    @periodic("0 6 * * *", timezone="Europe/Berlin", overlap="allow")
    @job("report.daily", queue="reports")
    def report(form: str = "pdf") -> None: ...

    template = {"queue": "reports", "type": "report.daily"}
    assert schedules() == [
        {
            "name": "report.daily",
            "expression": "0 6 * * *",
            "timezone": "Europe/Berlin",
            "overlap_policy": "allow",
            "job_template": {**template, "args": []},
        },
        {
            "name": "reports-csv",
            "expression": "@hourly",
            "timezone": "UTC",
            "overlap_policy": "skip",
            "job_template": {
                **template,
                "args": ["csv"],
                "priority": "high",
                "meta": {"tenant_id": "north"},
            },
        },
    ]


@pytest.mark.parametrize(
    ("members", "problem", "words"),
    [
        ({"expression": "0 6 * *"}, Refused, "5 fields"),
        ({"expression": "0 0 31 2 *"}, Refused, "does not exist"),
        ({"timezone": "EST"}, Refused, "IANA"),
        ({"overlap": "x"}, Refused, "one of"),
        ({"name": "Daily Report"}, Refused, "a-z"),
        ({"priority": 1000}, Refused, "priority"),
        ({"args": [object()]}, Refused, "JSON"),
        ({"args": [1, 2]}, TypeError, "too many"),
        ({"prioritty": 5}, UnknownTerm, "did you mean 'priority'"),
    ],
)
def test_a_wrong_schedule_fails_at_import(
    members: dict[str, Any], problem: type[Exception], words: str
) -> None:
    with pytest.raises(problem, match=words):
        declare(**members)
    assert schedules() == []


def test_a_function_without_job_has_no_schedule() -> None:
    decorate: Any = periodic("@daily")

    with pytest.raises(TypeError, match="above @job"):
        decorate(lambda: None)


def test_two_schedules_need_two_names() -> None:
    handler = declare()

    with pytest.raises(ValueError, match="give each schedule a name="):
        periodic("@daily")(handler)


def test_a_registered_schedule_makes_jobs(daily: Any) -> None:
    make_due()
    fire()

    (run,) = run_available()

    assert (run.type, run.result) == ("report_daily", "pdf")
    assert entry("report-daily").project == project() == "ojs_project"


def test_a_second_start_changes_nothing(daily: Any) -> None:
    before = CronEntry.objects.values().get()

    assert reconcile() == Reconciled([], [], [], {})
    assert CronEntry.objects.values().get() == before


def test_the_next_start_changes_and_removes_schedules(
    daily: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    forget(monkeypatch)
    handler = declare("@hourly", args=["csv"])
    periodic("@weekly", name="weekly")(handler)

    assert reconcile() == Reconciled(["weekly"], ["report-daily"], [], {})
    assert entry("report-daily").template["args"] == ["csv"]

    forget(monkeypatch)
    assert reconcile() == Reconciled([], [], ["report-daily", "weekly"], {})
    assert names() == []


def test_other_schedules_are_never_touched(
    store: None, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    registered("by-hand")
    declare(name="by-hand")
    declared = declare_other(settings, monkeypatch)

    found = reconcile()

    assert found.refused == {"by-hand": "the name is taken by a schedule of the API or the console"}
    assert names() == ["by-hand", declared]
    assert entry("by-hand").project is None


def declare_other(settings: Any, monkeypatch: pytest.MonkeyPatch) -> str:
    """Register the schedule of another project; return its name."""
    before = dict(settings.OJS)
    mine = schedules()
    monkeypatch.setattr("ojs_tasks.declared._schedules", {})
    monkeypatch.setattr("ojs_tasks.registry._handlers", {})
    settings.OJS = {**before, "PROJECT": "other"}
    declare(name="theirs")
    reconcile()
    settings.OJS = before
    monkeypatch.setattr("ojs_tasks.declared._schedules", {one["name"]: one for one in mine})
    return "theirs"


def test_a_pause_of_an_operator_survives_a_changed_schedule(
    daily: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    cron_register.switch("report-daily", ANYBODY, allow_all, enabled=False)
    forget(monkeypatch)
    declare("@hourly")

    assert reconcile().changed == ["report-daily"]

    paused = entry("report-daily")
    assert (paused.expression, paused.enabled, paused.next_run_at) == ("@hourly", False, None)
    cron_register.switch("report-daily", ANYBODY, allow_all, enabled=True)
    assert entry("report-daily").next_run_at is not None


@pytest.mark.parametrize(
    "edit",
    [
        lambda: registered("report-daily"),
        lambda: cron_register.delete("report-daily", ANYBODY, allow_all),
        lambda: cron_register.change(
            "report-daily", Changes(expression="@daily", enabled=False), ANYBODY, allow_all
        ),
    ],
    ids=["register", "delete", "change"],
)
def test_other_members_change_in_code_alone(daily: Any, edit: Any) -> None:
    before = CronEntry.objects.values().get()

    with pytest.raises(Conflict, match="defined in code by project ojs_project"):
        edit()
    assert CronEntry.objects.values().get() == before


def test_processes_that_start_at_once_register_each_schedule_once(store: None) -> None:
    handler = declare()
    for n in range(20):
        periodic("@daily", name=f"n{n}")(handler)

    found = at_once([partial(reconcile)] * 4)

    assert sorted(len(one.added) for one in found) == [0, 0, 0, 21]
    assert len(names()) == 21


def test_a_schedule_that_the_server_refuses_leaves_the_others(store: None, settings: Any) -> None:
    handler = declare()
    periodic("@daily", name="other", queue="x")(handler)
    settings.OJS_TENANCY = {**getattr(settings, "OJS_TENANCY", {}), "MISSING": "reject"}

    found = reconcile()

    assert set(found.refused) == {"report-daily", "other"}
    assert names() == []
