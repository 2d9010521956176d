"""The job of a running handler: `current_job()`."""

import json
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import datetime
from importlib import import_module
from typing import Any, Final, NamedTuple, Protocol

from ojs_tasks.codecs.payload import may_be_encoded
from ojs_tasks.documents import loads

CODING: Final = "ojs_tasks.codecs.configured"  # has coding()
STATES: Final = "ojs_tasks.codecs.states"  # has StateCoding
_current: ContextVar["Context | None"] = ContextVar("ojs_job", default=None)


class ClaimedJob(Protocol):
    """A job that a worker has claimed. JSON members are serialized text.

    `attributes` is an object of all other envelope members; `version` is JSON, None without one.
    """

    @property
    def id(self) -> str: ...
    @property
    def type(self) -> str: ...
    @property
    def queue(self) -> str: ...
    @property
    def attempt(self) -> int: ...
    @property
    def max_attempts(self) -> int: ...
    @property
    def timeout_ms(self) -> int: ...
    @property
    def args(self) -> str | bytes: ...
    @property
    def meta(self) -> str | bytes: ...
    @property
    def attributes(self) -> str | bytes: ...
    @property
    def version(self) -> str | None: ...
    @property
    def priority(self) -> int: ...
    @property
    def errors(self) -> str | bytes | None: ...
    @property
    def created_at(self) -> datetime: ...
    @property
    def scheduled_at(self) -> datetime | None: ...
    @property
    def started_at(self) -> datetime | None: ...


class Report(NamedTuple):
    """A report of progress; `fraction` is from 0 to 1, None keeps the previous value."""

    fraction: float | None = None
    message: str | None = None
    data: Any = None
    checkpoint: Any = None


class Reporter(Protocol):
    """Takes the reports of running handlers; the worker gives it to each context."""

    def report(self, context: "Context", report: Report) -> None:
        """Send a report of progress to the server."""

    async def areport(self, context: "Context", report: Report) -> None:
        """Send a report as `report` does, without blocking the event loop."""

    def save(self, context: "Context", state: bytes, taken: Sequence[int]) -> None:
        """Save the checkpoint of the job as JSON; `taken` are ids of signals that it contains.

        Raises the server's refusal, such as for a lost lease, or ServerUnreachable.
        """

    async def asave(self, context: "Context", state: bytes, taken: Sequence[int]) -> None:
        """Save the checkpoint as `save` does, without blocking the event loop."""


@dataclass(slots=True)
class Context:
    """The job of a running handler, for reading and reporting."""

    job: ClaimedJob
    worker_id: str
    result: Any = None  # the job's result when the handler returns None
    _cancelled: bool = False
    extras: dict[str, Any] = field(default_factory=dict)  # for execution middleware
    raised: BaseException | None = None  # the exception that ended the attempt
    error_details: dict[str, str] | None = None  # `details` of the error, if the attempt fails
    reporter: Reporter | None = None  # None: reports are dropped
    steps: Any = None  # the StepRun of a handler with steps

    @property
    def id(self) -> str:
        """The id of the job."""
        return self.job.id

    @property
    def type(self) -> str:
        """The type of the job."""
        return self.job.type

    @property
    def attempt(self) -> int:
        """The number of this attempt, from 1."""
        return self.job.attempt

    @property
    def max_attempts(self) -> int:
        """The number of attempts after which the job fails for good."""
        return self.job.max_attempts

    @property
    def queue(self) -> str:
        """The queue the job was claimed from."""
        return self.job.queue

    @property
    def meta(self) -> dict[str, Any]:
        """The job's `meta`; a new dictionary with each call."""
        found: dict[str, Any] = json.loads(self.job.meta)
        return found

    @property
    def workflow_id(self) -> str | None:
        """The workflow this job is a member of."""
        found: str | None = self._member("workflow_id")
        return found

    @property
    def parent_results(self) -> list[Any] | None:
        """The results of earlier steps in its workflow; None without a workflow."""
        found: list[Any] | None = self._member("parent_results")
        return None if found is None else [_coding().decoded_result(one) for one in found]

    @property
    def args(self) -> Sequence[Any]:
        """The arguments of the job, decoded. Raises CodecFailed or CodecKeyUnknown."""
        text = self.job.args
        found: Sequence[Any] = loads(text)
        return _coding().args(found, self.meta, self.type) if may_be_encoded(text) else found

    @property
    def last_checkpoint(self) -> Any:
        """The checkpoint of an earlier attempt, decoded; None without one.

        Raises CodecFailed or CodecKeyUnknown.
        """
        found = self._member("last_checkpoint")
        return self.state_coding.decoded(found) if found is not None else None

    @property
    def state_coding(self) -> Any:
        """The codecs for checkpoints of this job: see `ojs_tasks.codecs.states`."""
        return import_module(STATES).StateCoding(_coding(), self.meta, self.type)

    def _member(self, name: str) -> Any:
        return json.loads(self.job.attributes).get(name)  # `json`: integers of any size are exact

    def is_cancelled(self) -> bool:
        """Return whether the job was cancelled meanwhile; a long handler calls it repeatedly."""
        return self._cancelled

    def cancel(self) -> None:
        """Mark the job as cancelled."""
        self._cancelled = True

    def progress(
        self,
        fraction: float | None = None,
        message: str | None = None,
        data: Any = None,
        checkpoint: Any = None,
    ) -> None:
        """Report progress from 0 to 1; it also extends the lease.

        The next attempt finds the latest checkpoint in `last_checkpoint`.
        """
        if self.reporter is not None:
            kept = self._with_steps(checkpoint)
            self.reporter.report(self, Report(fraction, message, data, kept))

    async def aprogress(
        self,
        fraction: float | None = None,
        message: str | None = None,
        data: Any = None,
        checkpoint: Any = None,
    ) -> None:
        """Report progress as `progress` does, from a coroutine."""
        if self.reporter is not None:
            kept = self._with_steps(checkpoint)
            await self.reporter.areport(self, Report(fraction, message, data, kept))

    def _with_steps(self, checkpoint: Any) -> Any:
        """Encode a checkpoint, and add the results of steps: both are one document."""
        if checkpoint is None:
            return None
        if self.steps is None:
            return self.state_coding.checkpoint(checkpoint)
        return self.steps.merged(checkpoint)


def _coding() -> Any:
    """Return the codecs of this process. Imported late: they read Django's settings."""
    return import_module(CODING).coding()


def current_job() -> Context:
    """Return the context of the running handler. Raises RuntimeError outside of one."""
    context = _current.get()
    if context is None:
        raise RuntimeError("no job is running here")
    return context


def run_as_current(context: Context, step: Callable[[Context], Any]) -> Any:
    """Call `step` with `context`, which is the current one meanwhile."""
    token = _current.set(context)
    try:
        return step(context)
    finally:
        _current.reset(token)
