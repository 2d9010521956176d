"""Help for the tests of projects that use `@job`: run enqueued jobs in the test itself.

    def test_signup_sends_a_mail(db):
        client.post("/signup", …)

        (run,) = run_available()

        assert (run.type, run.state) == ("mail.send", State.COMPLETED)
        assert len(mail.outbox) == 1

Jobs are processed as in production: they are claimed, run by their handlers with the configured
middleware, and acknowledged or failed by their retry policies. It works inside a test's
transaction, which a worker could not see. Only timeouts are not enforced.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import orjson
from django.db import connections
from django.db.models.functions import Now
from psycopg.pq import TransactionStatus

from jobs import queries
from jobs.domain.dispatch.claim import FetchRequest
from jobs.domain.job import Job
from jobs.domain.states import State, state_of
from jobs.models import Later
from jobs.services.dispatch.fetch import fetch, low_water_marks
from jobs.services.outcome.ack import Ack, ack
from jobs.services.outcome.nack import Nack, nack
from jobs.services.outcome.promote import promote
from jobs.services.read.show import show
from jobs.worker.declaration import declaration
from jobs.worker.execution import EXECUTION
from jobs.worker.reports import Reports
from ojs_tasks.context import Context
from ojs_tasks.exceptions import Discard, Retry
from ojs_tasks.registry import discover, handled_queues

WORKER = "tests"
MOST = 1000


class TooManyJobs(AssertionError):
    """Jobs enqueue jobs without end."""


@dataclass(frozen=True, slots=True)
class Run:
    """One attempt that ended; `state` is the job's now, `error` null when it succeeded."""

    id: str
    type: str
    attempt: int
    state: State
    result: Any
    error: dict[str, Any] | None


def run_available(
    queues: Sequence[str] = (), *, raises: bool = True, most: int = MOST
) -> list[Run]:
    """Run available jobs, and the jobs they enqueue, until none is left; returns every attempt.

    `queues`: if empty, the queues of the handlers. `raises`: re-raise a handler's exception, after
    its attempt was failed, except Retry and Discard; with False look at `Run.error`. Raises
    TooManyJobs above `most` attempts.
    """
    discover()
    runs: list[Run] = []
    while job := _claim(tuple(queues) or handled_queues()):
        if len(runs) == most:
            raise TooManyJobs(
                f"{most} attempts ran and a job of type {job.type} is still available"
            )
        context = Context(job, WORKER, reporter=Reports())
        _answer(_execute(context))
        runs.append(_run(show(job.id), job.attempt))
        if raises and context.raised and not isinstance(context.raised, Retry | Discard):
            raise context.raised
    return runs


def make_due() -> int:
    """Make scheduled and retryable jobs due now; returns how many there were."""
    Later.objects.filter(due_at__isnull=False).update(due_at=Now())
    return promote()


def _claim(queues: tuple[str, ...]) -> Job | None:
    low_water_marks.clear()  # marks may come from a transaction that was rolled back
    # jobs of the test's transaction are offered at its commit, which never comes
    queries.wake([lane for lane, _ in queries.asleep()])
    claimed = fetch(FetchRequest(queues, worker_id=WORKER, declaration=declaration())).jobs
    return claimed[0] if claimed else None


def _execute(context: Context) -> Ack | Nack:
    # In production a handler's statement fails alone; here it would spoil the test's transactions
    with ExitStack() as stack:
        for one in connections.all(initialized_only=True):
            if one.in_atomic_block and one.vendor == "postgresql":
                stack.enter_context(_unspoiled(one))
        return EXECUTION.execute(context)


@contextmanager
def _unspoiled(of: Any) -> Iterator[None]:
    """Undo the block if a statement of it failed. `of` is a connection within a transaction."""
    before = of.savepoint()
    yield
    if of.needs_rollback or of.connection.info.transaction_status == TransactionStatus.INERROR:
        of.needs_rollback = False
        of.savepoint_rollback(before)
    else:
        of.savepoint_commit(before)


def _answer(outcome: Ack | Nack) -> None:
    """Send the outcome; a refusal is ignored, as when the handler cancelled its own job."""
    if isinstance(outcome, Ack):
        ack([outcome])
    else:
        nack([outcome])


def _run(job: Job, attempt: int) -> Run:
    errors = orjson.loads(job.errors or "[]")
    return Run(
        job.id,
        job.type,
        attempt,
        state_of(job.state),
        orjson.loads(job.result or "null"),
        next((error for error in errors if error.get("attempt") == attempt), None),
    )
