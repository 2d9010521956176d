"""Log failed attempts where they ran. The server's own lines of jobs name neither place nor cause.

Spec: contract 31 forbids arguments in log lines, and the message of an exception may repeat them.
So only a process with `DEBUG` writes the message and the traceback.
"""

import logging

from ojs_tasks.context import Context
from ojs_tasks.exceptions import Discard, Retry
from ojs_tasks.server import is_debug
from ojs_tasks.worker.ports import Nack

logger = logging.getLogger("ojs.worker")


def log_failure(problem: BaseException, outcome: Nack, context: Context) -> None:
    """Write a line with class and place of an exception; none for what a handler decided."""
    if isinstance(problem, Retry | Discard):
        return
    error = outcome.error or {}
    backtrace = error.get("backtrace") or ("",)
    logger.warning(
        "attempt.failed",
        extra={
            "job_id": context.job.id,
            "job_type": context.job.type,
            "attempt": context.job.attempt,
            "error_type": error.get("type") or type(problem).__name__,
            "error_at": backtrace[-1],
        },
        exc_info=problem if is_debug() else None,
    )
