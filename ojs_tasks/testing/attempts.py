"""Run one attempt of a job in memory, as a worker does: with middleware, and by the same rules."""

import asyncio
import json
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from ojs_tasks.context import Context, Reporter
from ojs_tasks.error_names import is_listed
from ojs_tasks.exceptions import ENDS
from ojs_tasks.registry import handler_of
from ojs_tasks.worker.chain import steps_for
from ojs_tasks.worker.execution import Execution
from ojs_tasks.worker.ports import Ack, Suspend
from ojs_tasks.worker.ports import Outcome as Answer

WORKER: Final = "tests"
TIMEOUT_MS: Final = 1_800_000  # the server's default
EXECUTION: Final = Execution()


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
    errors: str = "[]"
    scheduled_at: datetime | None = None
    started_at: datetime = field(default_factory=lambda: datetime.now(UTC))


@dataclass(frozen=True, slots=True)
class Outcome:
    """The end of an attempt; `error` is None when it succeeded."""

    result: Any = None
    error: dict[str, Any] | None = None
    raised: BaseException | None = None
    suspended: Suspend | None = None


def attempt(job: Claimed, reporter: Reporter) -> Outcome:
    """Call the handler of a job, and return the outcome; raise nothing."""
    context = Context(job, WORKER, reporter=reporter)
    answer = _executed(context)
    if isinstance(answer, Suspend):
        return Outcome(suspended=answer)
    if isinstance(answer, Ack):
        return Outcome(None if answer.result is None else json.loads(answer.result))
    error = {**(answer.error or {}), "attempt": job.attempt}
    return Outcome(error=error, raised=context.raised)


def is_final(error: Mapping[str, Any], job: Claimed) -> bool:
    """Return whether no attempt follows one that ended with this error. Spec: contract 5.4."""
    code = error["code"]
    if code in ENDS or job.attempt >= job.max_attempts:
        return True
    patterns = (json.loads(job.attributes).get("retry") or {}).get("non_retryable_errors") or ()
    is_refused = error["retryable"] is False or is_listed(patterns, [error["type"], code])
    return is_refused and code != "RETRY"


def _executed(context: Context) -> Answer:
    """Run the attempt here; in a thread of its own if it needs an event loop and this one has."""
    if not (_has_loop() and _needs_loop(context)):
        return EXECUTION.execute(context)
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(copy_context().run, EXECUTION.execute, context).result()


def _has_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _needs_loop(context: Context) -> bool:
    return steps_for(handler_of(context.job)).on_loop
