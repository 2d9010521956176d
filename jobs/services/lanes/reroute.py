"""Give waiting jobs other version keys: the part of a lane that extensions decide.

See docs/adr/0015.
"""

from collections.abc import Mapping
from typing import NamedTuple

from jobs import queries
from jobs.domain.dispatch.claim import LaneKey
from jobs.models import LaneKey as Row
from jobs.services.lanes import lanes


class Reroute(NamedTuple):
    """The lane that a job was seen in, and the version key that it gets."""

    lane_id: int
    route: int


def reroute(wanted: Mapping[str, Reroute]) -> set[str]:
    """Move waiting jobs to the lanes of other version keys; returns the ids of moved jobs.

    The jobs go to the end of their lanes, in the order of `wanted`. It takes one statement, and
    more for new lanes. A job that has left its lane meanwhile is not moved.
    """
    rows = Row.objects.filter(id__in={one.lane_id for one in wanted.values()})
    lane_rows = {row.id: row for row in rows}
    targets = {
        job_id: _key(lane_rows[one.lane_id], one.route)
        for job_id, one in wanted.items()
        if one.lane_id in lane_rows
    }

    def run(made: Mapping[LaneKey, int]) -> set[str]:
        return queries.reroute(
            [
                {"n": n, "id": job_id, "lane": wanted[job_id].lane_id, "target": made[key]}
                for n, (job_id, key) in enumerate(targets.items())
            ]
        )

    return lanes.placed(targets.values(), run) if targets else set()


def _key(row: Row, route: int) -> LaneKey:
    return LaneKey(row.queue, row.priority, row.tenant, route, tuple(row.limits))
