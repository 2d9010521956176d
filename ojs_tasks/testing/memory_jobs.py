"""Jobs in memory: a job, its states, and how snapshots and tests see it."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, ClassVar, Final
from uuid import uuid4

from ojs_tasks import documents
from ojs_tasks.children import CANCEL, PARENT, WITH_PARENT
from ojs_tasks.context import Context, Report
from ojs_tasks.exceptions import Refused
from ojs_tasks.server import Snapshot
from ojs_tasks.testing.attempts import TIMEOUT_MS, WORKER, Claimed, Outcome, is_final
from ojs_tasks.testing.durability import Durability
from ojs_tasks.testing.records import Enqueued, call_of

MAX_ATTEMPTS: Final = 3  # the server's default
PRIORITIES: Final = {"high": 10, "normal": 0, "low": -10}


def through_json(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return a body as a server would show it. Raises TypeError for values without JSON."""
    try:
        shown: dict[str, Any] = documents.loads(documents.dumps(dict(body)))
    except ValueError as problem:
        raise TypeError(str(problem)) from None
    return shown


class Conflict(Refused):
    """A refusal by the server in memory: the job or workflow is not in the right state."""

    code: ClassVar[str] = "conflict"
    status: ClassVar[int] = 409

    def __init__(self, message: str, details: dict[str, Any]) -> None:
        """Set the reason."""
        super().__init__(message)
        self.message = message
        self.details = details


@dataclass(eq=False)
class MemoryJob:
    """A job in memory; `draft` is its envelope after a trip through JSON."""

    id: str
    draft: dict[str, Any]
    state: str
    attempt: int = 0
    result: Any = None
    errors: list[dict[str, Any]] = field(default_factory=list)
    latest: Report = field(default_factory=Report)  # of progress
    reported: int = 0  # the attempt that made it
    created_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    started_at: datetime | None = None
    finished_at: datetime | None = None
    durability: Durability = field(default_factory=Durability)

    @classmethod
    def of(cls, draft: Mapping[str, Any]) -> "MemoryJob":
        """Return a new job. Raises TypeError for values that are no JSON."""
        read = through_json(draft)
        job_id = str(read.get("id") or uuid4())
        if read.get("pending"):
            return cls(job_id, read, "pending")
        is_later = _is_later(read.get("scheduled_at"))
        return cls(job_id, read, "scheduled" if is_later else "available")

    @property
    def type(self) -> str:
        """The type of the job."""
        return str(self.draft["type"])

    @property
    def queue(self) -> str:
        """The queue of the job."""
        return str(self.draft.get("queue") or "default")

    @property
    def priority(self) -> int:
        """The priority as a number."""
        given = self.draft.get("priority") or 0
        return PRIORITIES[given] if isinstance(given, str) else int(given)

    @property
    def max_attempts(self) -> int:
        """The number of attempts after which the job fails for good."""
        found = (self.draft.get("retry") or {}).get("max_attempts")
        return MAX_ATTEMPTS if found is None else int(found)

    @property
    def progress(self) -> Report:
        """The progress of the latest attempt; 1 once the job has completed."""
        if self.reported != self.attempt:
            return Report()
        is_done = self.state == "completed"
        return self.latest._replace(fraction=1.0) if is_done else self.latest

    @property
    def snapshot(self) -> Snapshot:
        """The job as handles show it."""
        shown = self.progress
        return Snapshot(
            self.id, self.type, self.queue, self.state, self.attempt, self.max_attempts,
            self.result, self.errors[-1] if self.errors else None, tuple(self.errors),
            shown.fraction, shown.message, shown.data,
            meta=self.draft.get("meta") or {}, args=self.draft["args"], priority=self.priority,
            created_at=self.created_at, started_at=self.started_at, finished_at=self.finished_at,
            worker_id=WORKER if self.state == "active" else None,
        )  # fmt: skip

    @property
    def enqueued(self) -> Enqueued:
        """The job as a test sees it."""
        meta = self.draft.get("meta") or {}
        args, kwargs = call_of(self.draft["args"], meta, self.type)
        return Enqueued(
            self.id, self.type, self.queue, self.state, args, kwargs, self.priority, meta
        )

    def claim(self) -> Claimed:
        """Begin an attempt."""
        self.state, self.attempt = "active", self.attempt + 1
        version = self.draft.get("version")
        attributes = {**self.draft, **self.durability.members}
        claimed = Claimed(
            self.id, self.type, self.queue, self.attempt, self.max_attempts,
            self.draft.get("timeout_ms") or TIMEOUT_MS, json.dumps(self.draft["args"]),
            json.dumps(self.draft.get("meta") or {}), json.dumps(attributes),
            None if version is None else json.dumps(version), self.priority, self.created_at,
            json.dumps(self.errors),
        )  # fmt: skip
        self.started_at = claimed.started_at
        return claimed

    def end(self, claimed: Claimed, outcome: Outcome) -> None:
        """Take the outcome of an attempt."""
        if outcome.suspended is not None:
            self.attempt -= 1
            is_over = self.durability.suspend(outcome.suspended)
            self.state = "available" if is_over else "scheduled"
            return
        if outcome.error is None:
            self.finish("completed")
            self.result = outcome.result
            return
        shown = {n: v for n, v in outcome.error.items() if n not in {"retryable", "retry_after_ms"}}
        self.errors.append(shown)
        if is_final(outcome.error, claimed):
            self.finish("discarded")
        else:
            self.state = "retryable"

    def finish(self, state: str) -> None:
        """End the job for good."""
        self.state, self.finished_at = state, datetime.now(UTC)

    def signal(self, name: str, payload: Any) -> None:
        """Keep a signal, and become available if the job waits for it."""
        if self.durability.send(name, payload) and self.state == "scheduled":
            self.state = "available"

    @property
    def parent(self) -> str | None:
        """The job whose step started this one."""
        found: str | None = (self.draft.get("meta") or {}).get(PARENT)
        return found

    @property
    def ends_with_parent(self) -> bool:
        """Whether the cancel of its parent cancels this job."""
        return (self.draft.get("meta") or {}).get(CANCEL) == WITH_PARENT

    def wake(self, ended: str) -> None:
        """Become available if a step waits for this end."""
        if self.durability.wake(ended) and self.state == "scheduled":
            self.state = "available"

    # --- the `Reporter` of its attempts

    def report(self, context: Context, report: Report) -> None:
        """Keep a report of progress: the highest fraction of the attempt, the latest checkpoint."""
        before = self.progress
        fractions = [one.fraction for one in (before, report) if one.fraction is not None]
        self.latest = report._replace(
            fraction=min(1.0, max(0.0, *fractions)) if fractions else None
        )
        if report.checkpoint is not None:
            self.durability.keep(report.checkpoint)
        self.reported = self.attempt

    async def areport(self, context: Context, report: Report) -> None:
        """Keep a report as `report` does."""
        self.report(context, report)

    def save(self, context: Context, state: bytes, taken: Sequence[int]) -> None:
        """Keep a checkpoint, and drop the signals that it contains."""
        self.durability.save(state, taken)

    async def asave(self, context: Context, state: bytes, taken: Sequence[int]) -> None:
        """Keep a checkpoint as `save` does."""
        self.save(context, state, taken)


def _is_later(at: str | None) -> bool:
    if at is None or at == "+PT0S":
        return False
    return at.startswith("+") or datetime.fromisoformat(at) > datetime.now(UTC)
