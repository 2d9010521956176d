"""Move the waiting jobs of one queue to another. Spec: contract 10.4, DELETE with `move`.

Jobs are moved in steps, each one statement: a job is in one queue or in the other at any moment. A
repeated step finds no job left to move.
"""

from collections.abc import Mapping, Sequence

from jobs import queries
from jobs.domain.dispatch.claim import LaneKey
from jobs.domain.outcome.bulk import JobFilter
from jobs.domain.states import CODES, WAITING, State
from jobs.models import Job as Row
from jobs.models import LaneKey as Lane
from jobs.services.audit.undo_log import in_step
from jobs.services.lanes import lanes
from jobs.services.operate import bulk

# available jobs first: a worker could get them
SOURCES = [(state, CODES[state]) for state in sorted(WAITING, key=lambda s: s != State.AVAILABLE)]


def move_waiting(name: str, target: str, *, most: int) -> int:
    """Move waiting jobs of a queue to the end of another, at most `most`; returns how many.

    Bounds of the target do not apply: these jobs were accepted already.
    """

    def act(ids: Sequence[str], _found: State) -> set[str]:
        return in_step(lambda: _move(ids, name, target))

    return len(bulk.walk(SOURCES, act, JobFilter(queue=name), most=most).done)


def _move(ids: Sequence[str], name: str, target: str) -> set[str]:
    placed = {
        str(job_id): lane
        for job_id, lane in Row.objects.filter(id__in=ids, queue=name).values_list("id", "lane_id")
    }
    keys = {
        row.id: LaneKey(target, row.priority, row.tenant, row.route, tuple(row.limits))
        for row in Lane.objects.filter(id__in=set(placed.values()))
    }

    def run(made: Mapping[LaneKey, int]) -> set[str]:
        given = [
            {"n": n, "id": i, "lane": placed[i], "target": made[keys[placed[i]]]}
            for n, i in enumerate(ids)
            if placed.get(i) in keys
        ]
        return queries.move(given, name, target)

    return lanes.placed(keys.values(), run) if keys else set()
