"""Read the tables of django-q2 by its own models, so the app `django_q` must be installed."""

import ast
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from django.apps import apps
from django.conf import settings
from django.utils import timezone

from ojs_tasks.arguments import KEYWORDS
from ojs_tasks.compat.celery.app import NAME
from ojs_tasks.compat.migration.expressions import NoExpression, of_django_q
from ojs_tasks.compat.migration.plan import Plan, PlannedHandler, PlannedSchedule
from ojs_tasks.signatures import Signature
from ojs_tasks.times import moment

RETRY_S: Final = 60  # django-q2's default
ONCE: Final = "O"  # the type of a schedule that runs once


@dataclass(frozen=True, slots=True)
class Waiting:
    """A queued task, or a schedule that runs once at `at`; `row` is its row."""

    row: Any
    function: str
    args: list[Any]
    kwargs: dict[str, Any]
    at: datetime | None = None

    @property
    def call(self) -> Signature[Any]:
        """The job. Raises TypeError for arguments that are no JSON."""
        arguments = [*self.args, *([{KEYWORDS: self.kwargs}] if self.kwargs else [])]
        json.dumps(arguments)
        members = {} if self.at is None else {"scheduled_at": moment(self.at, "next_run")}
        return Signature(self.function, arguments, members)


def read() -> tuple[Plan, list[Waiting]]:
    """Return the plan of all functions and repeated schedules, and the waiting tasks."""
    plan, waiting = Plan("django-q2"), []
    for row in apps.get_model("django_q", "Schedule").objects.order_by("id"):
        once = _add_schedule(plan, row)
        waiting += [once] if once else []
    for row in apps.get_model("django_q", "OrmQ").objects.order_by("id"):
        task = row.task
        if not task.get("func"):
            plan.notes.append(f"waiting task {row.pk} has another signature: check SECRET_KEY")
            continue
        if _is_running(row):
            plan.notes.append(f"waiting task {row.pk} runs in a cluster: it was left there")
            continue
        function = _path(task.get("func"))
        if _add_function(plan, function) is None:
            continue
        args, kwargs = list(task.get("args") or ()), dict(task.get("kwargs") or {})
        waiting.append(Waiting(row, function, args, kwargs))
    return plan, [one for one in waiting if _is_json(plan, one)]


def _add_schedule(plan: Plan, row: Any) -> Waiting | None:
    """Add a schedule; return it if it runs once."""
    owner = _add_function(plan, row.func)
    name = row.name or f"{row.func} {row.pk}"
    try:
        args, kwargs = _arguments(row.args, row.kwargs)
        local = timezone.localtime(row.next_run) if settings.USE_TZ else row.next_run
        is_once = row.schedule_type == ONCE
        expression = "" if is_once else of_django_q(row.schedule_type, local, row.minutes, row.cron)
    except (ValueError, SyntaxError, NoExpression) as problem:
        plan.notes.append(f"schedule {name!r}: {problem}")
        return None
    if owner is None:
        return None
    if row.hook:
        plan.notes.append(f"schedule {name!r} has the hook {row.hook}: call it in the function")
    if is_once:
        return Waiting(row, row.func, args, kwargs, timezone.make_aware(local)
                       if timezone.is_naive(local) else local)  # fmt: skip
    if row.repeats > 0:
        plan.notes.append(f"schedule {name!r} ends after {row.repeats} runs: here it never ends")
    if row.repeats == 0:
        plan.notes.append(f"schedule {name!r} is paused: it was not written")
        return None
    terms = {"queue": row.cluster} if getattr(row, "cluster", None) else {}
    plan.schedules.append(
        PlannedSchedule(
            plan.name(name), expression, settings.TIME_ZONE, owner.variable, args, kwargs, terms
        )
    )
    return None


def _add_function(plan: Plan, path: str) -> PlannedHandler | None:
    """Return the handler of a function, a new one if it has none yet."""
    found = next((one for one in plan.handlers if one.type == path), None)
    if found is not None:
        return found
    module, _, name = path.rpartition(".")
    if NAME.fullmatch(path) is None or not module:
        note = f"function {path!r}: the path is no job type; write its handler by hand"
        plan.notes += [] if note in plan.notes else [note]
        return None
    # django-q2 runs a failed task once, unless it retries tasks that were not acknowledged
    made = PlannedHandler(plan.name(name), path, module, name, {"retry": {"max_attempts": 1}})
    plan.handlers.append(made)
    return made


def _is_running(row: Any) -> bool:
    """Return whether a cluster has taken a task: its lock is younger than the setting retry."""
    retry = timedelta(seconds=getattr(settings, "Q_CLUSTER", {}).get("retry") or RETRY_S)
    return row.lock is not None and row.lock > timezone.now() - retry


def _path(function: Any) -> str:
    if isinstance(function, str):
        return function
    return f"{getattr(function, '__module__', '')}.{getattr(function, '__qualname__', function)}"


def _arguments(args: str | None, kwargs: str | None) -> tuple[list[Any], dict[str, Any]]:
    """Return the arguments that a schedule stores as text. Raises ValueError, SyntaxError."""
    found = ast.literal_eval(args) if args else ()
    return list(found) if isinstance(found, tuple) else [found], _keywords(kwargs)


def _keywords(text: str | None) -> dict[str, Any]:
    """Return a dictionary from `a=1, b=2` or from the text of a dictionary."""
    if not text:
        return {}
    tree = ast.parse(f"f({text})" if not text.lstrip().startswith("{") else f"f(**{text})")
    call = tree.body[0].value if isinstance(tree.body[0], ast.Expr) else None
    return dict(_pairs(call.keywords)) if isinstance(call, ast.Call) else {}


def _pairs(keywords: list[ast.keyword]) -> Iterator[tuple[str, Any]]:
    for keyword in keywords:
        value = ast.literal_eval(keyword.value)
        if keyword.arg is not None:
            yield keyword.arg, value
        elif isinstance(value, Mapping):
            yield from value.items()


def _is_json(plan: Plan, one: Waiting) -> bool:
    try:
        json.dumps([one.args, one.kwargs])
    except TypeError as problem:
        plan.notes.append(f"waiting task {one.function}: {problem}")
        return False
    return True
