"""Read recent runs and waiting jobs: enqueue time, duration and worker."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from jobs import queries
from jobs.domain.dispatch.claim import LaneKey
from jobs.models import LaneKey as Row
from jobs.models import Ready
from jobs.services.record.events import LEEWAY

PAGE: Final = 5_000
NEWEST: Final = (str(2**64 - 1), 2**63 - 1)  # behind any position
CHUNK: Final = 1_000


@dataclass(frozen=True, slots=True)
class PastRun:
    """One attempt: null `started_at`: it waits; null `ended_at`: it runs, or waits."""

    lane: LaneKey
    arrived_at: datetime
    started_at: datetime | None
    ended_at: datetime | None
    worker_id: str | None


def runs_since(since: datetime, most: int) -> tuple[list[PastRun], bool]:
    """Return runs since a time and waiting jobs, and whether there were more than `most`.

    Of more rows the latest are returned, in no order. It reads pages of the record and of waiting
    jobs, one statement per page.
    """
    found, is_cut = _started(since, most)
    waiting = _waiting(most - len(found) + 1)
    is_cut = is_cut or len(found) + len(waiting) > most
    keys = _lanes({lane_id for _, lane_id in [*found, *waiting] if lane_id is not None})
    return [_placed(run, lane_id, keys) for run, lane_id in [*found, *waiting]][:most], is_cut


def _started(since: datetime, most: int) -> tuple[list[tuple[PastRun, int | None]], bool]:
    lowest = queries.stamp_at(since - LEEWAY)
    found: list[tuple[PastRun, int | None]] = []
    ends: dict[str, datetime] = {}  # of jobs whose start is still to come, since pages go backwards
    before = NEWEST
    while page := queries.runs(lowest, before, PAGE):
        for row in page:
            if row.job_id is not None and row.ends:
                ends[row.job_id] = row.at
            if row.job_id is not None and row.starts:
                ended_at = ends.pop(row.job_id, None)
                if row.at >= since:
                    found.append((_past(row, ended_at), row.lane_id))
        if len(found) > most:
            return found[:most], True
        before = (page[-1].stamp, page[-1].seq)
    return found, False


def _past(row: queries.Run, ended_at: datetime | None) -> PastRun:
    lane = LaneKey(row.queue or "", 0, row.tenant or "")
    arrived_at = row.at - timedelta(milliseconds=row.took_ms or 0)
    return PastRun(lane, arrived_at, row.at, ended_at, row.worker_id)


def _waiting(most: int) -> list[tuple[PastRun, int | None]]:
    rows = Ready.objects.order_by("lane_id", "seq").values_list("lane_id", "enqueued_at")[:most]
    nowhere = LaneKey("", 0, "")
    return [(PastRun(nowhere, at, None, None, None), lane_id) for lane_id, at in rows]


def _lanes(ids: Iterable[int]) -> dict[int, LaneKey]:
    rest = sorted(ids)
    found: dict[int, LaneKey] = {}
    while rest:
        for row in Row.objects.filter(id__in=rest[:CHUNK]):
            found[row.id] = LaneKey(
                row.queue, row.priority, row.tenant, row.route, tuple(row.limits)
            )
        rest = rest[CHUNK:]
    return found


def _placed(run: PastRun, lane_id: int | None, keys: dict[int, LaneKey]) -> PastRun:
    """Give a run its lane; a removed job counts as priority 0."""
    lane = run.lane if lane_id is None else keys.get(lane_id, run.lane)
    return PastRun(lane, run.arrived_at, run.started_at, run.ended_at, run.worker_id)
