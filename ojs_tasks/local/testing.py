"""The jobs of a test in its database."""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, TypeAlias
from unittest.mock import patch

from jobs.domain.job import Job
from jobs.domain.states import state_of
from jobs.services.read.show import show
from jobs.worker import foreground
from ojs_tasks.exceptions import Discard, Retry
from ojs_tasks.local.reading import read
from ojs_tasks.local.server import LocalServer
from ojs_tasks.registry import discover, handled_queues, handlers
from ojs_tasks.server import Draft, Snapshot
from ojs_tasks.testing.records import Enqueued, Run, TooManyJobs, call_of
from ojs_tasks.versions import split_type

MOST: Final = 1000  # attempts of one enqueue with `run_now`
NESTED: Final = 50  # enqueues inside one another

Enqueue: TypeAlias = Callable[[LocalServer, Sequence[Draft]], list[Snapshot | None]]


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

    @contextmanager
    def run_now(self, *, raises: bool) -> Iterator[None]:
        """Run jobs at their enqueue within the context, whoever made the `LocalServer`."""
        discover()
        eager = self._eager(LocalServer.enqueue, raises=raises)
        with patch.object(LocalServer, "enqueue", eager):
            yield

    def _eager(self, enqueue: Enqueue, *, raises: bool) -> Enqueue:
        depth = 0

        def run_then_return(server: LocalServer, drafts: Sequence[Draft]) -> list[Snapshot | None]:
            nonlocal depth
            stored = enqueue(server, drafts)
            if depth == NESTED:
                raise TooManyJobs(f"{NESTED} jobs enqueue one another: {drafts[0]['type']}")
            depth += 1
            try:
                if queues := _queues_to_run(stored):
                    self.run_available(queues, raises=raises, most=MOST)
            finally:
                depth -= 1
            return [None if shown is None else read(shown.id) for shown in stored]

        return run_then_return


def _queues_to_run(stored: Sequence[Snapshot | None]) -> list[str]:
    """Return the queues of available jobs with a handler in this project."""
    types = {handler.type for handler in handlers()}
    return sorted(
        {
            shown.queue
            for shown in stored
            if shown is not None
            and shown.state == "available"
            and not types.isdisjoint({shown.type, split_type(shown.type)[0]})
        }
    )


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
