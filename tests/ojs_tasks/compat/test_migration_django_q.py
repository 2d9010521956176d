"""`migrate_from_django_q`: handlers, schedules and waiting tasks from django-q2's tables."""

from datetime import UTC, datetime, timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import override_settings
from django.utils import timezone
from django_q.models import OrmQ, Schedule
from django_q.signing import SignedPackage

from ojs_tasks import job
from ojs_tasks.compat.migration.expressions import NoExpression, of_django_q
from ojs_tasks.testing import assert_enqueued, enqueued, run_available
from tests.ojs_tasks.compat import shop_tasks

ADD = f"{shop_tasks.__name__}.add"
pytestmark = pytest.mark.django_db


def run(*options: str) -> tuple[str, str]:
    """Run the command; return the module and the report."""
    out, report = StringIO(), StringIO()
    call_command("migrate_from_django_q", *options, stdout=out, stderr=report)
    return out.getvalue(), report.getvalue()


def wait_in_queue(**task: Any) -> OrmQ:
    """Store a task, as `async_task` does."""
    payload = SignedPackage.dumps({"id": "1", "name": "one", "kwargs": {}, "args": (), **task})
    return OrmQ.objects.create(
        key="default", payload=payload, lock=timezone.now() - timedelta(hours=1)
    )


@pytest.mark.parametrize(
    ("kind", "expression"),
    [
        ("H", "45 * * * *"), ("D", "45 6 * * *"), ("W", "45 6 * * 0"), ("M", "45 6 31 * *"),
        ("Q", "45 6 31 2,5,8,11 *"), ("Y", "45 6 31 5 *"), ("C", "0 1 * * *"),
        ("I", "*/15 * * * *"),
    ],
)  # fmt: skip
def test_types_of_schedules_have_cron_expressions(kind: str, expression: str) -> None:
    at = datetime(2026, 5, 31, 6, 45, tzinfo=UTC)  # a Sunday

    assert of_django_q(kind, at, 15, "0 1 * * *") == expression


@pytest.mark.parametrize(("minutes", "expression"), [(1, "* * * * *"), (7, "@every 7m")])
def test_minutes_that_divide_no_hour_are_lengths(minutes: int, expression: str) -> None:
    assert of_django_q("I", datetime.now(UTC), minutes, None) == expression


def test_other_types_have_none() -> None:
    with pytest.raises(NoExpression):
        of_django_q("BW", datetime.now(UTC), None, None)


@override_settings(TIME_ZONE="Europe/Berlin")
def test_schedules_become_handlers_and_schedules() -> None:
    at = datetime(2026, 5, 1, 4, 30, tzinfo=UTC)
    Schedule.objects.create(
        name="Daily sum", func=ADD, args="1, 2", schedule_type="D", next_run=at, repeats=-1
    )
    Schedule.objects.create(
        name="every", func=ADD, kwargs="left=1, right=[2]", schedule_type="I", minutes=5, repeats=3
    )

    text, report = run()

    assert f"import {shop_tasks.__name__}\n" in text
    assert "30 6 * * *" in text
    assert 'name="daily-sum"' in text
    assert "args=[1, 2]" in text
    assert "add.enqueue(left=1, right=[2])" in text
    assert "1 handlers, 2 schedules, 1 to do by hand" in report
    assert "ends after 3 runs" in report
    compile(text, "ojs_jobs.py", "exec")


def test_waiting_tasks_are_enqueued_once() -> None:
    handler = job(ADD)(shop_tasks.add)
    wait_in_queue(func=ADD, args=(1,), kwargs={"right": 5})
    wait_in_queue(func=shop_tasks.add, args=(2,))
    at = timezone.now() + timedelta(hours=1)
    Schedule.objects.create(func=ADD, args="3,", schedule_type="O", next_run=at)

    assert "3 waiting tasks: --enqueue enqueues them" in run()[1]
    assert enqueued() == []
    assert "3 waiting tasks were enqueued" in run("--enqueue")[1]
    assert "0 waiting tasks" in run("--enqueue")[1]

    assert_enqueued(handler, count=3)
    assert [one.state for one in enqueued(handler, args=[3])] == ["scheduled"]
    assert [one.result for one in run_available()] == [6, 4]


def test_running_and_unreadable_tasks_stay() -> None:
    running = wait_in_queue(func=ADD)
    OrmQ.objects.filter(pk=running.pk).update(lock=timezone.now())
    wait_in_queue(func=ADD, args=(object,))
    wait_in_queue(func="Shop.Add")
    OrmQ.objects.create(key="default", payload="foreign", lock=None)

    report = run("--enqueue")[1]

    assert "runs in a cluster" in report
    assert "is not JSON serializable" in report
    assert "the path is no job type" in report
    assert "check SECRET_KEY" in report
    assert OrmQ.objects.count() == 4


def test_a_check_changes_nothing() -> None:
    assert run("--check")[0] == ""
    with pytest.raises(CommandError, match="excludes"):
        run("--check", "--enqueue")
