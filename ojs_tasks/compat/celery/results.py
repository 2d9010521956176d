"""`AsyncResult`: a job with the interface of Celery's results."""

from typing import Any, Final, Generic, TypeVar

from ojs_tasks.compat.celery.errors import Foreign
from ojs_tasks.exceptions import JobCancelled, JobFailed, JobNotFound
from ojs_tasks.handle import JobHandle, get
from ojs_tasks.times import Span

R = TypeVar("R", covariant=True)  # noqa: PLC0105 - the result

STATES: Final = {
    "scheduled": "PENDING", "pending": "PENDING", "available": "PENDING", "active": "STARTED",
    "retryable": "RETRY", "completed": "SUCCESS", "discarded": "FAILURE", "cancelled": "REVOKED",
}  # fmt: skip
ENDED: Final = frozenset({"SUCCESS", "FAILURE", "REVOKED"})


class AsyncResult(Foreign, Generic[R]):
    """A task by its id. Its properties ask the server; an unknown id is PENDING, as in Celery."""

    def __init__(self, id: str) -> None:
        """Look at nothing yet."""
        self.id = id
        self.task_id = id

    def __repr__(self) -> str:
        """Return the id."""
        return f"<AsyncResult {self.id}>"

    def __eq__(self, other: object) -> bool:
        """Return whether both are the same task."""
        return isinstance(other, AsyncResult) and other.id == self.id

    def __hash__(self) -> int:
        """Return a hash of the id."""
        return hash(self.id)

    @property
    def state(self) -> str:
        """Celery's name of the state: PENDING, STARTED, RETRY, SUCCESS, FAILURE or REVOKED."""
        handle = self._handle()
        return "PENDING" if handle is None else STATES[handle.state]

    status = state

    @property
    def result(self) -> Any:
        """The result, the exception of a failed task, or None."""
        handle = self._handle()
        if handle is None or STATES[handle.state] not in ENDED:
            return None
        try:
            return handle.result(timeout=0)
        except JobFailed as failed:
            return failed.__cause__ or failed

    @property
    def traceback(self) -> str | None:
        """The frames of the latest error, None without one."""
        handle = self._handle()
        if handle is None or not handle.errors:
            return None
        return "\n".join(handle.errors[-1].get("backtrace") or ())

    def ready(self) -> bool:
        """Return whether the task has ended."""
        return self.state in ENDED

    def successful(self) -> bool:
        """Return whether the task has succeeded."""
        return self.state == "SUCCESS"

    def failed(self) -> bool:
        """Return whether the task has failed for good."""
        return self.state == "FAILURE"

    def get(self, timeout: Span | None = None, propagate: bool = True) -> Any:  # noqa: FBT001, FBT002 - Celery's
        """Wait for the end and return the result, whose type is `R`.

        Raises TimeoutError, or the task's exception if this process has imported its class, else
        JobFailed; without `propagate` it returns the exception. A cancelled task raises
        TaskRevokedError.
        """
        try:
            return get(self.id).result(timeout)
        except JobCancelled:
            raise
        except JobFailed as failed:
            problem = failed.__cause__ or failed
            if propagate:
                raise problem from failed if problem is not failed else None
            return problem

    def wait(self, timeout: Span | None = None) -> Any:
        """Wait, as `get` does."""
        return self.get(timeout)

    def revoke(self) -> None:
        """Cancel the task; a running one learns it by `current_job().is_cancelled()`."""
        get(self.id).cancel()

    def _handle(self) -> JobHandle[Any] | None:
        try:
            return get(self.id)
        except JobNotFound:
            return None
