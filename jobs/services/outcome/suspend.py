"""End attempts whose jobs wait for a time or a signal, and wake such jobs. Spec: contract 34.2."""

from jobs import queries
from jobs.conf import conf
from ojs_tasks.worker.ports import Suspend as Suspension

PROMOTED = 200  # due jobs that a signal promotes before the loop does


def suspend(suspension: Suspension, *, by_worker: bool = True) -> bool:
    """Schedule an active job again; returns whether it was held as stated.

    The attempt is not counted, and its worker gets the slot back.
    """
    heard_ms = conf().heard_ms if by_worker else None
    return queries.suspend(
        {
            "id": suspension.job_id,
            "worker_id": suspension.worker_id,
            "attempt": suspension.attempt,
            "started_at": suspension.started_at,
            "until": suspension.until,
            "step": suspension.step,
            "signals": list(suspension.signals),
            "heard_ms": heard_ms,
        }
    )


def wake(job_id: str) -> bool:
    """Make a scheduled job due now; returns whether it waited. Promote it after the commit."""
    return queries.wake_job(job_id)


def promote_woken() -> None:
    """Make due jobs available at once, instead of with the next turn of the loop `promote`."""
    queries.promote(PROMOTED)
