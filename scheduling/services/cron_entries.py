"""Find schedules. Spec: contract 7.5, D-MT-13.

A caller bound to a tenant sees only schedules of this tenant. Names are unique within a tenant, and
among the schedules of callers without a tenant.
"""

from collections.abc import Collection
from datetime import datetime

from django.db.models import QuerySet

from jobs.domain.access.caller import Caller
from jobs.domain.errors import Conflict, NotFound
from scheduling.domain.cron import parse, runs
from scheduling.domain.definition import NAME_PATTERN
from scheduling.models import KEPT, WITH_NOW, CronEntry, CronRun


def entries(caller: Caller, tenant: str | None = None) -> QuerySet[CronEntry]:
    """Return the schedules that a caller may see; `now` of each is the time of the read."""
    found = CronEntry.objects.annotate(**WITH_NOW)
    wanted = caller.tenant or tenant
    if caller.tenant and tenant not in {None, caller.tenant}:
        return found.none()
    return found if wanted is None else found.filter(tenant=wanted)


def page(
    caller: Caller, *, enabled: bool | None, tenant: str | None, limit: int, offset: int
) -> tuple[list[CronEntry], int]:
    """List schedules by name; returns a page and the total."""
    found = entries(caller, tenant)
    if enabled is not None:
        found = found.filter(enabled=enabled)
    return list(found.order_by("name", "id")[offset : offset + limit]), found.count()


def find(name: str, caller: Caller, tenant: str | None = None, *, lock: bool = False) -> CronEntry:
    """Return a schedule by name, locked if asked (in a transaction).

    A caller without a tenant gets its own schedule first, then the schedule of the only tenant that
    has one. Raises NotFound, or Conflict if several tenants have one and the request names no
    tenant.
    """
    if not NAME_PATTERN.fullmatch(name):
        raise NotFound.of("cron", name)
    found = entries(caller, tenant).filter(name=name)
    if lock:
        found = found.select_for_update()
    rows = list(found.order_by("id")[:100])
    own = [row for row in rows if row.tenant is None] or rows
    if not own:
        raise NotFound.of("cron", name)
    if len(own) > 1:
        raise Conflict(
            f"several tenants have a schedule called {name}: name one by ?tenant=",
            details={"field": "tenant", "tenants": [row.tenant for row in own]},
        )
    return own[0]


def latest_runs(listed: Collection[CronEntry]) -> dict[int, CronRun]:
    """Return the latest outcome of schedules, by the schedule's id."""
    from_slots = [(entry.id, (entry.noted - 1) % KEPT) for entry in listed if entry.noted]
    return {run.entry_id: run for run in CronRun.objects.filter(pk__in=from_slots)}


def upcoming(entry: CronEntry, number: int) -> list[datetime]:
    """Return the next runs of a schedule, also of a disabled one; needs `entry.now`."""
    now: datetime = entry.now
    first = [] if entry.next_run_at is None else [entry.next_run_at]
    after = max(first[0], now) if first else now
    return [*first, *runs(parse(entry.expression, entry.timezone), after, number - len(first))]
