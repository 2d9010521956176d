"""Celery's decorators and calls on top of `ojs_tasks`: change the import, keep the tasks.

    from ojs_tasks.compat.celery import shared_task

    @shared_task(bind=True, max_retries=5)
    def send(self, address): ...

    send.delay("ada@example.org")
    send.apply_async(["ada@example.org"], countdown=60).get(timeout=10)

docs/celery.md lists what is supported. Everything else raises `Unsupported`, which names the
replacement.
"""

from typing import Final, NoReturn

from ojs_tasks.compat.celery.app import Celery, shared_task
from ojs_tasks.compat.celery.errors import (
    MaxRetriesExceededError,
    Reject,
    Retry,
    SoftTimeLimitExceeded,
    TaskRevokedError,
    TimeoutError,  # noqa: A004 - Celery's name
    Unsupported,
)
from ojs_tasks.compat.celery.results import AsyncResult
from ojs_tasks.compat.celery.task import BoundTask, Request, Task, TaskSignature

__all__ = [
    "AsyncResult", "BoundTask", "Celery", "MaxRetriesExceededError", "Reject", "Request", "Retry",
    "SoftTimeLimitExceeded", "Task", "TaskRevokedError", "TaskSignature", "TimeoutError",
    "Unsupported", "shared_task",
]  # fmt: skip

# Names that projects import from celery, and what to use instead
ELSEWHERE: Final = {
    "chain": "ojs_tasks.chain; a step reads earlier results in current_job().parent_results",
    "group": "ojs_tasks.group",
    "chord": "ojs_tasks.chain(group(…), callback.s())",
    "signature": "task.s(…)",
    "crontab": "ojs_tasks.periodic",
    "current_task": "ojs_tasks.current_job()",
    "signals": "execution middleware",
    "Ignore": "ojs_tasks.Discard",
}


def __getattr__(name: str) -> NoReturn:
    """Raise ImportError with the replacement of a name of Celery's."""
    if name in ELSEWHERE:
        raise ImportError(f"ojs_tasks.compat.celery has no {name!r}: use {ELSEWHERE[name]}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
