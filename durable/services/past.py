"""What is known of a job's checkpoint at an earlier time. Spec: contract 34.2.

Each save replaces the state before. So only the steps of the present checkpoint are known, by the
times in their records: a step that was retried from, or whose run has ended, leaves nothing.
"""

from datetime import datetime

from durable.domain.steps import StoredStep, steps_of
from durable.models import Checkpoint
from jobs.domain.job import Job
from jobs.domain.wire import jsonio
from jobs.extensions.checkpoints import PastCheckpoint, PastStep

BEGUN = "begun"  # a step that had begun, and whose present record is later


def checkpoint_at(job: Job, at: datetime) -> PastCheckpoint | None:
    """Return the checkpoint at a time, with its state if no later save has replaced it."""
    row = Checkpoint.objects.filter(job_id=job.id).first()
    if row is None:
        return None
    state = jsonio.loads(row.state.encode())
    begun = (one for one in steps_of(state) if one.since is not None and one.since <= at)
    steps = tuple(_step(one, at) for one in begun)
    if row.created_at > at:
        return PastCheckpoint(None, None, is_exact=False, steps=steps) if steps else None
    return PastCheckpoint(row.sequence, row.created_at, is_exact=True, state=row.state, steps=steps)


def _step(one: StoredStep, at: datetime) -> PastStep:
    is_present = one.at is not None and one.at <= at
    return PastStep(one.name, one.state if is_present else BEGUN, one.since)
