"""Read a Celery application. It needs the documented attributes of the application alone."""

import inspect
import json
import sys
from collections.abc import Callable, Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any, Final

from ojs_tasks.compat.celery.app import NAME
from ojs_tasks.compat.celery.errors import Unsupported
from ojs_tasks.compat.celery.options import IGNORED, TASK, call_terms, task_terms
from ojs_tasks.compat.migration.expressions import NoExpression, of_celery
from ojs_tasks.compat.migration.plan import Plan, PlannedHandler, PlannedSchedule
from ojs_tasks.compat.migration.sources import uses

DEFAULTS: Final = {
    "autoretry_for": (), "dont_autoretry_for": (), "throws": (), "max_retries": 3,
    "default_retry_delay": 180, "retry_backoff": None, "retry_backoff_max": 600,
    "retry_jitter": True, "retry_kwargs": {}, "expires": None, "queue": None, "priority": None,
    "ignore_result": False, "time_limit": None, "soft_time_limit": None, "rate_limit": None,
}  # fmt: skip
LIMITS: Final = {  # settings that hold for all tasks, by the option of a task
    "time_limit": "task_time_limit", "soft_time_limit": "task_soft_time_limit",
    "rate_limit": "task_default_rate_limit",
}  # fmt: skip
SETTINGS: Final = {
    "result_backend": "results are stored by the server, with the term result_ttl",
    "task_always_eager": "tests use ojs_tasks.testing.run_now()",
    "task_annotations": "write the options into the terms of each handler",
    "task_queues": "queues are made by the first job; limits are terms and queue settings",
    "worker_concurrency": "use manage.py runworker --threads",
    "task_cls": "use a plain function, and execution middleware for what the class did",
}
SIGNALS: Final = ("task_", "before_task_", "after_task_")


def read(app: Any, path: str) -> Plan:
    """Return the plan of an application's own tasks and its beat schedule."""
    plan = Plan(f"the Celery application {path}")
    tasks = {name: one for name, one in app.tasks.items() if not name.startswith("celery.")}
    for name, task in sorted(tasks.items()):
        _add_task(plan, app, name, task)
    for name, entry in sorted((getattr(app.conf, "beat_schedule", None) or {}).items()):
        _add_entry(plan, app, name, entry)
    for name, advice in SETTINGS.items():
        if getattr(app.conf, name, None):
            plan.notes.append(f"setting {name}: {advice}")
    modules = {str(inspect.unwrap(_function(one)).__module__) for one in tasks.values()}
    for module in sorted(modules):
        plan.notes += uses(module)
    plan.notes += _signals()
    return plan


def _add_task(plan: Plan, app: Any, name: str, task: Any) -> None:
    function = _function(task)
    if NAME.fullmatch(name) is None:
        plan.notes.append(f"task {name}: the name is no job type; give it another one")
        return
    if inspect.ismethod(function):
        plan.notes.append(
            f"task {name} has bind=True: import shared_task from ojs_tasks.compat.celery there, and"
            " import its module in ojs_jobs"
        )
        return
    if "<locals>" in function.__qualname__:
        plan.notes.append(f"task {name}: its function is inside another function")
        return
    options = _options(plan, app, name, task)
    try:
        terms = _shortened(task_terms(options, name), is_late=_is_late(app, task))
    except Unsupported as problem:
        plan.notes.append(str(problem))
        return
    variable = plan.name(function.__name__)
    attribute = f"{function.__name__}.__wrapped__"
    plan.handlers.append(PlannedHandler(variable, name, function.__module__, attribute, terms))


def _function(task: Any) -> Callable[..., Any]:
    """Return the function of a task: a method for a bound task."""
    found: Callable[..., Any] = getattr(task, "__wrapped__", None) or task.run
    return found


def _options(plan: Plan, app: Any, name: str, task: Any) -> dict[str, Any]:
    given = {option: getattr(task, option, default) for option, default in DEFAULTS.items()}
    for option, setting in LIMITS.items():
        if given[option] is None:
            given[option] = getattr(app.conf, setting, None)
    changed = {option: value for option, value in given.items() if value != DEFAULTS[option]}
    return {**_route(plan, getattr(app.conf, "task_routes", None), name), **changed}


def _is_late(app: Any, task: Any) -> bool:
    return bool(getattr(task, "acks_late", False) or getattr(app.conf, "task_acks_late", False))


def _shortened(terms: Mapping[str, Any], *, is_late: bool) -> dict[str, Any]:
    """Return the terms of a task that never retries as one attempt, unless a crash repeats it."""
    found = dict(terms)
    if found.get("dont_retry_for") == (Exception,) and not is_late:
        del found["dont_retry_for"]
        found["retry"] = {"max_attempts": 1}
    return found


def _route(plan: Plan, routes: Any, name: str) -> dict[str, Any]:
    """Return the options that the setting task_routes gives to a task."""
    for route in routes if isinstance(routes, list | tuple) else [routes] if routes else []:
        if isinstance(route, Mapping):
            pairs = list(route.items())
        elif isinstance(route, list | tuple):
            pairs = [(route[0], route[1])]
        else:
            note = f"task_routes has {route!r}: set the queues of its tasks by the term queue"
            plan.notes += [] if note in plan.notes else [note]
            continue
        for pattern, target in pairs:
            if fnmatchcase(name, str(getattr(pattern, "pattern", pattern))):
                return _target(target)
    return {}


def _target(target: Any) -> dict[str, Any]:
    if isinstance(target, str):
        return {"queue": target}
    found = {key: value for key, value in target.items() if key in TASK and value is not None}
    if "queue" in found:
        found["queue"] = str(getattr(found["queue"], "name", found["queue"]))
    return found


def _add_entry(plan: Plan, app: Any, name: str, entry: Mapping[str, Any]) -> None:
    owner = next((one for one in plan.handlers if one.type == entry["task"]), None)
    if owner is None:
        plan.notes.append(f"schedule {name!r}: no handler of {entry['task']} was written")
        return
    options = {key: one for key, one in (entry.get("options") or {}).items() if key not in IGNORED}
    args, kwargs = list(entry.get("args") or ()), dict(entry.get("kwargs") or {})
    try:
        json.dumps([args, kwargs])
        terms = call_terms(options, str(entry["task"]))
        expression = of_celery(entry["schedule"])
    except (TypeError, NoExpression) as problem:
        plan.notes.append(f"schedule {name!r}: {problem}")
        return
    zone = str(getattr(app.conf, "timezone", None) or "UTC")
    plan.schedules.append(
        PlannedSchedule(plan.name(name), expression, zone, owner.variable, args, kwargs, terms)
    )


def _signals() -> Iterator[str]:
    """Yield a note for each signal of Celery's with receivers of the project."""
    module = sys.modules.get("celery.signals")
    for name, signal in sorted(vars(module).items()) if module else ():
        if name.startswith(SIGNALS) and getattr(signal, "receivers", None):
            yield f"signal {name} has receivers: use execution middleware instead"
