"""Wait for the result of a job, or return it at once. Spec: contract 24.6."""

from time import monotonic

from jobs.domain.job import Job
from jobs.domain.states import CODES, TERMINAL
from jobs.services.dispatch.waiting import slots
from jobs.services.read.show import show
from jobs.services.workers import draining

FIRST_LOOK_S, LAST_LOOK_S = 0.05, 0.5
ENDED = frozenset(CODES[state] for state in TERMINAL)


def job_or_wait(job: Job, wait_s: float) -> Job:
    """Return the job once it has ended, or in its present state after `wait_s`.

    A waiting request holds a server thread, so it needs one of the few slots of FETCH. Without a
    free slot the answer comes at once. Raises NotFound when the job is removed meanwhile.
    """
    if job.state in ENDED or wait_s <= 0 or not slots.acquire(blocking=False):
        return job
    try:
        return _wait(job, monotonic() + wait_s)
    finally:
        slots.release()


def _wait(job: Job, until: float) -> Job:
    look = FIRST_LOOK_S
    while job.state not in ENDED and (left := until - monotonic()) > 0:
        if draining.pause(min(look, left)):
            break
        look = min(look * 1.5, LAST_LOOK_S)
        job = show(job.id)
    return job
