"""Take the jobs of a tenant out of one cell and store them in another, in numbered batches.

A batch takes two transactions. The first moves its jobs from the tables of jobs to the list of the
old cell. The second stores them in the new cell. So a job can start in at most one cell at any
time, whatever the states of its tenant are. The new cell stores the number of its last batch in the
transaction of the batch, and ignores a batch that it has stored. The list keeps a batch until the
new cell has it.

Locks of both transactions: the row of the move, then the locks of the statements.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final
from uuid import UUID

from django.db import IntegrityError

from jobs import queries
from jobs.database import atomic
from jobs.domain.dispatch.claim import LaneKey
from jobs.domain.enqueue.draft import JobDraft
from jobs.domain.errors import Conflict
from jobs.domain.lanes.limits import OF_KEY, LimitPolicy
from jobs.extensions import EnqueueHooks, MoveHooks, implementers
from jobs.models import Job, Move, MovingJob
from jobs.queries import LimitKey
from jobs.repeat import repeated
from jobs.services.lanes import configuration, lanes, limits

SIZE: Final = 500  # jobs of a batch
MOST_BYTES: Final = 8 * 1024 * 1024  # of their arguments


def locked(tenant: str, move_id: UUID) -> Move:
    """Lock the row of a move in this cell until the caller's transaction ends. Raises Conflict."""
    found = Move.objects.select_for_update().filter(tenant=tenant, move_id=move_id).first()
    if found is None:
        raise Conflict(
            f"the move of tenant {tenant} is not known in this cell: it was given up, or another"
            " move has begun"
        )
    return found


def pack(tenant: str, move_id: UUID) -> int:
    """Take the next batch out of the old cell; returns its number, 0: no job is left.

    If the new cell may lack the last batch, this returns the last batch again.
    """
    return repeated(lambda: _packed(tenant, move_id))


def _packed(tenant: str, move_id: UUID) -> int:
    with atomic():
        move = locked(tenant, move_id)
        first = MovingJob.objects.filter(tenant=tenant).order_by("n").first()
        if first is not None and first.batch is not None:  # packed jobs are the first of the list
            return move.batch
        jobs = _next_jobs(tenant, move.batch + 1)
        if not jobs:
            return 0
        move.batch += 1
        _require_movable(tenant, move.batch)
        move.jobs = summed(move.jobs, jobs)
        move.save(update_fields=["batch", "jobs"])
        return move.batch


def _require_movable(tenant: str, batch: int) -> None:
    if checking := implementers(MoveHooks.require_movable):
        ids = [job.job_id for job in read(tenant, batch)]
        for extension in checking:
            extension.require_movable(ids)


def _next_jobs(tenant: str, batch: int) -> dict[str, int]:
    """Pack the next jobs of the list; if it has none, list the jobs that the tenant has now."""
    if not MovingJob.objects.filter(tenant=tenant).exists():
        queries.moving_list(tenant)
    read = 1
    jobs: dict[str, int] = {}
    while read and not jobs:  # each turn takes jobs off the list
        jobs, read = queries.moving_pack(tenant, batch, size=SIZE, most_bytes=MOST_BYTES)
    return jobs


def read(tenant: str, batch: int) -> list[queries.MovingJob]:
    """Return the jobs of a batch, in the old cell."""
    return queries.moving_batch(tenant, batch, SIZE)


def store(tenant: str, move_id: UUID, batch: int, jobs: Sequence[queries.MovingJob]) -> None:
    """Store a batch in the new cell, unless it has been stored.

    Raises Conflict for the id of a job that is in use there.
    """
    repeated(lambda: _store(tenant, move_id, batch, jobs))


def _store(tenant: str, move_id: UUID, batch: int, jobs: Sequence[queries.MovingJob]) -> None:
    with atomic():
        move = locked(tenant, move_id)
        if batch <= move.batch:
            return
        keys = _keys(tenant, jobs)
        queries.make_queues(sorted({job.queue for job in jobs}))

        def run(lane_ids: Mapping[LaneKey, int]) -> dict[str, int]:
            return queries.moving_store([lane_ids[key] for key in keys], [j.image for j in jobs])

        try:
            with atomic():
                stored = lanes.placed(keys, run)
        except IntegrityError as problem:
            raise _in_use(jobs) or problem from problem
        if nulls := [job.job_id for job in jobs if job.has_null_result]:
            queries.moving_null_results(nulls)
        move.batch = batch
        move.jobs = summed(move.jobs, stored)
        move.save(update_fields=["batch", "jobs"])


def forget(tenant: str, move_id: UUID, jobs: Sequence[queries.MovingJob]) -> None:
    """Forget the jobs of a batch in the old cell: the new cell has them."""

    def run() -> None:
        with atomic():
            locked(tenant, move_id)
            packed = MovingJob.objects.filter(tenant=tenant, batch__isnull=False)
            packed.filter(n__lte=jobs[-1].n).delete()

    repeated(run)


def live(tenant: str) -> list[queries.Live]:
    """Count the live jobs of a tenant in this cell by state."""
    return queries.moving_live(tenant)


def active(tenant: str) -> int:
    """Count the active jobs of a tenant in this cell."""
    return queries.moving_active(tenant)


def open_transactions() -> dict[str, int]:
    """Return the open transactions of other clients of this cell with their sessions."""
    return queries.moving_open()


def summed(first: Mapping[str, int], second: Mapping[str, int]) -> dict[str, int]:
    """Add numbers by state."""
    return {key: first.get(key, 0) + second.get(key, 0) for key in sorted({*first, *second})}


def _keys(tenant: str, jobs: Sequence[queries.MovingJob]) -> list[LaneKey]:
    """Return the lanes of jobs in this cell, by its own version rules and limits of types."""
    drafts = [_draft(tenant, job) for job in jobs]
    config = configuration.of_queues({draft.queue for draft in drafts})
    for extension in implementers(EnqueueHooks.assign_version_keys):
        extension.assign_version_keys(drafts, config.version)
    named = [_named(job) for job in jobs]
    ids = limits.resolve({key: policy for one in named for key, policy in one.items()})
    return [
        LaneKey(
            draft.queue, draft.priority, tenant, draft.route,
            _limits([ids[key] for key in of_job], config.types.get(draft.type)),
        )
        for draft, of_job in zip(drafts, named, strict=True)
    ]  # fmt: skip


def _draft(tenant: str, job: queries.MovingJob) -> JobDraft:
    """Return the members of a job that decide its version key."""
    version = None if job.version is None else json.loads(job.version)
    return JobDraft(
        job.job_id, job.type, job.queue, [], {}, priority=job.priority, tenant=tenant,
        version=version,
    )  # fmt: skip


def _limits(own: Iterable[int], of_type: int | None) -> tuple[int, ...]:
    return tuple(sorted({*own} if of_type is None else {*own, of_type}))


def _named(job: queries.MovingJob) -> dict[LimitKey, LimitPolicy]:
    """Return the limits that a job names."""
    found: list[dict[str, Any]] = json.loads(job.limits or "null") or []
    return {
        LimitKey(OF_KEY, one["tenant"], one["key"]): LimitPolicy.from_row(one["policy"] or {})
        for one in found
    }


def _in_use(jobs: Sequence[queries.MovingJob]) -> Conflict | None:
    used = Job.objects.filter(id__in=[job.job_id for job in jobs]).values_list("id", flat=True)
    if not used:
        return None
    return Conflict(
        f"the new cell has another job with id {used[0]}: remove that job there, then run the"
        " command again",
        details={"existing_job_id": str(used[0])},
    )
