"""The schedules in code of this process: bodies of POST /ojs/v1/cron by name."""

from collections.abc import Mapping
from typing import Any

from ojs_tasks.server import Reconciled, project, server

_schedules: dict[str, Mapping[str, Any]] = {}


def require_new(name: str) -> None:
    """Raise ValueError if a schedule has this name."""
    if name in _schedules:
        raise ValueError(f"schedule {name!r} exists already: give each schedule a name=")


def declare(body: Mapping[str, Any]) -> None:
    """Add a schedule."""
    _schedules[body["name"]] = body


def schedules() -> list[Mapping[str, Any]]:
    """Return all schedules, as a request registers them."""
    return list(_schedules.values())


def reconcile() -> Reconciled:
    """Make the server's schedules of this project those in code. The caller has imported them.

    Schedules of the API, of the console and of other projects are never touched.
    """
    return server().reconcile_schedules(project(), schedules())
