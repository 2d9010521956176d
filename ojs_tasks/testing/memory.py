"""A server in memory, for tests of projects without the server's apps.

It stores jobs, runs them by their handlers, and retries, discards and cancels them. Unique
policies, rate limits, middleware and workflows need the server.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final
from uuid import uuid4

from ojs_tasks import registry
from ojs_tasks.exceptions import Discard, JobNotFound, Retry, UncommittedJob
from ojs_tasks.registry import handled_queues
from ojs_tasks.server import Draft, Snapshot, use
from ojs_tasks.testing.attempts import Claimed, Outcome, attempt
from ojs_tasks.testing.durability import Durability
from ojs_tasks.testing.records import Enqueued, Run, TooManyJobs, call_of
from ojs_tasks.testing.unsupported import WithoutWorkflows

MAX_ATTEMPTS: Final = 3  # the server's default
NESTED: Final = 50  # jobs that run inside one another
PRIORITIES: Final = {"high": 10, "normal": 0, "low": -10}


@dataclass
class _Job:
    """A job in memory; `draft` is its envelope after a trip through JSON."""

    id: str
    draft: dict[str, Any]
    state: str
    attempt: int = 0
    result: Any = None
    errors: list[dict[str, Any]] = field(default_factory=list)
    durability: Durability = field(default_factory=Durability)

    @property
    def queue(self) -> str:
        return str(self.draft.get("queue") or "default")

    @property
    def priority(self) -> int:
        given = self.draft.get("priority") or 0
        return PRIORITIES[given] if isinstance(given, str) else int(given)

    @property
    def max_attempts(self) -> int:
        found = (self.draft.get("retry") or {}).get("max_attempts")
        return MAX_ATTEMPTS if found is None else int(found)

    @property
    def snapshot(self) -> Snapshot:
        return Snapshot(
            self.id, self.draft["type"], self.queue, self.state, self.attempt, self.max_attempts,
            self.result, self.errors[-1] if self.errors else None, tuple(self.errors),
            meta=self.draft.get("meta") or {},
        )  # fmt: skip


class Memory(WithoutWorkflows):
    """The jobs of a test: a `Server` for producers, and a `Bench` for the test."""

    def __init__(self) -> None:
        """Begin without a job."""
        self._jobs: dict[str, _Job] = {}
        self._runs_now = False
        self._raises = True
        self._depth = 0

    def enqueue(self, drafts: Sequence[Draft]) -> list[Snapshot | None]:
        """Keep jobs, and run them with `run_now`. Raises TypeError for values that are no JSON."""
        made = [_made(json.loads(json.dumps(dict(draft)))) for draft in drafts]
        self._jobs |= {job.id: job for job in made}
        for job in made if self._runs_now else ():
            self._run_at_once(job)
        return [job.snapshot for job in made]

    async def aenqueue(self, drafts: Sequence[Draft]) -> list[Snapshot | None]:
        """Keep jobs as `enqueue` does."""
        return self.enqueue(drafts)

    def read(self, job_id: str) -> Snapshot:
        """Return the present state of a job. Raises JobNotFound."""
        return self._job(job_id).snapshot

    async def aread(self, job_id: str) -> Snapshot:
        """Return the present state of a job. Raises JobNotFound."""
        return self.read(job_id)

    def wait(self, job_id: str, timeout_s: float | None) -> Snapshot:
        """Return a job that has ended. Raises JobNotFound, UncommittedJob: no worker runs it."""
        shown = self.read(job_id)
        if not shown.has_ended:
            raise UncommittedJob(f"job {job_id} is {shown.state}: run it by run_available()")
        return shown

    async def await_end(self, job_id: str, timeout_s: float | None) -> Snapshot:
        """Return a job that has ended, as `wait` does."""
        return self.wait(job_id, timeout_s)

    def cancel(self, job_id: str) -> Snapshot:
        """Cancel a job that has not ended. Raises JobNotFound."""
        job = self._job(job_id)
        if not job.snapshot.has_ended:
            job.state = "cancelled"
        return job.snapshot

    async def acancel(self, job_id: str) -> Snapshot:
        """Cancel a job as `cancel` does."""
        return self.cancel(job_id)

    def signal(self, job_id: str, name: str, payload: Any) -> None:
        """Send a signal to a job. Raises JobNotFound, or ValueError when it has ended."""
        job = self._job(job_id)
        if job.snapshot.has_ended:
            raise ValueError(f"job {job_id} is {job.state} and takes no signal")
        if job.durability.send(name, payload) and job.state == "scheduled":
            job.state = "available"

    async def asignal(self, job_id: str, name: str, payload: Any) -> None:
        """Send a signal as `signal` does."""
        self.signal(job_id, name, payload)

    def enqueued(self) -> list[Enqueued]:
        """Return all jobs, the oldest first."""
        return [_enqueued(job) for job in self._jobs.values()]

    def make_due(self) -> int:
        """Make scheduled and retryable jobs available; return how many there were."""
        due = [one for one in self._jobs.values() if one.state in {"scheduled", "retryable"}]
        for job in due:
            job.state = "available"
        return len(due)

    def run_available(self, queues: Sequence[str], *, raises: bool, most: int) -> list[Run]:
        """Run available jobs, and return every attempt. Raises TooManyJobs, and as handlers."""
        discover()
        runs: list[Run] = []
        for _ in range(most):
            job = self._next(queues or handled_queues())
            if job is None:
                return runs
            runs.append(self._run(job, raises=raises))
        if job := self._next(queues or handled_queues()):
            raise TooManyJobs(
                f"{most} attempts ran and a job of type {job.draft['type']} is still available"
            )
        return runs

    @contextmanager
    def run_now(self, *, raises: bool) -> Iterator[None]:
        """Run jobs at their enqueue within the context."""
        before = self._runs_now, self._raises
        discover()
        self._runs_now, self._raises = True, raises
        try:
            yield
        finally:
            self._runs_now, self._raises = before

    def _job(self, job_id: str) -> _Job:
        if job_id not in self._jobs:
            raise JobNotFound(f"no job {job_id}")
        return self._jobs[job_id]

    def _next(self, queues: Sequence[str]) -> _Job | None:
        found = [one for one in self._jobs.values() if one.state == "available"]
        found = [one for one in found if one.queue in queues]
        return min(found, key=lambda one: -one.priority, default=None)

    def _run_at_once(self, job: _Job) -> None:
        if job.state != "available":
            return
        if self._depth == NESTED:
            raise TooManyJobs(f"{NESTED} jobs enqueue one another: {job.draft['type']}")
        self._depth += 1
        try:
            self._run(job, raises=self._raises)
        finally:
            self._depth -= 1

    def _run(self, job: _Job, *, raises: bool) -> Run:
        job.state, job.attempt = "active", job.attempt + 1
        draft = {**job.draft, **job.durability.members}
        outcome = attempt(
            Claimed.of(job.id, draft, job.queue, job.attempt, job.max_attempts), job.durability
        )
        if job.state == "active":  # its handler may have cancelled it
            _end(job, outcome)
        raised = outcome.raised
        if raises and raised is not None and not isinstance(raised, Retry | Discard):
            raise raised
        shown = job.snapshot
        return Run(job.id, shown.type, job.attempt, job.state, job.result, outcome.error)


def _made(draft: dict[str, Any]) -> _Job:
    job_id = str(draft.get("id") or uuid4())
    if draft.get("pending"):
        return _Job(job_id, draft, "pending")
    return _Job(job_id, draft, "scheduled" if _is_later(draft.get("scheduled_at")) else "available")


def _is_later(at: str | None) -> bool:
    if at is None or at == "+PT0S":
        return False
    return at.startswith("+") or datetime.fromisoformat(at) > datetime.now(UTC)


def _end(job: _Job, outcome: Outcome) -> None:
    if outcome.suspended is not None:
        job.attempt -= 1
        job.state = "available" if job.durability.suspend(outcome.suspended) else "scheduled"
        return
    if outcome.error is None:
        job.state, job.result = "completed", outcome.result
        return
    job.errors.append(outcome.error)
    may_retry = outcome.is_retryable and job.attempt < job.max_attempts
    job.state = "retryable" if may_retry else "discarded"


def _enqueued(job: _Job) -> Enqueued:
    args, kwargs = call_of(job.draft["args"])
    shown = job.snapshot
    return Enqueued(
        job.id, shown.type, job.queue, job.state, args, kwargs, job.priority, shown.meta
    )


def discover() -> None:
    """Import the handlers of all apps, in a process with Django."""
    try:
        from django.apps import apps  # noqa: PLC0415 - optional
    except ImportError:
        return
    if apps.ready:
        registry.discover()


_active: Memory | None = None


def active() -> Memory | None:
    """Return the jobs of the running test in memory; None if it has none."""
    return _active


@contextmanager
def in_memory() -> Iterator[Memory]:
    """Keep the jobs of this process in memory within the context, and send none to a server.

    Inside another one it returns the same jobs.
    """
    global _active  # noqa: PLW0603 - one server per process
    if _active is not None:
        yield _active
        return
    _active = Memory()
    use(_active)
    try:
        yield _active
    finally:
        _active = None
        use(None)
