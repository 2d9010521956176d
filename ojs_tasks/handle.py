"""`JobHandle`: an enqueued job, its state and its result."""

import builtins
import sys
from collections.abc import Sequence
from typing import Any, Generic, TypeGuard, TypeVar, cast

from ojs_tasks.codecs.errors import CodecKeyUnknown
from ojs_tasks.codecs.payload import is_encoded
from ojs_tasks.exceptions import JobCancelled, JobFailed
from ojs_tasks.handles import Handle
from ojs_tasks.server import Snapshot, server
from ojs_tasks.times import Span, milliseconds

R = TypeVar("R", covariant=True)  # noqa: PLC0105 - the result, as in handlers.py


class JobHandle(Handle[Snapshot], Generic[R]):
    """A job on the server; `R` is the type of its result.

    Its properties are those of the latest look at the server: `refresh` looks again.
    """

    __slots__ = ()

    @property
    def queue(self) -> str:
        """The queue of the job."""
        return self._snapshot.queue

    @property
    def attempt(self) -> int:
        """The number of the latest attempt; 0 before the first."""
        return self._snapshot.attempt

    @property
    def progress(self) -> float | None:
        """The reported progress from 0 to 1, None without a report."""
        return self._snapshot.progress

    @property
    def errors(self) -> Sequence[dict[str, Any]]:
        """The errors of failed attempts, oldest first."""
        return self._snapshot.errors

    @property
    def snapshot(self) -> Snapshot:
        """All facts of the latest look."""
        return self._snapshot

    def refresh(self) -> "JobHandle[R]":
        """Look at the server, and return this handle. Raises JobNotFound."""
        self._snapshot = server().read(self.id)
        return self

    async def arefresh(self) -> "JobHandle[R]":
        """Look at the server, as `refresh` does."""
        self._snapshot = await server().aread(self.id)
        return self

    def result(self, timeout: Span | None = None) -> R:
        """Wait for the end of the job, and return its result.

        `timeout` is a timedelta or seconds; 0 only looks, None waits for any time. Raises
        ResultTimeout, JobFailed, JobCancelled, or UncommittedJob in the transaction that enqueued
        the job.
        """
        if not self._snapshot.has_ended:
            self._snapshot = server().wait(self.id, in_seconds(timeout))
        return self._outcome()

    async def aresult(self, timeout: Span | None = None) -> R:
        """Wait for the end of the job, as `result` does, without blocking the event loop."""
        if not self._snapshot.has_ended:
            self._snapshot = await server().await_end(self.id, in_seconds(timeout))
        return self._outcome()

    def cancel(self) -> "JobHandle[R]":
        """Cancel the job, and return this handle.

        A running handler learns it by `current_job().is_cancelled()`. Raises the server's error if
        the job has ended.
        """
        self._snapshot = server().cancel(self.id)
        return self

    async def acancel(self) -> "JobHandle[R]":
        """Cancel the job, as `cancel` does."""
        self._snapshot = await server().acancel(self.id)
        return self

    def signal(self, name: str, payload: Any = None) -> None:
        """Send a signal to the job, which `step.wait_for` of its handler returns.

        The job keeps it until then. Raises the server's error if the job has ended.
        """
        server().signal(self.id, name, payload)

    async def asignal(self, name: str, payload: Any = None) -> None:
        """Send a signal to the job, as `signal` does."""
        await server().asignal(self.id, name, payload)

    def _outcome(self) -> R:
        shown = self._snapshot
        if shown.state == "completed":
            if is_encoded(shown.result):
                raise CodecKeyUnknown("this process has no codec or key for the result")
            return cast(R, shown.result)
        kind = JobCancelled if shown.state == "cancelled" else JobFailed
        failed = kind(shown.id, shown.state, shown.error)
        raise failed from rebuilt(failed)


def in_seconds(timeout: Span | None) -> float | None:
    """Return a timeout in seconds. Raises TypeError, ValueError."""
    return None if timeout is None else milliseconds(timeout, "timeout") / 1000


def rebuilt(failed: JobFailed) -> BaseException | None:
    """Return the handler's exception, with its message alone; None if its class is not known here.

    A class is looked up in the modules that are imported already: a name from the server imports
    nothing. The stored type is the bare name of the class, so it must mean one class.
    """
    name = failed.type
    spaces = [vars(builtins), *(getattr(one, "__dict__", {}) for one in list(sys.modules.values()))]
    classes = {found for space in spaces if _is_named(found := space.get(name), name)}
    found = classes.pop() if len(classes) == 1 else None
    if found is None:
        return None
    try:
        return found(failed.message)
    except Exception:  # its constructor takes other arguments
        return None


def _is_named(found: object, name: str) -> TypeGuard[type[Exception]]:
    """Return whether it is a class of exceptions, and no alias of one."""
    return isinstance(found, type) and issubclass(found, Exception) and found.__name__ == name


def get(job_id: str) -> JobHandle[Any]:
    """Return the handle of a job by its id. Raises JobNotFound."""
    return JobHandle(server().read(job_id))


async def aget(job_id: str) -> JobHandle[Any]:
    """Return the handle of a job by its id. Raises JobNotFound."""
    return JobHandle(await server().aread(job_id))


def result(job_id: str, timeout: Span | None = None) -> Any:
    """Wait for the end of a job, and return its result, as `JobHandle.result` does."""
    return get(job_id).result(timeout)


async def aresult(job_id: str, timeout: Span | None = None) -> Any:
    """Wait for the end of a job, and return its result, without blocking the event loop."""
    return await (await aget(job_id)).aresult(timeout)
