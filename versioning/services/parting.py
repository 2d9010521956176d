"""Split types: give unversioned jobs of a type a version key of their own. See docs/adr/0015.

A worker refuses such jobs (`accept_unversioned`) or takes only types that it names, so the claim
must separate them. From the commit of the split on, new jobs are stored under the new version key.
The loop `redraw` moves jobs that wait under version key 0. Until none is left, a worker that
refuses them takes no jobs of version key 0.

A job can return to version key 0 later: by a manual retry, or after an attempt that ran during the
move. A claim of such a worker that meets it does not get it, and the move starts again.
"""

from collections.abc import Sequence
from datetime import timedelta
from typing import Final
from uuid import UUID

from django.db.models import F
from django.db.models.functions import Now

from jobs.database import atomic
from jobs.domain.dispatch.claim import Declaration, FetchRequest
from jobs.domain.job import Job
from jobs.services.lanes import configuration
from jobs.services.lanes.reroute import Reroute, reroute
from jobs.services.read import clock
from versioning import queries
from versioning.domain.declaration import UNVERSIONED, handles
from versioning.domain.errors import TooManyVersions
from versioning.models import Apart, Route
from versioning.services import routes

BATCH: Final = 500  # jobs at a time: their rows are locked meanwhile
FIRST_ID: Final = str(UUID(int=0))
AGAIN: Final = timedelta(seconds=1)  # until the next look at jobs whose rows were locked


def ensure(declaration: Declaration | None) -> None:
    """Split the types that a worker's declaration requires; no statement if all are split."""
    wanted = frozenset() if declaration is None else handles(declaration).types_to_split
    if wanted and not wanted <= routes.current().split_types.keys():
        _make(sorted(wanted - routes.latest().split_types.keys()))


def _make(types: Sequence[str]) -> None:
    with atomic():
        configuration.hold()  # first: processes that create version keys wait for this lock
        there = set(Apart.objects.filter(type__in=types).values_list("type", flat=True))
        new = [one for one in types if one not in there]
        if not new:
            return
        configuration.change()
        made = Route.objects.bulk_create([Route(type=one) for one in new])
        Apart.objects.bulk_create([Apart(type=one.type, route=one.id) for one in made])
    routes.clear()


def rejected(jobs: Sequence[Job], request: FetchRequest) -> set[str]:
    """Return the claimed jobs that the worker refuses, and restart the move of their types.

    It raises the configuration version, so the worker's next claim leaves version key 0 out.
    """
    if request.declaration is None:
        return set()
    refused = handles(request.declaration).versioned_only
    found = {job.id: job.type for job in jobs if job.version is None and job.type in refused}
    if found:
        with atomic():
            configuration.change()
            Apart.objects.filter(type__in=set(found.values())).update(
                is_done=False, turn=F("turn") + 1, waits_for=None, is_later=False, has_missed=False,
                after_lane=0, after_seq=0, after_id=None, starts_at=Now(),
            )  # fmt: skip
        routes.clear()
    return set(found)


def part() -> int:
    """Take one step of a move; returns how much it read, 0: no step is due.

    1. Wait for the end of transactions that may store jobs under the old configuration. A
       host's transaction may last for any time.
    2. Move the next available jobs, then the jobs that wait for a time or an activation.
    3. Store the progress. Another round looks for jobs whose rows were locked. If there were none,
       version key 0 is open to all workers from the next claim on.
    """
    now = clock.now()
    due = Apart.objects.filter(is_done=False, starts_at__lte=now)
    row = due.order_by("starts_at", "type").first()
    if row is None:
        return 0
    if row.waits_for is None:
        row.waits_for = queries.writers(None)
    elif row.waits_for:
        row.waits_for = queries.writers(row.waits_for)
    looked = 0
    if row.waits_for:
        row.starts_at = now + AGAIN
    else:
        looked = _later(row) if row.is_later else _available(row)
        if not looked:
            _next(row)
    _note(row)
    return max(looked, 1)


def _available(row: Apart) -> int:
    """Read the next jobs of the first lane of version key 0 that has some; lanes by id."""
    lanes = queries.undrawn_lanes([UNVERSIONED], lane=row.after_lane, limit=1)
    if not lanes:
        return 0
    if lanes[0] != row.after_lane:
        row.after_lane, row.after_seq = lanes[0], 0
    found = queries.undrawn(lanes[0], seq=row.after_seq, limit=BATCH)
    if not found:
        row.after_lane, row.after_seq = lanes[0] + 1, 0
        return 1
    row.after_seq = found[-1].at
    _move(row, found)
    return len(found)


def _later(row: Apart) -> int:
    found = queries.undrawn_later(row.after_lane, str(row.after_id or FIRST_ID), limit=BATCH)
    if found:
        row.after_lane, row.after_id = found[-1].at, UUID(found[-1].id)
        _move(row, found)
    return len(found)


def _move(row: Apart, found: Sequence[queries.Waiter]) -> None:
    wanted = {
        one.id: Reroute(one.lane_id, route)
        for one in found
        if one.route == UNVERSIONED and one.version is None and one.type == row.type
        for route in [_route(row, one.id)]
    }
    if wanted and len(reroute(wanted)) < len(wanted):
        row.has_missed = True


def _route(row: Apart, job_id: str) -> int:
    """Return the version key of a job; rules that the type has by now apply, too."""
    rules = routes.current().rules.get(row.type)
    target = None if rules is None else rules.assigned(job_id, None)
    try:
        return row.route if target is None else routes.route_of(row.type, None, target)
    except TooManyVersions:
        return row.route


def _next(row: Apart) -> None:
    row.after_lane, row.after_seq, row.after_id = 0, 0, None
    if not row.is_later:
        row.is_later = True
    elif row.has_missed:
        row.is_later, row.has_missed, row.starts_at = False, False, clock.now() + AGAIN
    else:
        row.is_done = True


def _note(row: Apart) -> None:
    """Store the progress, unless the move has been restarted meanwhile."""
    with atomic():
        if row.is_done:
            configuration.change()  # claims that left version key 0 out are planned again
        Apart.objects.filter(type=row.type, turn=row.turn).update(
            is_done=row.is_done, waits_for=row.waits_for, is_later=row.is_later,
            has_missed=row.has_missed, after_lane=row.after_lane, after_seq=row.after_seq,
            after_id=row.after_id, starts_at=row.starts_at,
        )  # fmt: skip
    if row.is_done:
        routes.clear()
