"""One typed function per statement in `sql/`: what the pages read beyond the core's services.

Jobs and workers come from the core's services.
"""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from jobs.statements import Statements

_rows = Statements(Path(__file__).resolve().parent / "sql").rows


class MinuteCounts(NamedTuple):
    """What happened in one minute."""

    minute: datetime
    enqueued: int
    completed: int
    failed: int


def hour(queue: str | None = None) -> list[MinuteCounts]:
    """Read the last hour, oldest minute first; minutes in which nothing happened are absent."""
    return [MinuteCounts(*row) for row in _rows("hour", {"queue": queue})]


def tenant_hour(tenant: str) -> list[MinuteCounts]:
    """Read the last hour of a tenant as `hour` does that of all."""
    return [MinuteCounts(*row) for row in _rows("tenant_hour", {"tenant": tenant})]


class Failure(NamedTuple):
    """One failed attempt."""

    job_id: str
    at: datetime
    queue: str
    type: str
    attempt: int
    error_type: str | None
    message: str | None


def failures(size: int) -> list[Failure]:
    """Read the latest failed attempts, latest first."""
    return [Failure(*row) for row in _rows("failures", {"size": size})]


def starts(queues: Sequence[str], minutes: int) -> dict[str, int]:
    """Count the jobs of queues that were handed out lately, by queue; idle ones are absent."""
    return dict(_rows("starts", {"queues": list(queues), "minutes": minutes}))


class TenantSearch(NamedTuple):
    """Which tenants are listed, and from where on; `loud` are ids that come first."""

    containing: str = ""
    state: str | None = None
    loud: Sequence[str] = ()
    only_loud: bool = False
    by_id: bool = False
    only: str | None = None
    after_rank: int | None = None
    after_id: str | None = None


class TenantPlace(NamedTuple):
    """A tenant in the list, what it did lately and what all did together."""

    id: str
    rank: int
    is_loud: bool
    enqueued: int
    started: int
    completed: int
    failed: int  # attempts
    waits_since: datetime | None  # its oldest available job
    is_eligible: bool  # it has jobs to hand out
    weights: float  # of all tenants that have, together
    all_enqueued: int
    all_started: int
    tenants: int  # that did anything


def tenants(wanted: TenantSearch, **bounds: int | str) -> list[TenantPlace]:
    """List tenants with what they did lately; `bounds` as named in `sql/tenants.sql`."""
    params = {**wanted._asdict(), "loud": list(wanted.loud), **bounds}
    return [TenantPlace(*row) for row in _rows("tenants", params)]
