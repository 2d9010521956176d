"""End jobs on request. Spec: core CANCEL, contract 2.7, D11, D12."""

from collections.abc import Sequence

from jobs import extensions, queries
from jobs.database import atomic
from jobs.domain.errors import Conflict, NotFound
from jobs.domain.job import Job
from jobs.domain.outcome.transition import Transition
from jobs.domain.states import CODES, State, state_of
from jobs.domain.wire.ids import is_id
from jobs.extensions import TransitionHooks, children
from jobs.repeat import repeated
from jobs.services.outcome.follow import follow
from jobs.services.read.show import show

TRIES = 20  # a job may move between two reads; each read is one statement


def cancel(job_id: str, actor: str = "api", reason: str | None = None) -> tuple[Job, State]:
    """Cancel a job in any live state; returns it and the state it left.

    Raises NotFound, or Conflict when it has ended.
    """
    if not is_id(job_id):
        raise NotFound.of("job", job_id)
    for _ in range(TRIES):
        ended = queries.cancel([job_id], actor, reason, watched=False)
        job = queries.jobs([job_id]).get(job_id)
        if job is None:
            raise NotFound.of("job", job_id)
        if job.watched and job.finished_at is None:
            ended = _cancel_watched([job_id], actor, reason)
            job = show(job_id)
        if ended:
            return job, state_of(ended[0].previous)
        if job.finished_at is not None:
            current = state_of(job.state).value
            raise Conflict(
                f"job is {current} and cannot be cancelled",
                details={"job_id": job_id, "current_state": current},
            )
    raise Conflict("job keeps moving, try again", details={"job_id": job_id})


def end(
    ids: Sequence[str], actor: str, reason: str | None = None, *, active: bool = True
) -> list[queries.Ended]:
    """Cancel waiting jobs of `ids` and, if `active`, running ones; jobs that move are left out.

    It takes one statement, and one more transaction if the remaining jobs may be watched.
    """
    ended = queries.cancel(ids, actor, reason, watched=False, active=active)
    left = sorted(set(ids) - {row.id for row in ended})
    if left and extensions.implementers(TransitionHooks.observe):
        ended += _cancel_watched(left, actor, reason, active=active)
    return ended


def _cancel_watched(
    ids: Sequence[str], actor: str, reason: str | None, *, active: bool = True
) -> list[queries.Ended]:
    return repeated(lambda: _cancel_and_follow(ids, actor, reason, active=active))


def _cancel_and_follow(
    ids: Sequence[str], actor: str, reason: str | None, *, active: bool
) -> list[queries.Ended]:
    with atomic():
        ended = queries.cancel(ids, actor, reason, watched=True, active=active)
        follow(_transitions(ended))
    return ended


def _transitions(ended: Sequence[queries.Ended]) -> list[Transition]:
    return [
        Transition(row.id, row.queue, row.type, row.tenant, row.previous,
                   CODES[State.CANCELLED], row.attempt, may_have_checkpoint=row.has_checkpoint)
        for row in ended
    ]  # fmt: skip


def cancel_waiting(ids: Sequence[str], actor: str, reason: str | None) -> list[str]:
    """Cancel waiting jobs of `ids` in the caller's transaction; returns their ids.

    For extensions that cancel their own watched jobs, and follow up on them. Other extensions learn
    of it only if steps of the jobs started other work.
    """
    cancelled: list[str] = []
    waiting = list(ids)
    for _ in range(TRIES):  # a job that moved to another waiting state is found next time
        if not waiting:
            return cancelled
        ended = queries.cancel(waiting, actor, reason, watched=True, active=False)
        children.cancelled([one for one in _transitions(ended) if one.may_have_checkpoint])
        cancelled += [row.id for row in ended]
        waiting = queries.waiting(waiting)
    raise Conflict("the jobs keep moving, try again", details={"job_ids": waiting[:10]})
