"""`migrate_from_celery`: the module of handlers that an application becomes."""

import json
import sys
from datetime import timedelta
from io import StringIO
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from django.core.management import CommandError, call_command

import ojs_tasks
from ojs_tasks import registry
from ojs_tasks.compat.migration.celery_app import read
from ojs_tasks.compat.migration.expressions import NoExpression, of_celery
from ojs_tasks.compat.migration.sources import uses
from tests.ojs_tasks.compat import shop_tasks
from tests.ojs_tasks.compat.celery_shapes import FakeTask, application, crontab

ADD = "shop.tasks.add"
MODULE = shop_tasks.__name__


def executed(text: str, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Run a written module; return the schedules that it declares."""
    schedules: list[dict[str, Any]] = []

    def periodic(expression: str, **options: Any) -> Any:
        def decorate(handler: Any) -> Any:
            schedules.append({"expression": expression, "type": handler.type, **options})
            return handler

        return decorate

    monkeypatch.setattr(ojs_tasks, "periodic", periodic, raising=False)
    exec(compile(text, "ojs_jobs.py", "exec"), {"__name__": "ojs_jobs"})  # noqa: S102 - its purpose
    return schedules


def test_tasks_become_handlers_with_their_terms(monkeypatch: pytest.MonkeyPatch) -> None:
    app = application(
        [
            FakeTask(shop_tasks.add, ADD, rate_limit="10/m"),
            FakeTask(
                shop_tasks.clean, "shop.tasks.clean", autoretry_for=(shop_tasks.Broken, OSError),
                retry_backoff=True, max_retries=5,
            ),
        ],
        task_routes={ADD: {"queue": "math"}, "shop.tasks.c*": "slow"}, task_time_limit=60,
    )  # fmt: skip
    plan = read(app, "shop.celery")
    monkeypatch.setattr(shop_tasks.add, "__wrapped__", shop_tasks.add, raising=False)
    monkeypatch.setattr(shop_tasks.clean, "__wrapped__", shop_tasks.clean, raising=False)

    executed(plan.text, monkeypatch)

    add, clean = registry.handlers()
    assert plan.notes == []
    assert (add.type, add.function) == (ADD, shop_tasks.add)
    assert add.members == {
        "queue": "math", "timeout_ms": 60_000, "retry": {"max_attempts": 1},
        "rate_limit": {"key": ADD, "rate": {"limit": 10, "period": "PT60S"}},
    }  # fmt: skip
    assert clean.autoretry_for == (shop_tasks.Broken, OSError)
    assert (clean.members["queue"], clean.members["retry"]["max_attempts"]) == ("slow", 6)


def test_late_tasks_run_again_after_a_crash_but_not_after_an_exception() -> None:
    app = application([FakeTask(shop_tasks.add, ADD, acks_late=True)])

    (handler,) = read(app, "shop.celery").handlers

    assert handler.terms["dont_retry_for"] == (Exception,)
    assert handler.terms["retry"]["max_attempts"] == 4


def test_the_beat_schedule_becomes_schedules(monkeypatch: pytest.MonkeyPatch) -> None:
    entries = {
        "add nightly": {
            "task": ADD, "schedule": crontab(minute=0, hour=3), "kwargs": {"left": 1},
            "options": {"queue": "slow"},
        },
        "add-often": {"task": ADD, "schedule": 30.0, "args": (1, 2)},
        "lost": {"task": "shop.tasks.lost", "schedule": 5},
    }  # fmt: skip
    app = application(
        [FakeTask(shop_tasks.add, ADD)], beat_schedule=entries, timezone="Europe/Berlin"
    )
    plan = read(app, "shop.celery")
    monkeypatch.setattr(shop_tasks.add, "__wrapped__", shop_tasks.add, raising=False)

    often, nightly = executed(plan.text, monkeypatch)

    zone = {"timezone": "Europe/Berlin", "overlap": "allow"}
    assert often == {
        "expression": "@every 30s", "type": ADD, "name": "add-often", "args": [1, 2], **zone,
    }  # fmt: skip
    assert nightly == {"expression": "0 3 * * *", "type": "schedule.add_nightly", **zone}
    assert 'add.options(queue="slow").enqueue(left=1)' in plan.text
    assert plan.notes == ["schedule 'lost': no handler of shop.tasks.lost was written"]


@pytest.mark.parametrize(
    ("schedule", "expression"),
    [
        (crontab(minute="*/5", day_of_week="mon-fri"), "*/5 * * * mon-fri"),
        (crontab(minute=[0, 30], hour="1, 2"), "0,30 1,2 * * *"),
        (timedelta(minutes=2), "@every 120s"),
        (SimpleNamespace(run_every=timedelta(seconds=1.5)), "@every 1500ms"),
    ],
)
def test_schedules_have_cron_expressions(schedule: Any, expression: str) -> None:
    assert of_celery(schedule) == expression


@pytest.mark.parametrize(
    "schedule", [crontab(day_of_week=1, day_of_month=1), timedelta(seconds=0.5), object()]
)
def test_other_schedules_have_none(schedule: Any) -> None:
    with pytest.raises(NoExpression):
        of_celery(schedule)


def test_what_is_not_translated_is_reported() -> None:
    app = application(
        [
            FakeTask(shop_tasks.Owner().bound, "shop.tasks.bound"),
            FakeTask(shop_tasks.add, "Shop.Add"),
            FakeTask(shop_tasks.add, ADD, rate_limit="often"),
            FakeTask(lambda: None, "shop.tasks.inner"),
        ],
        result_backend="redis://", task_routes=[lambda name: {"queue": name}],
    )  # fmt: skip

    plan = read(app, "shop.celery")

    assert plan.handlers == []
    assert [note.partition(":")[0] for note in plan.notes] == [
        "task Shop.Add",
        "task_routes has <function test_what_is_not_translated_is_reported.<locals>.<lambda>"
        + plan.notes[1].partition(":")[0].partition("<lambda>")[2],
        "rate_limit='often'",
        "task shop.tasks.bound has bind=True",
        "task shop.tasks.inner",
        "setting result_backend",
    ]


def test_workflows_in_the_source_are_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "shop_flows.py").write_text(
        "from celery import chord\n\n\ndef run(a, b):\n    chord([a.s()])(b.s())\n"
        "    a.apply_async(link=b.s())\n"
    )
    monkeypatch.syspath_prepend(tmp_path)

    assert [note.partition(": use")[0] for note in uses("shop_flows")] == [
        "shop_flows:6 uses link=", "shop_flows:5 uses chord",
    ]  # fmt: skip


@pytest.fixture
def shop(monkeypatch: pytest.MonkeyPatch) -> str:
    """Give the path of an importable application."""
    module = ModuleType("shop_celery")
    module.app = application([FakeTask(shop_tasks.add, ADD)])  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "shop_celery", module)
    return "shop_celery"


@pytest.mark.parametrize("path", ["shop_celery", "shop_celery.app", "shop_celery:app"])
def test_the_command_prints_the_module(path: str, shop: str) -> None:
    out, report = StringIO(), StringIO()

    call_command("migrate_from_celery", path, stdout=out, stderr=report)

    assert f"add = job({json.dumps(ADD)}" in out.getvalue()
    assert "1 handlers, 0 schedules, 0 to do by hand" in report.getvalue()


def test_the_command_writes_a_new_file_alone(shop: str, tmp_path: Path) -> None:
    file = tmp_path / "ojs_jobs.py"
    call_command("migrate_from_celery", shop, "--write", str(file), stderr=StringIO())

    assert f"import {MODULE}" in file.read_text()
    with pytest.raises(CommandError, match="File exists"):
        call_command("migrate_from_celery", shop, "--write", str(file))


def test_a_check_only_reports(shop: str) -> None:
    out = StringIO()

    call_command("migrate_from_celery", shop, "--check", stdout=out, stderr=StringIO())

    assert out.getvalue() == ""


@pytest.mark.parametrize("path", ["no_such_module.app", "json", "tests.ojs_tasks.compat"])
def test_another_path_is_an_error(path: str) -> None:
    with pytest.raises(CommandError, match=r"cannot import|no Celery application"):
        call_command("migrate_from_celery", path)
