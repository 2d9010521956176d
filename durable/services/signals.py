"""Send signals to jobs, and list those that no step has taken. Spec: contract 34.2."""

from collections.abc import Sequence
from typing import Any

from django.db.models import Exists, OuterRef, QuerySet

from durable import queries
from durable.domain.names import check_name, check_size
from durable.models import Signal
from jobs.database import atomic
from jobs.domain.errors import Conflict, NotFound
from jobs.domain.states import state_of
from jobs.domain.wire.ids import is_id
from jobs.extensions import Remark
from jobs.models import Job
from jobs.services.outcome.suspend import promote_woken, wake

MOST = 100  # signals of a job that no step has taken


def send(job_id: str, name: str, payload: str, sender: str) -> queries.Sent:
    """Store a signal and wake the job if it waits for it; `payload` is JSON text.

    Raises NotFound, and Conflict for an ended job or too many signals.
    Locks: the job's row, so that the suspension of the job sees the signal or the signal sees it.
    """
    with atomic():
        job = queries.lock(job_id)
        if job is None:
            raise NotFound.of("job", job_id)
        if job.state is not None:
            state = state_of(job.state).value
            details: dict[str, Any] = {"job_id": job_id, "current_state": state}
            raise Conflict(f"job is {state} and takes no signal", details=details)
        sent = queries.signal(job_id, name, payload, sender, MOST)
        if sent is None:
            why = {"job_id": job_id, "limit": MOST, "reason": "too_many_signals"}
            raise Conflict(f"job has {MOST} signals that no step has taken", details=why)
        is_woken = sent.wakes and wake(job_id)
    if is_woken:
        promote_woken()
    return sent


def waiting(job_id: str) -> QuerySet[Signal]:
    """Return the signals of a job that no step has taken, the earliest first."""
    return Signal.objects.filter(job_id=job_id).order_by("id")


def send_checked(job_id: str, name: str, payload: str, sender: str) -> None:
    """Send a signal of this process, by the rules of the API. Raises as `send`, InvalidRequest."""
    if not is_id(job_id):
        raise NotFound.of("job", job_id)
    check_name("name", name)
    check_size(len(payload.encode()))
    send(job_id, name, payload, sender)


def remarks(tenant: str) -> list[Remark]:
    """Return the jobs of a tenant that have signals as an obstacle of its move."""
    live = Job.objects.filter(pk=OuterRef("job_id"), tenant=tenant, state__isnull=True)
    number = Signal.objects.filter(Exists(live)).values("job_id").distinct().count()
    text = f"{number} jobs have signals that no step has taken: let them run or cancel them"
    return [Remark(text, is_obstacle=True)] if number else []


def require_none(job_ids: Sequence[str]) -> None:
    """Refuse to move jobs to another cell that have signals. Raises Conflict.

    In the transaction that deletes the rows of the jobs. `send` locks these rows, so it sends no
    signal that this check does not see.
    """
    found = Signal.objects.filter(job_id__in=job_ids).first()
    if found is not None:
        raise Conflict(
            f"job {found.job_id} has a signal that no step has taken: cancel the job, then run the"
            " command again",
            details={"job_id": str(found.job_id)},
        )
