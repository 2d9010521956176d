"""Report versions that no live worker accepts: the body of the loop `held_versions`.

It looks from outside, so no claim pays for it. Spec: contract 22.6, versioning.held.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from jobs.database import atomic
from jobs.domain.record.events import Kind
from jobs.services.record.emit import NewEvent, emit
from versioning import queries
from versioning.conf import conf
from versioning.domain.canary import waits_for
from versioning.models import Held
from versioning.services.acceptance import acceptance, by_queue, is_bare
from versioning.services.routes import Routes, latest

TABLES = ("ojs_ready", "ojs_version_held")  # without rows in them the loop has no work
MOST = 10_000  # counted jobs of a lane
LANES = 1_000  # lanes of a version that are read


@dataclass(frozen=True, slots=True)
class Backlog:
    """The waiting jobs of a version where no worker accepts it; `queue` is the deepest."""

    queue: str
    jobs: int
    now: datetime


def watch() -> int:
    """Look once; returns the number of events.

    1. Find the versions with jobs but without a live worker that fetches their queue and accepts.
    2. Store new rows, and delete rows of versions that are accepted again.
    3. Emit an event for each row that has lasted for `held_after_ms`, once while it lasts.

    One transaction, in one process at a time: the rows note the events in it.
    """
    with atomic():
        routes = latest()
        found = _found(routes)
        held = {row.route: row for row in Held.objects.select_for_update().order_by("route")}
        Held.objects.filter(route__in=held.keys() - found.keys()).delete()
        rows = [_noted(route, held.get(route), one) for route, one in found.items()]
        late = [row for row in rows if _is_late(row, found[row.route])]
        for row in late:
            row.told_at = found[row.route].now
        Held.objects.bulk_create(
            rows, update_conflicts=True, unique_fields=["route"], update_fields=["jobs", "told_at"]
        )
        emit([_event(routes, row.route, found[row.route]) for row in late])
    return len(late)


def _found(routes: Routes) -> dict[int, Backlog]:
    """Find held jobs; jobs are counted only there, since other queues may have many."""
    held = {(row.route, row.queue) for row in _unaccepted(routes)}
    wanted = sorted({route for route, _ in held})
    found: dict[int, Backlog] = {}
    for row in queries.waiting(wanted, most=MOST, lanes=LANES) if wanted else ():
        if (row.route, row.queue) in held:
            before = found.get(row.route, Backlog(row.queue, 0, row.now))
            found[row.route] = Backlog(before.queue, before.jobs + row.jobs, row.now)
    return found


def _unaccepted(routes: Routes) -> list[queries.Waiting]:
    every = list(routes.by_id)
    rows = queries.waiting(every, most=1, lanes=LANES) if every else []
    workers = by_queue({row.queue for row in rows}) if rows else {}
    return [row for row in rows if is_held(row, workers[row.queue], routes)]


def is_held(row: queries.Waiting, workers: Sequence[queries.Declared], routes: Routes) -> bool:
    """Return whether no live worker accepts these waiting jobs.

    Unversioned jobs count only if live workers refuse them: without any worker, the version is not
    the cause.
    """
    found = acceptance(workers, routes, row.route, routes.fallen_in([row.queue]))
    return not found.accepting and (found.running > 0 or not is_bare(routes, row.route))


def _noted(route: int, row: Held | None, found: Backlog) -> Held:
    row = row or Held(route=route, since=found.now)
    row.jobs = found.jobs
    return row


def _is_late(row: Held, found: Backlog) -> bool:
    held_after = timedelta(milliseconds=conf().held_after_ms)
    return row.told_at is None and found.now - row.since >= held_after


def _event(routes: Routes, route: int, found: Backlog) -> NewEvent:
    key = routes.by_id[route]
    version = waits_for(key, routes.rules.get(key.type))
    return NewEvent(
        Kind.VERSION_HELD,
        queue=found.queue,
        type=key.type,
        data={"version": None if version is None else str(version), "count": found.jobs},
    )
