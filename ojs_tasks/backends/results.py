"""Jobs as the framework shows them: TaskResult, TaskError and the task itself."""

import builtins
import json
import sys
from collections.abc import Mapping
from dataclasses import fields
from datetime import datetime
from inspect import isclass
from typing import Any, Final

from django.conf import settings
from django.utils import timezone

from ojs_tasks.arguments import split
from ojs_tasks.backends.compat import (
    AnyResult,
    AnyTask,
    TaskError,
    TaskResult,
    TaskResultStatus,
)
from ojs_tasks.context import Context
from ojs_tasks.server import Snapshot

UNKNOWN: Final = "unknown"  # the worker of an attempt that the server no longer names
STATUSES: Final = {
    "active": TaskResultStatus.RUNNING,
    "completed": TaskResultStatus.SUCCESSFUL,
    "discarded": TaskResultStatus.FAILED,
    "cancelled": TaskResultStatus.FAILED,
}
EXCEPTIONS: Final = "ojs_tasks.exceptions"


class StoredError(TaskError):
    """An error of a task. A class name from a job imports no module."""

    @property
    def exception_class(self) -> type[BaseException]:
        """The exception's class, from a module that this process has imported.

        Raises ImportError if it has not, ValueError if the name is no exception.
        """
        path = self.exception_class_path
        found = _imported(path)
        if not (isclass(found) and issubclass(found, BaseException)):
            raise ValueError(f"{path!r} does not reference a valid exception.")
        return found


def _imported(path: str) -> Any:
    """Return the object with a dotted path. Raises ImportError if it is not imported."""
    parts = path.split(".")
    for length in range(len(parts) - 1, 0, -1):
        if found := sys.modules.get(".".join(parts[:length])):
            for name in parts[length:]:
                found = getattr(found, name, None)
            if found is not None:
                return found
    raise ImportError(f"no imported module has {path!r}")


def claimed(context: Context) -> Snapshot:
    """Return the job of a running handler."""
    job = context.job
    return Snapshot(
        id=job.id, type=job.type, queue=job.queue, state="active", attempt=job.attempt,
        max_attempts=job.max_attempts, errors=json.loads(job.errors or "[]"),
        args=json.loads(job.args), priority=job.priority, created_at=job.created_at,
        scheduled_at=job.scheduled_at, started_at=job.started_at, worker_id=context.worker_id,
    )  # fmt: skip


def restored(task: AnyTask, shown: Snapshot, alias: str | None = None) -> AnyTask:
    """Return the task of a stored job. It may no longer be valid: its queue may have moved."""
    found: AnyTask = object.__new__(type(task))
    stored = {
        "priority": shown.priority,
        "queue_name": shown.queue,
        "run_after": local(shown.scheduled_at),
        "backend": alias or task.backend,
    }
    for one in fields(task):
        object.__setattr__(found, one.name, stored.get(one.name, getattr(task, one.name)))
    return found


def result_of(shown: Snapshot, task: AnyTask) -> AnyResult:
    """Return a job as the result of a task."""
    args, kwargs = split(shown.args)
    errors = shown.errors or ([shown.error] if shown.error else [])
    latest = local(shown.started_at)
    found: AnyResult = TaskResult(
        task=task, id=shown.id, status=STATUSES.get(shown.state, TaskResultStatus.READY),
        enqueued_at=local(shown.created_at), started_at=latest, last_attempted_at=latest,
        finished_at=local(shown.finished_at), args=list(args), kwargs=dict(kwargs),
        backend=task.backend, errors=[error_of(one) for one in errors],
        worker_ids=_workers(shown),
    )  # fmt: skip
    object.__setattr__(found, "_return_value", shown.result)
    return found


def error_of(stored: Mapping[str, Any]) -> TaskError:
    """Return a job error as a task's error; other workers may have sent no traceback."""
    details = stored.get("details") or {}
    return StoredError(
        exception_class_path=str(details.get("error_class") or _class_path(stored)),
        traceback=str(details.get("traceback") or _traceback(stored)),
    )


def _class_path(stored: Mapping[str, Any]) -> str:
    if stored.get("code") == "timeout":
        return f"{EXCEPTIONS}.JobTimeout"
    name = str(stored.get("type"))
    return f"builtins.{name}" if hasattr(builtins, name) else f"{EXCEPTIONS}.JobFailed"


def _traceback(stored: Mapping[str, Any]) -> str:
    last = f"{stored.get('type')}: {stored.get('message')}"
    return "".join(f"{line}\n" for line in [*(stored.get("backtrace") or ()), last])


def _workers(shown: Snapshot) -> list[str]:
    found = [UNKNOWN] * shown.attempt
    for error in shown.errors:
        at = int(error.get("attempt") or 0)
        name = (error.get("details") or {}).get("worker_id")
        if name and 0 < at <= len(found):
            found[at - 1] = str(name)
    if shown.worker_id and found:
        found[-1] = shown.worker_id
    return found


def local(at: datetime | None) -> datetime | None:
    """Return a time as Django's settings want it: aware, or naive without USE_TZ."""
    return at if at is None or settings.USE_TZ else timezone.make_naive(at)
