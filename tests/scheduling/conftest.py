"""Schedules for the tests, and functions that make them due without waiting."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest

from jobs.domain.access.caller import Caller
from jobs.domain.job import Job
from jobs.models import Event
from jobs.services.read.clock import now
from jobs.services.read.show import show
from scheduling.api.cron_codec import decode_definition
from scheduling.models import WITH_NOW, CronEntry
from scheduling.services.cron_register import register
from tests.jobs.api.conftest import new_key, with_keys

__all__ = ["new_key", "with_keys"]

ANYBODY = Caller("test")
NORTH, SOUTH = Caller("north key", "north"), Caller("south key", "south")
Register = Callable[..., CronEntry]


def allow_all(_queue: str, _kind: str) -> None:
    """Refuse nothing."""


def registered(name: str = "nightly", caller: Caller = ANYBODY, **body: Any) -> CronEntry:
    """Register a schedule as a request would; by default it runs every hour."""
    sent = {"name": name, "expression": "0 * * * *", "type": "tests.cron", **body}
    return register(decode_definition(sent), caller, allow_all)[0]


def entry(name: str = "nightly") -> CronEntry:
    """Read a schedule by name."""
    return CronEntry.objects.annotate(**WITH_NOW).get(name=name)


def make_due(*names: str, ago: timedelta = timedelta(seconds=1)) -> datetime:
    """Make schedules (default: all) due since `ago`; return the nominal time."""
    at = now() - ago
    found = CronEntry.objects.filter(enabled=True)
    if names:
        found = found.filter(name__in=names)
    found.update(due_at=at, next_run_at=at)
    return at


def last_job(name: str = "nightly") -> Job:
    """Return the job of a schedule's latest run."""
    return show(str(entry(name).last_job_id))


def event_data(kind: int) -> list[dict[str, Any]]:
    """Return the data of all events of this kind, in order."""
    events = Event.objects.filter(kind=kind).order_by("stamp", "seq")
    return [dict(event.data or {}) for event in events]


@pytest.fixture
def nightly(store: None) -> CronEntry:
    """Return a schedule that runs every hour and skips while it runs."""
    return registered()
