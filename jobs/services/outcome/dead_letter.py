"""List, count, retry and delete discarded jobs. Spec: contract 2.4, 3.6, 10.7, 28, D28."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial

from django.utils import timezone

from jobs import queries
from jobs.domain.errors import NotFound
from jobs.domain.job import Job
from jobs.domain.outcome.retention import Retention
from jobs.domain.states import CODES, State
from jobs.domain.wire.ids import is_id
from jobs.models import Replay
from jobs.services.audit.undo_log import in_step
from jobs.services.outcome.retain import defaults, retentions
from jobs.services.outcome.revive import Override, revive, revive_one
from jobs.services.read.find import DEAD, literal, pattern
from jobs.services.read.show import show, show_many

DISCARDED = CODES[State.DISCARDED]
MOST = 10_000  # counted per queue: retention keeps no more by default
LOOKED = 10_000  # of the latest jobs, counted by type and error
SLICE = 500  # jobs in one transaction of a bulk operation


@dataclass(frozen=True, slots=True)
class DeadLetterFilter:
    """A filter of discarded jobs, ended in [since, before); `is_all` includes unflagged jobs.

    `type` may end in `*`; `text` is searched in type and error message.
    """

    queue: str | None = None
    type: str | None = None
    error_type: str | None = None
    since: datetime | None = None
    before: datetime | None = None
    tenant: str | None = None
    text: str | None = None
    is_all: bool = False


def dead_letters(wanted: DeadLetterFilter, *, limit: int, offset: int) -> tuple[list[Job], int]:
    """List discarded jobs, newest first; returns a page and the total, counted up to MOST."""
    ids, total = _listed(wanted, limit=limit, offset=offset, most=MOST)
    return show_many(ids), total


def _listed(
    wanted: DeadLetterFilter, *, limit: int, offset: int, most: int
) -> tuple[list[str], int]:
    return queries.dead_letters(
        {
            "queue": wanted.queue,
            "kinds": [DEAD, DISCARDED] if wanted.is_all else [DEAD],
            "since": wanted.since,
            "before": wanted.before,
            "type": wanted.type and pattern(wanted.type),
            "error_type": wanted.error_type,
            "tenant": wanted.tenant,
            "text": wanted.text and f"%{literal(wanted.text)}%",
            "most": most,
            "offset": offset,
            "limit": limit,
        }
    )


def dead_letter(job_id: str) -> Job:
    """Return a job of the dead letter, flagged or not. Raises NotFound."""
    job = show(job_id)
    if job.state != DISCARDED:
        raise NotFound.of("job", job_id)
    return job


def retry(job_id: str, override: Override | None = None) -> Job:
    """Make a discarded job available again; attempts start anew, the history stays.

    Raises NotFound, or Conflict when it is not, or no longer, discarded.
    """
    return revive_one(job_id, {State.DISCARDED}, override)


def delete(job_id: str) -> None:
    """Remove a discarded job for good. Raises NotFound, also when it is in another state."""
    if not is_id(job_id) or not queries.remove([job_id], [DISCARDED]):
        raise NotFound.of("job", job_id)


@dataclass(slots=True)
class Swept:
    """The result of a bulk operation; `is_truncated`: more jobs matched than one call takes."""

    matched: int = 0
    succeeded: int = 0
    is_truncated: bool = False
    skipped: list[str] = field(default_factory=list)  # moved by another caller meanwhile


def retry_all(wanted: DeadLetterFilter) -> Swept:
    """Retry the jobs that match now, at most MOST, SLICE per transaction."""
    return _sweep(wanted, lambda ids: revive(show_many(ids), {State.DISCARDED}))


def delete_all(wanted: DeadLetterFilter) -> Swept:
    """Delete the jobs that match now for good, at most MOST, SLICE per transaction."""
    return _sweep(wanted, lambda ids: set(queries.remove(ids, [DISCARDED])))


def _sweep(wanted: DeadLetterFilter, change: Callable[[Sequence[str]], set[str]]) -> Swept:
    """Change the present matches; a job that dies again meanwhile ended later and is skipped."""
    bounded = wanted if wanted.before else replace(wanted, before=timezone.now())
    ids, _ = _listed(bounded, limit=MOST + 1, offset=0, most=MOST + 1)
    swept = Swept(is_truncated=len(ids) > MOST)
    ids = ids[:MOST]
    swept.matched = len(ids)
    for start in range(0, len(ids), SLICE):
        part = ids[start : start + SLICE]
        done = in_step(partial(change, part))
        swept.succeeded += len(done)
        swept.skipped += [job_id for job_id in part if job_id not in done]
    return swept


@dataclass(frozen=True, slots=True)
class DeadLetterStats:
    """The dead letter in numbers; `is_partial`: only the latest are counted.

    By queue this is at most MOST of each, where its retention keeps more.
    """

    total: int
    by_queue: dict[str, int]
    by_type: dict[str, int]
    by_error_type: dict[str, int]
    oldest_at: datetime | None
    newest_at: datetime | None
    is_partial: bool
    retention: Retention  # of queues that have none of their own
    retention_by_queue: dict[str, Retention]


def dead_letter_stats(tenant: str | None = None, *, looked: int = LOOKED) -> DeadLetterStats:
    """Count the dead letter, or a tenant's part of it; two statements.

    Only the latest `looked` jobs are counted by type and error.
    """
    groups = queries.dead_letter_stats(tenant, most=MOST, looked=looked)

    def counts(dimension: str) -> dict[str, int]:
        return {group.name: group.jobs for group in groups if group.dimension == dimension}

    queues = [group for group in groups if group.dimension == "queue"]
    kept = retentions([group.name for group in queues])
    is_cut = any(
        group.jobs >= MOST and (kept[group.name].dead_letter_jobs or MOST + 1) > MOST
        for group in queues
    )
    return DeadLetterStats(
        total=sum(group.jobs for group in queues),
        by_queue=counts("queue"),
        by_type=counts("type"),
        by_error_type=counts("error_type"),
        oldest_at=min((g.oldest_at for g in queues if g.oldest_at), default=None),
        newest_at=max((g.newest_at for g in queues if g.newest_at), default=None),
        is_partial=is_cut or counts("looked").get("", 0) >= looked,
        retention=defaults(),
        retention_by_queue=kept,
    )


def replays_of(ids: Sequence[str]) -> dict[str, Replay]:
    """Return the counts of jobs that were retried after their end."""
    return {str(row.job_id): row for row in Replay.objects.filter(job_id__in=ids)}
