"""Exceptions that handlers raise, and exceptions that producers get."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, ClassVar, Final

from ojs_tasks.times import Span, milliseconds, milliseconds_until

ENDS: Final = frozenset({"DISCARD", "FAIL", "DEAD_LETTER"})  # codes of errors that end a job


class Retry(Exception):
    """Raise it to fail the attempt with a retry, whichever errors the policy excludes.

    `in_` (timedelta or seconds) or `at` (aware datetime) is the time of the next attempt. Without
    both, the retry policy decides. The number of attempts stays that of the policy.
    """

    code = "RETRY"

    def __init__(
        self, message: str = "", *, in_: Span | None = None, at: datetime | None = None
    ) -> None:
        """Raise TypeError or ValueError for a wrong time, or for both times."""
        if in_ is not None and at is not None:
            raise ValueError("Retry takes in_ or at, not both")
        super().__init__(*([message] if message else []))
        self._in_ms = None if in_ is None else milliseconds(in_, "in_")
        self._at = at
        if at is not None:
            milliseconds_until(at, "at")

    @property
    def after_ms(self) -> int | None:
        """The wait from now, in milliseconds; None: the policy decides."""
        return self._in_ms if self._at is None else milliseconds_until(self._at, "at")


class Discard(Exception):
    """Raise it to end the job for good."""

    code = "DISCARD"


class JobTimeout(BaseException):
    """Raised inside a handler that ran too long; not an Exception, so that `except` lets it by."""


class StepError(ValueError):
    """A step that cannot run, or whose result cannot be stored; the message names the step."""


class SignalTimeout(TimeoutError):
    """No signal came in the time of `step.wait_for`. Unless it is caught, the job fails for good.

    Its outcome is stored, so that another attempt would end in the same way.
    """

    code = "FAIL"


class Suspended(BaseException):
    """Raised by a step to end the attempt, because the job waits; let it pass.

    It is no Exception, so that `except Exception` lets it by. The job becomes available again at
    `until`, or when a signal of one of these names arrives.
    """

    def __init__(self, step: str, until: datetime, signals: tuple[str, ...] = ()) -> None:
        """Name the step that waits."""
        super().__init__(f"step {step!r} waits until {until.isoformat()}")
        self.step = step
        self.until = until
        self.signals = signals


class UnknownTerm(TypeError):
    """A job option that does not exist; the message names the right one."""


class Refused(Exception):
    """A refusal by the server: the base of all its errors, local or over HTTP.

    `code` is that of the contract, such as `duplicate`; `status` is that of HTTP. `details` names
    what was wrong. With `retryable` the same request may succeed later.
    """

    code: ClassVar[str]
    status: ClassVar[int]
    retryable: ClassVar[bool] = False
    message: str
    details: dict[str, Any]


class NoServer(RuntimeError):
    """This process has no OJS server to enqueue to: neither a setting nor the server's apps."""


class ServerUnreachable(ConnectionError):
    """The server gives no answer over HTTP; a request may have reached it nevertheless."""


class JobNotFound(LookupError):
    """The server has no job with this id."""


class WorkflowNotFound(LookupError):
    """The server has no workflow with this id."""


class UncommittedJob(RuntimeError):
    """A wait for a job or workflow whose transaction is still open: no worker can see it yet."""


class ResultTimeout(TimeoutError):
    """The job or workflow did not end in the time that the caller gave; it may still end."""


class JobFailed(Exception):
    """The job ended without a result. `__cause__` is the handler's exception, if it is known here.

    `error` is the last error as the server stores it, `backtrace` its frames, innermost last.
    """

    def __init__(self, job_id: str, state: str, error: dict[str, Any] | None) -> None:
        """Describe the job's end."""
        self.id = job_id
        self.state = state
        self.error: dict[str, Any] = error or {}
        self.type: str = self.error.get("type") or state
        self.message: str = self.error.get("message") or f"the job was {state}"
        self.backtrace: Sequence[str] = tuple(self.error.get("backtrace") or ())
        super().__init__(f"job {job_id} was {state}: {self.type}: {self.message}")

    def __reduce__(self) -> tuple[Any, ...]:
        """Let it be pickled: its arguments are not those of the constructor."""
        return type(self), (self.id, self.state, self.error)


class JobCancelled(JobFailed):
    """The job was cancelled."""


class WorkflowFailed(Exception):
    """The workflow ended without a result. `__cause__` is the JobFailed of the failed step.

    `step` is the path of that step, such as `step-1/step-0` inside of a nested workflow, None if
    no step failed. `job_type` is the type of its job, `error` its last error as the server stores
    it.
    """

    def __init__(
        self,
        workflow_id: str,
        state: str,
        step: str | None = None,
        job_type: str | None = None,
        error: dict[str, Any] | None = None,
    ) -> None:
        """Describe the workflow's end."""
        self.id = workflow_id
        self.state = state
        self.step = step
        self.job_type = job_type
        self.error: dict[str, Any] = error or {}
        super().__init__(f"workflow {workflow_id} is {state}{self._where()}")

    def _where(self) -> str:
        if self.step is None:
            return ""
        name = self.error.get("type") or "it was cancelled"
        message = self.error.get("message")
        return f": step {self.step} ({self.job_type}): {name}{f': {message}' if message else ''}"

    def __reduce__(self) -> tuple[Any, ...]:
        """Let it be pickled: its arguments are not those of the constructor."""
        return type(self), (self.id, self.state, self.step, self.job_type, self.error)


class WorkflowCancelled(WorkflowFailed):
    """The workflow was cancelled."""
