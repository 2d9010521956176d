"""The steps of a job for operators, and "retry from step". Spec: contract 34.2."""

from typing import Final

from durable import queries
from durable.domain.steps import StoredStep, cut, steps_of
from durable.models import Checkpoint, Wait
from durable.services import checkpoints
from jobs.domain.access.caller import Caller
from jobs.domain.errors import NotFound
from jobs.domain.job import Job
from jobs.domain.outcome.bulk import Verb
from jobs.domain.states import State, state_of
from jobs.domain.wire import jsonio
from jobs.services.audit.audit import audited
from jobs.services.operate import bulk
from jobs.services.outcome.revive import refusal, revive_one
from jobs.services.outcome.suspend import promote_woken, wake
from jobs.services.read.show import show

# states with a checkpoint that no attempt is about to replace
RETRIED: Final = frozenset({State.AVAILABLE, State.SCHEDULED, State.RETRYABLE, State.DISCARDED})


def stored_steps(job: Job) -> list[StoredStep]:
    """Return the steps that a job has stored; no statement for a job without a checkpoint."""
    if not job.is_checkpointed:
        return []
    row = Checkpoint.objects.filter(job_id=job.id).values_list("state", flat=True).first()
    return [] if row is None else steps_of(jsonio.loads(row.encode()))


def retry_from(job_id: str, step: str, caller: Caller) -> tuple[Job, list[str]]:
    """Delete the results of a step and the later ones, and run the job now. It is audited.

    Returns the job and the names of the deleted steps. Raises NotFound, and Conflict for a job
    that runs or has ended outside of the dead letter.
    Locks: the job's row; its row in the queue or among the waiting jobs, so that no claim comes
    between.
    """
    with audited(caller, "job.retried_from_step", job_id) as data:
        if queries.lock(job_id) is None:
            raise NotFound.of("job", job_id)
        queries.hold(job_id)
        state = state_of(show(job_id).state)
        if state not in RETRIED:
            raise refusal(job_id, "retried from a step", RETRIED)
        found = checkpoints.read(job_id)
        rest, deleted = cut(jsonio.loads(found.state.encode()), step)
        checkpoints.replace_state(job_id, jsonio.dumps(rest).decode(), found.sequence)
        Wait.objects.filter(job_id=job_id).delete()
        _run_now(job_id, state, caller)
        data.update(step=step, deleted=len(deleted))
    promote_woken()
    return show(job_id), deleted


def _run_now(job_id: str, state: State, caller: Caller) -> None:
    if state is State.SCHEDULED:
        wake(job_id)
    elif state is State.RETRYABLE:
        bulk.act_on(Verb.RETRY, [job_id], caller.name, {State.RETRYABLE})
    elif state is State.DISCARDED:
        revive_one(job_id, {State.DISCARDED})
