"""`@job`: Python handlers, and enqueueing them by a call. Spec: core, design of `runworker`.

    @job("mail.send", queue="mail", timeout=60)
    def send_mail(address: str, *, subject: str = "") -> None: ...

    send_mail.enqueue("ada@example.org")            # in the caller's transaction
    send_mail.options(delay=60).enqueue("…")        # the same with other options
    send_mail("ada@example.org")                    # a plain call, no job

    @job("invoice.generate", versions=">=1.0 <3.0")  # jobs of these versions alone

Handlers live in a module `ojs_jobs` of any installed app; `runworker` imports them all.
"""

import inspect
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import cached_property, update_wrapper
from typing import Any, Generic, ParamSpec, TypeVar

import orjson
from asgiref.sync import iscoroutinefunction, sync_to_async

from jobs import extensions
from jobs.domain.dispatch.claim import Declaration
from jobs.domain.envelope import parse_job
from jobs.domain.job import Job
from jobs.domain.wire import jsonio
from jobs.domain.wire.ranges import ANY, Range, parse_range
from jobs.domain.wire.version import parse_version, split_type
from jobs.services.enqueue.enqueue import enqueue
from jobs.services.lanes.envelopes import limits
from jobs.services.outcome.progress import Progress, report

MODULE = "ojs_jobs"  # searched in every installed app

P = ParamSpec("P")
R = TypeVar("R")

# by type, the latest versions first
_registry: dict[str, list["JobHandler[Any, Any]"]] = {}
_current: ContextVar["Context | None"] = ContextVar("ojs_job", default=None)


class Retry(Exception):
    """Raise it to fail the attempt with a normal retry, whichever errors the policy excludes."""

    code = "RETRY"


class Discard(Exception):
    """Raise it to end the job for good."""

    code = "DISCARD"


class JobTimeout(BaseException):
    """Raised inside a handler that ran too long; not an Exception, so that `except` lets it by."""


@dataclass(slots=True)
class Context:
    """The job of a running handler, for reading and reporting."""

    job: Job
    worker_id: str
    result: Any = None  # the job's result when the handler returns None
    _cancelled: bool = False
    extras: dict[str, Any] = field(default_factory=dict)  # for execution middleware
    raised: BaseException | None = None  # the exception that ended the attempt

    @property
    def attempt(self) -> int:
        """The number of this attempt, from 1."""
        return self.job.attempt

    @property
    def queue(self) -> str:
        """The queue the job was claimed from."""
        return self.job.queue

    @property
    def workflow_id(self) -> str | None:
        """The workflow this job is a member of."""
        found: str | None = self._member("workflow_id")
        return found

    @property
    def parent_results(self) -> list[Any] | None:
        """The results of earlier steps in its workflow; None without a workflow."""
        found: list[Any] | None = self._member("parent_results")
        return found

    def _member(self, name: str) -> Any:
        text = self.job.attributes
        return jsonio.loads(text.encode() if isinstance(text, str) else text).get(name)

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
        wanted = Progress(fraction, message, data, checkpoint=checkpoint)
        report(self.job.id, wanted, worker_id=self.worker_id)

    async def aprogress(
        self,
        fraction: float | None = None,
        message: str | None = None,
        data: Any = None,
        checkpoint: Any = None,
    ) -> None:
        """Report progress as `progress` does, from a coroutine."""
        await sync_to_async(self.progress)(fraction, message, data, checkpoint)

    @property
    def last_checkpoint(self) -> Any:
        """The checkpoint of an earlier attempt, None without one."""
        return orjson.loads(self.job.attributes).get("last_checkpoint")


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


def is_async(function: Callable[..., Any]) -> bool:
    """Return whether a call of the function returns a coroutine, as far as its definition says."""
    return iscoroutinefunction(function) or iscoroutinefunction(type(function).__call__)


@dataclass
class JobHandler(Generic[P, R]):
    """A registered function; callable as the function itself."""

    function: Callable[P, R]
    type: str
    members: dict[str, Any] = field(default_factory=dict)  # envelope members of every job
    idempotent: bool = False  # may run twice after a crash, so results may be acked in batches
    versions: str | None = None  # of accepted jobs; None: any
    accept_unversioned: bool = True  # it accepts jobs without a version, too

    @property
    def range(self) -> Range:
        """The versions as a range."""
        return ANY if self.versions is None else parse_range(self.versions)

    @cached_property
    def is_async(self) -> bool:
        """Whether the function is a coroutine function: `run` returns a coroutine."""
        return is_async(self.function)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run the function here and now."""
        return self.function(*args, **kwargs)

    def options(self, **options: Any) -> "JobHandler[P, R]":
        """Return the handler with other options: queue, priority, delay (seconds), meta, …"""
        return replace(self, members={**self.members, **_members_of(options)})

    def enqueue(self, *args: P.args, **kwargs: P.kwargs) -> Job | None:
        """Store a job with these arguments; None when middleware dropped it.

        Joins the caller's transaction: a rollback leaves no job. Raises TypeError for arguments
        that the function does not accept, OJSError for values that the envelope does not accept.
        """
        draft = parse_job(
            {**self.members, "type": self.type, "args": self.bind(args, kwargs)},
            limits=limits(),
        )
        return enqueue([draft])[0]

    def bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        """Return the JSON arguments of a call: positions, then one object of keywords if any."""
        inspect.signature(self.function).bind(*args, **kwargs)
        return [*args, {KEYWORDS: kwargs}] if kwargs else list(args)

    def run(self, args: list[Any]) -> R:
        """Call the function with the JSON arguments of a job."""
        keywords: dict[str, Any] = {}
        if args and isinstance(args[-1], dict) and args[-1].keys() == {KEYWORDS}:
            keywords = args[-1][KEYWORDS]
            args = args[:-1]
        return self.function(*args, **keywords)


KEYWORDS = "__kwargs__"  # marks the object of a call's keyword arguments


def _members_of(options: dict[str, Any]) -> dict[str, Any]:
    renamed = dict(options)
    if "timeout" in renamed:
        renamed["timeout_ms"] = round(renamed.pop("timeout") * 1000)
    if "delay" in renamed:
        renamed["scheduled_at"] = f"+PT{renamed.pop('delay')}S"
    return renamed


def job(
    type: str,
    *,
    idempotent: bool = False,
    versions: str | None = None,
    accept_unversioned: bool = True,
    **options: Any,
) -> Callable[[Callable[P, R]], JobHandler[P, R]]:
    """Register a function as the handler of a job type.

    `options` are members of the envelope (queue, priority, retry, meta, tags, …), besides `timeout`
    and `delay` in seconds. With `versions` the worker requests these versions of the type alone.
    Several handlers may share a type if their ranges do not overlap. Jobs without a version go to
    the handler of the latest versions that accepts them: not with `accept_unversioned` False.
    Raises ValueError when a job could have two handlers, or for a wrong option.
    """
    taken = ANY if versions is None else parse_range(versions)
    if any(not other.range.meet(taken).is_empty for other in _registry.get(type, ())):
        raise ValueError(f"job type {type!r} has a handler already")
    chosen = _members_of(options)
    parse_job({**chosen, "type": type, "args": []})  # wrong options fail at import

    def register(function: Callable[P, R]) -> JobHandler[P, R]:
        handler = JobHandler(function, type, chosen, idempotent, versions, accept_unversioned)
        update_wrapper(handler, function)
        found = [*_registry.get(type, ()), handler]
        _registry[type] = sorted(found, key=lambda one: one.range.low, reverse=True)
        return handler

    return register


def handler_of(job: Job) -> JobHandler[Any, Any] | None:
    """Return the handler of a job's type and version, None when this project has none."""
    handlers = _registry.get(job.type) or _registry.get(split_type(job.type)[0], [])
    if job.version is None:
        for one in handlers:
            if one.accept_unversioned:
                return one
        return None
    version = parse_version(orjson.loads(job.version))
    return next((one for one in handlers if version in one.range), None)


def declaration() -> Declaration | None:
    """Return the versions that the handlers accept, as a worker declares them; None: any."""
    named = [
        {
            "type": handler.type,
            "versions": handler.versions,
            "accept_unversioned": handler.accept_unversioned,
        }
        for handlers in _registry.values()
        for handler in handlers
        if handler.versions is not None or not handler.accept_unversioned
    ]
    return extensions.read_declaration(named, is_exclusive=False) if named else None


def handled_queues() -> tuple[str, ...]:
    """Return the queues that registered handlers enqueue to, `default` first; empty without any.

    Other queues are left out: their jobs may be meant for workers in other languages.
    """
    named = {
        str(handler.members.get("queue", "default"))
        for one in _registry.values()
        for handler in one
    }
    return tuple(sorted(named, key=lambda name: (name != "default", name)))
