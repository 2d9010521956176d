"""Redraw waiting jobs after a change of their type's rules: the body of the loop `redraw`.

New jobs are drawn when they are stored. Waiting jobs are moved to the lanes of their new version
keys in steps, outside of the request that changed the rules. Available jobs come first, then jobs
that wait for a time. A second turn follows later, for jobs that were stored under the old rules
during the first. Active jobs keep their draw. Spec: contract 22.4.
"""

from collections.abc import Sequence
from datetime import timedelta
from typing import Final
from uuid import UUID

import orjson

from jobs.database import atomic
from jobs.domain.wire.version import parse_version, split_type
from jobs.services.lanes.reroute import Reroute, reroute
from jobs.services.read import clock
from versioning import queries
from versioning.domain.canary import Rules
from versioning.domain.declaration import UNVERSIONED
from versioning.domain.errors import TooManyVersions
from versioning.models import Redrawing
from versioning.services import canaries, parting, routes
from versioning.services.routing import UNROUTED

BATCH: Final = 500  # jobs at a time: their rows are locked meanwhile
LANES: Final = 1
LATER: Final = 2  # the stage after UNROUTED and ROUTED
FIRST_ID: Final = str(UUID(int=0))
TABLES: Final = ("ojs_version_redrawing", "ojs_version_apart")
AGAIN_S: Final = 30  # until the second turn


def redraw() -> int:
    """Take one step of a redrawing, or else of a split; returns how much it read."""
    return _redraw() or parting.part()


def _redraw() -> int:
    """Take one step; returns how much it read, 0: no step is due.

    1. Find a type to redraw, and its rules; changed rules have begun another redrawing. At the
       beginning, count the attempts that have ended.
    2. Read the next jobs of the stage, and move jobs whose version key has changed.
    3. Store the progress; the next stage follows, then the second turn, then the row is deleted.
    """
    now = clock.now()
    row = Redrawing.objects.filter(starts_at__lte=now).order_by("starts_at", "type").first()
    if row is None:
        return 0
    cached = routes.latest()
    rules = cached.rules.get(row.type)
    if rules is None or rules.revision != row.revision:
        return 0
    if row.turn == row.after_lane == row.after_seq == 0 and row.stage == row.first_stage:
        # outcomes are joined with the lanes of their jobs: count outcomes of the old rules first
        while canaries.count(cached).has_more:
            pass
    looked = _later(row, rules) if row.stage == LATER else _available(row, rules, cached)
    if not looked:
        _next_stage(row)
    _note(row)
    return max(looked, 1)


def _available(row: Redrawing, rules: Rules, cached: routes.Routes) -> int:
    """Read the next jobs of the first lane that has some; lanes by id."""
    of_type = [route for route, key in cached.by_id.items() if key.type == row.type]
    wanted = [UNVERSIONED] if row.stage == UNROUTED else of_type
    lanes = queries.undrawn_lanes(wanted, lane=row.after_lane, limit=LANES)
    if not lanes:
        return 0
    if lanes[0] != row.after_lane:
        row.after_lane, row.after_seq = lanes[0], 0
    found = queries.undrawn(lanes[0], seq=row.after_seq, limit=BATCH)
    # newer jobs were drawn by these rules
    older = [one for one in found if one.enqueued_at and one.enqueued_at <= row.starts_at]
    if not older:
        row.after_lane, row.after_seq = lanes[0] + 1, 0
        return 1
    row.after_seq = found[-1].at
    _move(row.type, rules, older)
    return len(found)


def _later(row: Redrawing, rules: Rules) -> int:
    found = queries.undrawn_later(row.after_lane, str(row.after_id or FIRST_ID), limit=BATCH)
    if found:
        row.after_lane, row.after_id = found[-1].at, UUID(found[-1].id)
        _move(row.type, rules, found)
    return len(found)


def _move(job_type: str, rules: Rules, found: Sequence[queries.Waiter]) -> None:
    wanted: dict[str, Reroute] = {}
    for one in found:
        if split_type(one.type)[0] == job_type:
            route = _route(job_type, rules, one)
            if route != one.route:
                wanted[one.id] = Reroute(one.lane_id, route)
    if wanted:
        reroute(wanted)


def _route(job_type: str, rules: Rules, job: queries.Waiter) -> int:
    own = None if job.version is None else parse_version(orjson.loads(job.version))
    try:
        return routes.route_of(job_type, own, rules.assigned(job.id, own))
    except TooManyVersions:
        return job.route


def _next_stage(row: Redrawing) -> None:
    row.after_lane, row.after_seq, row.after_id = 0, 0, None
    if row.stage < LATER:
        row.stage += 1
    else:
        row.stage, row.turn = row.first_stage, row.turn + 1
        row.starts_at += timedelta(seconds=AGAIN_S)


def _note(row: Redrawing) -> None:
    """Store the progress, unless the rules have changed meanwhile."""
    with atomic():
        same = Redrawing.objects.filter(type=row.type, revision=row.revision)
        if row.turn > 1:
            same.delete()
            return
        same.update(
            stage=row.stage, turn=row.turn, after_lane=row.after_lane, after_seq=row.after_seq,
            after_id=row.after_id, starts_at=row.starts_at,
        )  # fmt: skip
