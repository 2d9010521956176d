"""The jobs of a test in its database."""

import json
from collections.abc import Sequence
from typing import Any

from jobs.domain.job import Job
from jobs.domain.states import state_of
from jobs.services.read.show import show
from jobs.worker import foreground
from ojs_tasks.exceptions import Discard, Retry
from ojs_tasks.registry import discover, handled_queues
from ojs_tasks.testing.records import Enqueued, Run, TooManyJobs, call_of


class LocalBench:
    """The methods of `ojs_tasks.testing.bench.Bench`."""

    def run_available(self, queues: Sequence[str], *, raises: bool, most: int) -> list[Run]:
        """Run available jobs, and return every attempt. Raises TooManyJobs, and as handlers."""
        discover()
        runs: list[Run] = []
        while job := foreground.claim(queues or handled_queues()):
            if len(runs) == most:
                raise TooManyJobs(
                    f"{most} attempts ran and a job of type {job.type} is still available"
                )
            raised = foreground.run(job)
            runs.append(_run(show(job.id), job.attempt))
            if raises and raised and not isinstance(raised, Retry | Discard):
                raise raised
        return runs

    def make_due(self) -> int:
        """Make scheduled and retryable jobs due now; return how many there were."""
        return foreground.make_due()

    def enqueued(self) -> list[Enqueued]:
        """Return all jobs of the database, the oldest first."""
        return [_enqueued(job) for job in foreground.stored()]


def _run(job: Job, attempt: int) -> Run:
    errors: list[dict[str, Any]] = json.loads(job.errors or "[]")
    return Run(
        job.id,
        job.type,
        attempt,
        state_of(job.state),
        json.loads(job.result or "null"),
        next((error for error in errors if error.get("attempt") == attempt), None),
    )


def _enqueued(job: Job) -> Enqueued:
    args, kwargs = call_of(json.loads(job.args))
    state = state_of(job.state).value
    meta = json.loads(job.meta)
    return Enqueued(job.id, job.type, job.queue, state, args, kwargs, job.priority, meta)
