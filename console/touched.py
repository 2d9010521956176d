"""The jobs that a purge or a deletion would touch: by state, by tenant or queue, with examples."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from console import queries, walk
from console.filters import JobFilter
from jobs.domain.job import Job
from jobs.domain.states import CODES, State, state_of
from jobs.services.operate.queues import depths
from jobs.services.read.show import show_many

SHOWN: Final = 8  # tenants, or queues
EXAMPLES: Final = 5
Counts = Mapping[State, int]


@dataclass(frozen=True, slots=True)
class Column:
    """The jobs of one state; `oldest_at` and `newest_at` are creations among the read jobs."""

    state: State
    jobs: int
    oldest_at: datetime | None
    newest_at: datetime | None
    is_part: bool = False  # it has more jobs than were read


@dataclass(frozen=True, slots=True)
class Touched:
    """The jobs by state, with the part of each tenant or queue; `others` are not in `rows`."""

    dimension: str  # "Tenant" or "Queue"
    columns: Sequence[Column]
    rows: Sequence[tuple[str, Sequence[int]]]
    others: int
    examples: Sequence[Job]
    read: int = walk.SLICE

    @property
    def jobs(self) -> int:
        """Return the number of all jobs."""
        return sum(one.jobs for one in self.columns)


def of_queue(name: str, jobs: Counts) -> Touched:
    """Return the jobs of a queue in the states of `jobs`; a fixed number of statements."""
    found = queries.tenants_of_queue(name, SHOWN)
    parts: dict[str, dict[int, int]] = {}
    for one in found:
        parts.setdefault(one.tenant, {})[one.state] = one.jobs
    others = found[0].tenants - len(parts) if found else 0
    return _touched("Tenant", jobs, JobFilter(queue=name), parts, others)


def of_tenant(name: str, states: Iterable[State]) -> Touched:
    """Return the jobs of a tenant in these states; a fixed number of statements."""
    by_queue = depths(name)
    jobs = {one: sum(row.get(CODES[one], 0) for row in by_queue.values()) for one in states}
    sums = {queue: sum(row.get(CODES[one], 0) for one in jobs) for queue, row in by_queue.items()}
    most = sorted((queue for queue in sums if sums[queue]), key=lambda one: (-sums[one], one))
    parts = {queue: by_queue[queue] for queue in most[:SHOWN]}
    return _touched("Queue", jobs, JobFilter(tenant=name), parts, len(most) - len(parts))


def _touched(
    dimension: str,
    jobs: Counts,
    wanted: JobFilter,
    parts: Mapping[str, Mapping[int, int]],
    others: int,
) -> Touched:
    ids = {state: walk.first(wanted, state) for state in jobs}
    ages = queries.created({state.value: found for state, found in ids.items()})
    columns = [
        Column(one, jobs[one], oldest, newest, is_part=jobs[one] > len(ids[one]))
        for one in jobs
        for oldest, newest in (ages.get(one.value, (None, None)),)
    ]
    rows = [
        (name, [max(0, by_state.get(CODES[one], 0)) for one in jobs])
        for name, by_state in parts.items()
    ]
    return Touched(dimension, columns, rows, others, _examples(ids))


def _examples(ids: Mapping[State, Sequence[str]]) -> list[Job]:
    """Return one job of each state, and further ones while there is room."""
    firsts = [found[0] for found in ids.values() if found]
    more = [one for found in ids.values() for one in found[1:EXAMPLES]]
    return [job for job in show_many([*firsts, *more][:EXAMPLES]) if state_of(job.state) in ids]
