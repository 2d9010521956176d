"""Operator actions on many jobs, run by `manage.py qcluster`; nothing here moves a job by itself.

A task does one slice and queues the next, so that it stays far below the cluster's timeout and a
crash repeats at most one slice; every step is guarded by the state it leaves.
"""

from dataclasses import dataclass
from datetime import datetime

from django.utils import timezone
from django_q.models import OrmQ, Task
from django_q.status import Stat
from django_q.tasks import async_task

from jobs.domain.errors import NotFound
from jobs.services.dead_letter import DeadLetterFilter, dead_letters, retry

SLICE = 500
SHOWN = 5


def start_retry(*, queue: str, type: str, error_type: str, tenant: str, who: str) -> str:
    """Queue the retry of the dead letter as it is now; returns the task's id."""
    return _queue(
        {
            "queue": queue or None,
            "type": type or None,
            "error_type": error_type or None,
            "tenant": tenant or None,
            "before": timezone.now().isoformat(),
        },
        done=0,
        who=who,
    )


def retry_slice(wanted: dict[str, str | None], done: int, who: str) -> str:
    """Retry one slice; jobs that fail again meanwhile ended later and are not taken twice."""
    before = datetime.fromisoformat(wanted["before"] or "")
    found, _ = dead_letters(
        DeadLetterFilter(
            queue=wanted["queue"],
            type=wanted["type"],
            error_type=wanted["error_type"],
            tenant=wanted["tenant"],
            before=before,
        ),
        limit=SLICE,
        offset=0,
    )
    for job in found:
        try:
            retry(job.id)
        except NotFound:  # someone else retried or deleted it
            continue
        done += 1
    if len(found) == SLICE:
        _queue(wanted, done=done, who=who)
        return f"{done} jobs retried so far"
    return f"{done} jobs retried"


def _queue(wanted: dict[str, str | None], *, done: int, who: str) -> str:
    return str(
        async_task(
            "console.tasks.retry_slice",
            wanted,
            done,
            who,
            task_name=f"retry dead letter ({who})"[:100],
            group="console",
        )
    )


@dataclass(frozen=True, slots=True)
class Operations:
    """What the pages tell about operator tasks."""

    is_served: bool  # a cluster is running
    waiting: int
    latest: list[Task]


def operations() -> Operations:
    """Tell whether operator tasks will start, how many wait and how the latest went."""
    return Operations(
        is_served=bool(Stat.get_all()),
        waiting=OrmQ.objects.count(),
        latest=list(Task.objects.filter(group="console").order_by("-stopped")[:SHOWN]),
    )
