"""Preview an operation on many jobs: which jobs it would change, before it changes any."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from jobs import queries
from jobs.domain.job import Job
from jobs.domain.outcome.bulk import ALLOWED, JobFilter, Verb
from jobs.domain.states import State, state_of
from jobs.domain.wire.ids import is_id
from jobs.services.operate import bulk
from jobs.services.read.show import show_many

EXAMPLES: Final = 5


@dataclass(frozen=True, slots=True)
class Preview:
    """The jobs that an operation would change; `is_truncated`: there may be more."""

    jobs: int
    by_state: Mapping[State, int]
    by_tenant: Mapping[str, int]
    oldest_at: datetime | None
    newest_at: datetime | None
    examples: Sequence[Job]
    is_truncated: bool = False


def of_filter(verb: Verb, wanted: JobFilter, *, most: int) -> Preview:
    """Preview `verb` on the jobs that match, at most `most`."""
    states: Counter[State] = Counter()

    def count(ids: Sequence[str], state: State) -> set[str]:
        states[state] += len(ids)
        return set(ids)

    report = bulk.walk(bulk.sources(verb, wanted), count, wanted, most=most)
    return _preview(report.done, states, is_truncated=report.is_truncated)


def of_ids(
    verb: Verb, ids: Sequence[str], *, tenant: str | None, states: Collection[State] | None = None
) -> Preview:
    """Preview `verb` on these jobs; jobs of other tenants than `tenant` are left out."""
    taken = ALLOWED[verb] if states is None else states
    found = [
        job
        for job in show_many([one for one in dict.fromkeys(ids) if is_id(one)])
        if state_of(job.state) in taken and tenant in {None, job.tenant}
    ]
    return _preview([job.id for job in found], Counter(state_of(job.state) for job in found))


def _preview(
    ids: Sequence[str], states: Mapping[State, int], *, is_truncated: bool = False
) -> Preview:
    tenants = queries.touched(ids)
    return Preview(
        jobs=len(ids),
        by_state=dict(states),
        by_tenant={one.tenant: one.jobs for one in tenants},
        oldest_at=min((one.oldest_at for one in tenants), default=None),
        newest_at=max((one.newest_at for one in tenants), default=None),
        examples=show_many(ids[:EXAMPLES]),
        is_truncated=is_truncated,
    )


def ages(ids: Sequence[str]) -> tuple[datetime, datetime] | None:
    """Return when the oldest and the newest of these jobs were created."""
    found = queries.touched(ids)
    if not found:
        return None
    return min(one.oldest_at for one in found), max(one.newest_at for one in found)
