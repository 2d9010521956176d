"""Exceptions with Celery's names."""

from ojs_tasks.exceptions import Discard, JobCancelled, JobTimeout, ResultTimeout, Retry

SoftTimeLimitExceeded = JobTimeout
TaskRevokedError = JobCancelled
TimeoutError = ResultTimeout  # noqa: A001 - Celery's name

__all__ = [
    "MaxRetriesExceededError", "Reject", "Retry", "SoftTimeLimitExceeded", "TaskRevokedError",
    "TimeoutError", "Unsupported",
]  # fmt: skip


class Unsupported(TypeError):
    """A part of Celery's interface that is not translated; the message names the replacement."""


class MaxRetriesExceededError(Discard):
    """`self.retry` was called after the last retry, without an exception of its own."""


class Reject(Discard):
    """Raise it to end the task for good."""
