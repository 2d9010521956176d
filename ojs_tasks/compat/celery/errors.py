"""Exceptions with Celery's names."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, NoReturn

from ojs_tasks.exceptions import Discard, JobCancelled, JobTimeout, ResultTimeout, Retry

SoftTimeLimitExceeded = JobTimeout
TaskRevokedError = JobCancelled
TimeoutError = ResultTimeout  # noqa: A001 - Celery's name

__all__ = [
    "MaxRetriesExceededError", "Reject", "Retry", "SoftTimeLimitExceeded", "TaskRevokedError",
    "TimeoutError", "Unsupported",
]  # fmt: skip


_CONTEXT: Final = "ojs_tasks.current_job()"
_WORKFLOW: Final = "use ojs_tasks.chain, group or batch, whose handle has results"
# Methods and properties of tasks, results and requests, and what to use instead
INSTEAD: Final[Mapping[str, str]] = {
    "retry": "it needs bind=True", "request": "it needs bind=True",
    "update_state": f"use {_CONTEXT}.progress(…)", "info": "use ojs_tasks.get(id).progress",
    "replace": "enqueue another job, and raise ojs_tasks.Discard",
    "add_to_chord": _WORKFLOW, "map": "use ojs_tasks.enqueue([…])",
    "starmap": "use ojs_tasks.enqueue([…])", "chunks": "use ojs_tasks.enqueue([…])",
    "link": _WORKFLOW, "link_error": _WORKFLOW, "on_error": _WORKFLOW, "children": _WORKFLOW,
    "parent": _WORKFLOW, "collect": _WORKFLOW, "join": _WORKFLOW, "clone": "use set(…)",
    "subtask": "use s(…)", "on_failure": "use execution middleware",
    "on_success": "use execution middleware", "on_retry": "use execution middleware",
    "before_start": "use execution middleware", "after_return": "use execution middleware",
    "forget": "use the term result_ttl", "then": "use aresult of ojs_tasks.get(id)",
    "date_done": "use ojs_tasks.get(id)", "backend": "results are stored by the server",
    "app": "import the Celery object of the shim", "args": f"use {_CONTEXT}.job.args",
    "kwargs": f"use {_CONTEXT}.job.args", "root_id": f"use {_CONTEXT}.workflow_id",
    "parent_id": f"use {_CONTEXT}.workflow_id", "conf": "queues and times are terms of tasks",
    "control": "use the console or the admin API", "signature": "use task.s(…)",
    "start": "use manage.py runworker", "worker_main": "use manage.py runworker",
}  # fmt: skip


class Unsupported(TypeError):
    """A part of Celery's interface that is not translated; the message names the replacement."""


class UnsupportedName(Unsupported, AttributeError):
    """A method or property of Celery's that is not translated."""


class Foreign:
    """A base of classes with Celery's interface."""

    __slots__ = ()

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            """Raise UnsupportedName; Python calls it for names that do not exist."""
            if name.startswith("_"):
                raise AttributeError(name)
            advice = INSTEAD.get(name, "see the page on Celery in the manual")
            raise UnsupportedName(f"{type(self).__name__}.{name} is not supported: {advice}")


class MaxRetriesExceededError(Discard):
    """`self.retry` was called after the last retry, without an exception of its own."""


class Reject(Discard):
    """Raise it to end the task for good."""
