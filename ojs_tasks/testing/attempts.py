"""Run one attempt of a job in memory."""

import asyncio
import inspect
import json
import traceback
from collections.abc import Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from ojs_tasks.context import Context, Reporter, run_as_current
from ojs_tasks.exceptions import ENDS, Retry, Suspended
from ojs_tasks.registry import handler_of

FRAMES: Final = 50


class HandlerNotFound(Exception):
    """This project has no handler of the job's type."""

    code = "handler_not_found"


@dataclass(frozen=True, slots=True)
class Claimed:
    """A `ClaimedJob` of the context."""

    id: str
    type: str
    queue: str
    attempt: int
    max_attempts: int
    timeout_ms: int
    args: str
    meta: str
    attributes: str
    version: str | None
    priority: int
    created_at: datetime
    started_at: datetime
    errors: str = "[]"
    scheduled_at: datetime | None = None

    @classmethod
    def of(
        cls, job_id: str, draft: Mapping[str, Any], queue: str, attempt: int, max_attempts: int
    ) -> "Claimed":
        """Return the job of an envelope."""
        version = draft.get("version")
        now = datetime.now(UTC)
        return cls(
            job_id, draft["type"], queue, attempt, max_attempts, draft.get("timeout_ms") or 0,
            json.dumps(draft["args"]), json.dumps(draft.get("meta") or {}), json.dumps(dict(draft)),
            None if version is None else json.dumps(version), draft.get("priority") or 0, now, now,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Outcome:
    """The end of an attempt; `error` is None when it succeeded."""

    result: Any = None
    error: dict[str, Any] | None = None
    raised: BaseException | None = None
    is_retryable: bool = False
    suspended: Suspended | None = None


def attempt(job: Claimed, reporter: Reporter | None = None) -> Outcome:
    """Call the handler of a job, and return the outcome; raise nothing."""
    context = Context(job, "tests", reporter=reporter)
    try:
        returned = run_as_current(context, _call)
        return Outcome(json.loads(json.dumps(context.result if returned is None else returned)))
    except Suspended as suspended:
        return Outcome(suspended=suspended)
    except BaseException as problem:  # any exception is the outcome, also SystemExit
        return Outcome(None, _error(problem, job.attempt), problem, _is_retryable(job, problem))


def _call(context: Context) -> Any:
    handler = handler_of(context.job)
    if handler is None:
        raise HandlerNotFound(f"no handler for job type {context.type!r}")
    returned = handler.run(json.loads(context.job.args))
    return _ended(returned) if inspect.iscoroutine(returned) else returned


def _ended(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """Run a coroutine in a thread of its own: the test may have an event loop in this one."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(copy_context().run, asyncio.run, coroutine).result()


def _is_retryable(job: Claimed, problem: BaseException) -> bool:
    if isinstance(problem, Retry):
        return True
    if getattr(problem, "code", None) in ENDS:
        return False
    handler = handler_of(job)
    retry = json.loads(job.attributes).get("retry") or {}
    listed = type(problem).__name__ in (retry.get("non_retryable_errors") or ())
    return not listed and (handler is None or handler.retries(problem))


def _error(problem: BaseException, number: int) -> dict[str, Any]:
    frames = traceback.extract_tb(problem.__traceback__)[-FRAMES:]
    code = getattr(problem, "code", None)
    return {
        "type": type(problem).__name__,
        "code": code if isinstance(code, str) else "handler_error",
        "message": str(problem) or type(problem).__name__,
        "backtrace": [f"{frame.filename}:{frame.lineno} in {frame.name}" for frame in frames],
        "attempt": number,
    }
