"""The registered handlers of this process, by job type and version."""

import json
from collections.abc import Sequence
from typing import Any

from ojs_tasks.context import ClaimedJob
from ojs_tasks.handlers import Handler
from ojs_tasks.versions import parse_version, split_type

MODULE = "ojs_jobs"  # of an installed app
MODULES = (MODULE, "tasks")  # searched in every installed app, "tasks" for those of Django

# by type, the latest versions first
_handlers: dict[str, list[Handler[Any, Any]]] = {}


def register(handler: Handler[Any, Any]) -> None:
    """Add a handler. Raises ValueError when a job could have two handlers."""
    others = _handlers.get(handler.type, [])
    if any(not other.range.meet(handler.range).is_empty for other in others):
        raise ValueError(f"job type {handler.type!r} has a handler already")
    found = [*others, handler]
    _handlers[handler.type] = sorted(found, key=lambda one: one.range.low, reverse=True)


def of_type(job_type: str) -> Sequence[Handler[Any, Any]]:
    """Return the handlers of a type, those with the latest versions first."""
    return _handlers.get(job_type, ())


def discover() -> None:
    """Import the modules of installed apps that hold handlers."""
    from django.utils.module_loading import autodiscover_modules  # noqa: PLC0415 - optional

    autodiscover_modules(*MODULES)


def handlers() -> list[Handler[Any, Any]]:
    """Return all handlers. For each type, the handler of the latest versions comes first."""
    return [one for of_type in _handlers.values() for one in of_type]


def handler_of(job: ClaimedJob) -> Handler[Any, Any] | None:
    """Return the handler of a job's type and version, None when this project has none.

    A job without a version goes to the handler of the latest versions that accepts it.
    """
    found = _handlers.get(job.type) or _handlers.get(split_type(job.type)[0], [])
    if job.version is None:
        return next((one for one in found if one.accept_unversioned), None)
    version = parse_version(json.loads(job.version))
    return next((one for one in found if version in one.range), None)


def handled_queues() -> tuple[str, ...]:
    """Return the queues that registered handlers enqueue to, `default` first; empty without any.

    Other queues are left out: their jobs may be meant for workers in other languages.
    """
    named = {queue for one in handlers() for queue in one.queues}
    return tuple(sorted(named, key=lambda name: (name != "default", name)))


def declared() -> list[dict[str, Any]]:
    """Return the handlers that do not accept every job of their type, as a worker declares them."""
    return [
        {"type": one.type, "versions": one.versions, "accept_unversioned": one.accept_unversioned}
        for one in handlers()
        if one.versions is not None or not one.accept_unversioned
    ]
