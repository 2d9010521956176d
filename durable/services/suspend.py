"""End attempts whose job waits for a time or a signal. Spec: contract 34.2."""

from collections.abc import Sequence
from datetime import UTC, datetime

from durable import queries
from durable.models import Wait
from durable.services.children import has_ended
from jobs.database import atomic, set_rollback
from jobs.repeat import repeated
from jobs.services.outcome import suspend as attempts
from ojs_tasks.worker.ports import Suspend as Suspension


def suspend(wanted: Suspension) -> bool:
    """Schedule an active job again; returns whether it was held as stated.

    If a signal that it waits for has come already, it is due at once. So it is if the job or the
    workflow has ended whose end it waits for.
    Locks: the job's row, so that a signal or an end that comes meanwhile sees the wait; then the
    lease. Other verbs lock the lease first, so the transaction is repeated after a deadlock.
    """
    is_held, is_over = repeated(lambda: _suspend(wanted))
    if is_held and is_over:
        attempts.promote_woken()
    return is_held


def _suspend(wanted: Suspension) -> tuple[bool, bool]:
    """Return whether the job was held as stated, and whether its wait is over."""
    with atomic():
        if (locked := queries.lock(wanted.job_id)) is None:
            return False, False
        is_over = queries.note_wait(
            {
                "id": wanted.job_id,
                "step": wanted.step,
                "signals": list(wanted.signals),
                "until": wanted.until,
                "over": has_ended(wanted.signals, locked.tenant),
            }
        )
        until = datetime.now(UTC) if is_over else wanted.until
        is_held = attempts.suspend(wanted._replace(until=until))
        if not is_held:
            # a repeated request must not undo the wait of the first one
            set_rollback(True)
    return is_held, is_over


def suspend_all(suspensions: Sequence[Suspension]) -> None:
    """Suspend jobs one by one; an attempt that has ended meanwhile is left out."""
    for one in suspensions:
        suspend(one)


def wait_of(job_id: str) -> Wait | None:
    """Return the step for which a suspended job waits."""
    return Wait.objects.filter(job_id=job_id).first()
