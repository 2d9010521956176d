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
    after_rank: int | None = None
    after_id: str | None = None


class Listed(NamedTuple):
    """A tenant's place in the list; 0 is that of all that are neither busy nor loud."""

    id: str
    rank: int
    is_loud: bool


class TenantPlace(NamedTuple):
    """What a tenant did lately and what all did together."""

    id: str
    is_loud: bool
    enqueued: int
    started: int
    completed: int
    failed: int  # attempts
    waits_since: datetime | None  # its oldest available job
    is_eligible: bool  # it has jobs to hand out
    weights: float  # of all tenants that have, together, as of the last survey, as what follows
    all_enqueued: int
    all_started: int
    tenants: int  # that did anything


def tenants(wanted: TenantSearch, **bounds: int | str) -> tuple[list[Listed], str | None]:
    """List tenants; `bounds` as named in `sql/tenants.sql`.

    Beside them the last tenant that was looked at, where there are more than may be.
    """
    params = {**wanted._asdict(), "loud": list(wanted.loud), **bounds}
    found = _rows("tenants", params)
    further = next((row[3] for row in found if row[0] is None), None)
    return [Listed(*row[:3]) for row in found if row[0] is not None], further


def tenant_places(tenants: Sequence[str], minutes: int) -> dict[str, TenantPlace]:
    """Read what tenants did lately, by id."""
    rows = _rows("tenant_places", {"tenants": list(tenants), "minutes": minutes})
    return {row[0]: TenantPlace(*row) for row in rows}
