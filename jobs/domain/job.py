"""A job as stored, with its present state."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, NamedTuple

from jobs.domain.states import CODES, State

COMPLETED, CANCELLED, DISCARDED = (
    CODES[state] for state in (State.COMPLETED, State.CANCELLED, State.DISCARDED)
)
# In the attributes of a job whose checkpoint an extension keeps. FETCH replaces it by the state.
MARK: Final = '"last_checkpoint": null'


class JobKind(NamedTuple):
    """The facts that a key can be restricted by; `type` None: jobs of all types in the queue."""

    queue: str
    type: str | None


@dataclass(slots=True)
class Job:
    """All facts of one job. JSON members are serialized text: parse them only where needed.

    Not frozen: one is built per job on the hot path, and a frozen dataclass costs four times that.
    """

    id: str
    type: str
    queue: str
    tenant: str
    priority: int
    args: str | bytes
    meta: str | bytes
    attributes: str | bytes  # envelope members fixed at PUSH: retry, tags, timeout_ms, unknown ones
    state: int  # code in domain/states.py
    attempt: int
    max_attempts: int
    timeout_ms: int
    created_at: datetime
    enqueued_at: datetime | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None
    scheduled_at: datetime | None = None
    expires_at: datetime | None = None
    activated_at: datetime | None = None
    due_at: datetime | None = None
    ran: bool = False  # ended by an attempt, so it has a completed_at
    dead_letter: bool | None = None
    result: str | bytes | None = None
    error: str | bytes | None = None
    errors: str | bytes | None = None
    retry_delay_ms: int | None = None
    version: str | None = None
    worker_id: str | None = None
    lease_ms: int | None = None
    lease_until: datetime | None = None
    lane_id: int | None = None
    route: int | None = None  # of the lane, for `ReportHooks.explain`
    pool: str | None = None
    watched: bool = False
    deduplicated: bool = False  # the answer to a new job with the same fingerprint
    warnings: Sequence[str] = ()  # of extensions at its enqueue
    request_id: str | None = None  # of the request that stored it
    progress: str | None = None  # JSON object of envelope members: the report of the attempt

    @property
    def is_checkpointed(self) -> bool:
        """Whether an extension may keep a checkpoint of the job."""
        text = self.attributes
        return MARK in (text if isinstance(text, str) else text.decode())


def ends_of(job: Job) -> dict[str, datetime]:
    """Return when a job ended, from the time that fits its state; None if it may still run.

    An attempt that failed for good counts as completed, too. Spec: contract 2.2.
    """
    if job.finished_at is None:
        return {}
    found = {}
    if job.ran or job.state == COMPLETED:
        found["completed_at"] = job.finished_at
    if job.state == CANCELLED:
        found["cancelled_at"] = job.finished_at
    if job.state == DISCARDED:
        found["discarded_at"] = job.finished_at
    return found
