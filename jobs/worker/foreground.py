"""Claim and run jobs in this thread and this transaction, for the tests of projects.

Jobs are processed as in production: they are claimed, run by their handlers with the configured
middleware, and acknowledged or failed by their retry policies. It works inside a test's
transaction, which a worker could not see. Only timeouts are not enforced.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from django.db import connections
from django.db.models.functions import Now
from psycopg.pq import TransactionStatus

from jobs import queries
from jobs.domain.dispatch.claim import FetchRequest
from jobs.domain.job import Job
from jobs.extensions import checkpoints
from jobs.models import Job as Row
from jobs.models import Later
from jobs.services.dispatch.fetch import fetch, low_water_marks
from jobs.services.outcome.ack import Ack, ack
from jobs.services.outcome.nack import Nack, nack
from jobs.services.outcome.promote import promote
from jobs.services.read.show import show_many
from jobs.worker.declaration import declaration
from jobs.worker.execution import EXECUTION
from jobs.worker.reports import Reports
from ojs_tasks.context import Context
from ojs_tasks.worker.ports import Outcome

WORKER = "tests"


def claim(queues: Sequence[str]) -> Job | None:
    """Claim a job of these queues, also one of the caller's transaction; None without one."""
    low_water_marks.clear()  # marks may come from a transaction that was rolled back
    # jobs of the test's transaction are offered at its commit, which never comes
    queries.wake([lane for lane, _ in queries.asleep()])
    request = FetchRequest(tuple(queues), worker_id=WORKER, declaration=declaration())
    return next(iter(fetch(request).jobs), None)


def run(job: Job) -> BaseException | None:
    """Run a claimed job and store the outcome; return the exception of the handler."""
    context = Context(job, WORKER, reporter=Reports())
    _answer(_execute(context))
    return context.raised


def make_due() -> int:
    """Make scheduled and retryable jobs due now; return how many there were."""
    Later.objects.filter(due_at__isnull=False).update(due_at=Now())
    return promote()


def stored() -> list[Job]:
    """Return all stored jobs, the oldest first."""
    return show_many([str(one) for one in Row.objects.order_by("id").values_list("id", flat=True)])


def _execute(context: Context) -> Outcome:
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


def _answer(outcome: Outcome) -> None:
    """Send the outcome; a refusal is ignored, as when the handler cancelled its own job."""
    if isinstance(outcome, Ack):
        ack([outcome])
    elif isinstance(outcome, Nack):
        nack([outcome])
    else:
        checkpoints.suspend([outcome])
