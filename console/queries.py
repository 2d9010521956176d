"""One typed function per statement in `sql/`: data of pages beyond the core's services.

Jobs and workers come from the core's services.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from jobs.statements import Statements

_rows = Statements(Path(__file__).resolve().parent / "sql").rows


class Failure(NamedTuple):
    """A failed attempt."""

    job_id: str
    at: datetime
    queue: str
    type: str
    attempt: int
    error_type: str | None
    message: str | None


LOOKED = 5_000  # latest failed attempts that are searched for attempts of a tenant


def failures(size: int, tenant: str | None = None) -> list[Failure]:
    """Read the latest failed attempts, newest first; of a tenant only among the latest LOOKED."""
    params = {"size": size, "tenant": tenant, "looked": size if tenant is None else LOOKED}
    return [Failure(*row) for row in _rows("failures", params)]


def starts(queues: Sequence[str], minutes: int) -> dict[str, int]:
    """Count the recently started jobs by queue; idle queues are absent."""
    return dict(_rows("starts", {"queues": list(queues), "minutes": minutes}))


class TenantShare(NamedTuple):
    """A tenant that shares over several queues: its recent starts and the sums of all tenants."""

    tenant: str
    weight: float
    waits: bool  # it has jobs to hand out
    started: int
    all_started: int | None  # None: no job started
    weights: float | None  # sum over the tenants that have jobs to hand out
    tenants: int

    @property
    def got(self) -> float | None:
        """Return its part of all started jobs."""
        return self.started / self.all_started if self.all_started else None

    @property
    def due(self) -> float | None:
        """Return the part to which it is entitled; None if it has no job to hand out."""
        return self.weight / self.weights if self.waits and self.weights else None


def shares(scope: str, minutes: int, size: int) -> list[TenantShare]:
    """List tenants that share over a scope by their recent starts, most first."""
    found = _rows("shares", {"scope": scope, "minutes": minutes, "size": size})
    return [TenantShare(*row) for row in found]


class TenantSearch(NamedTuple):
    """The filter and position of the list of tenants; `noisy` are noisy tenants, listed first."""

    containing: str = ""
    state: str | None = None
    noisy: Sequence[str] = ()
    only_noisy: bool = False
    by_id: bool = False
    after_rank: int | None = None
    after_id: str | None = None


class Listed(NamedTuple):
    """A tenant's place in the list; rank 0 stands for tenants that are neither busy nor noisy."""

    id: str
    rank: int
    is_noisy: bool


class TenantPlace(NamedTuple):
    """The recent activity of a tenant, and of all tenants together."""

    id: str
    is_noisy: bool
    enqueued: int
    started: int
    completed: int
    failed: int  # attempts
    waits_since: datetime | None  # creation of its oldest available job
    is_eligible: bool  # it has jobs to hand out
    weights: float  # of all eligible tenants; with many lanes at the last survey
    all_enqueued: int  # from here on at the last survey
    all_started: int
    tenants: int  # with any activity


def tenants(wanted: TenantSearch, **bounds: int | str) -> tuple[list[Listed], str | None]:
    """List tenants; `bounds` as named in `sql/tenants.sql`.

    The second value is the last tenant that was read, if the search stopped at its bound.
    """
    params = {**wanted._asdict(), "noisy": list(wanted.noisy), **bounds}
    found = _rows("tenants", params)
    further = next((row[3] for row in found if row[0] is None), None)
    return [Listed(*row[:3]) for row in found if row[0] is not None], further


def tenant_places(tenants: Sequence[str], minutes: int, lanes: int) -> dict[str, TenantPlace]:
    """Read the recent activity of tenants, by id; parameters as in `sql/tenant_places.sql`."""
    params = {"tenants": list(tenants), "minutes": minutes, "lanes": lanes}
    rows = _rows("tenant_places", params)
    return {row[0]: TenantPlace(*row) for row in rows}


class Dead(NamedTuple):
    """A dead job; `looked` and `back_to` describe the search and are equal in all rows."""

    id: str
    at: float  # Unix seconds
    queue: str
    type: str
    tenant: str
    version: str | None
    error_type: str | None
    fingerprint: str
    looked: int
    back_to: datetime


def dead(**wanted: str | int | None) -> list[Dead]:
    """Read the latest dead jobs, newest first; parameters as named in `sql/dead.sql`."""
    return [Dead(*row) for row in _rows("dead", wanted)]


class Share(NamedTuple):
    """The number of jobs with one value of a dimension."""

    dimension: str  # "queue", "tenant" or "type"
    name: str
    jobs: int


def spread(ids: Sequence[str]) -> list[Share]:
    """Count jobs by queue, tenant and type, the most frequent values first."""
    return [Share(*row) for row in _rows("spread", {"ids": list(ids)})]


class TenantJobs(NamedTuple):
    """The jobs of a tenant in a queue in one state."""

    tenant: str
    state: int  # code
    jobs: int
    tenants: int  # with jobs in the queue; equal in all rows


def tenants_of_queue(queue: str, size: int) -> list[TenantJobs]:
    """Read the tenants with the most jobs of a queue, most first."""
    return [TenantJobs(*row) for row in _rows("tenants_of_queue", {"queue": queue, "size": size})]


def created(groups: Mapping[str, Sequence[str]]) -> dict[str, tuple[datetime, datetime]]:
    """Read when the oldest and the newest job of each group were created."""
    pairs = [(one, name) for name, ids in groups.items() for one in ids]
    params = {"ids": [one for one, _ in pairs], "groups": [name for _, name in pairs]}
    return {name: (oldest, newest) for name, oldest, newest in _rows("created", params)}


def lock_operation(lock: int, key: int) -> bool:
    """Try a lock until the commit; False if another transaction holds it."""
    return bool(_rows("lock_operation", {"lock": lock, "key": key})[0][0])


def hurry(most_ms: int) -> None:
    """Limit each statement of this transaction; beyond `most_ms` it raises OperationalError."""
    _rows("hurry", {"most_ms": str(most_ms)})


class HeldJob(NamedTuple):
    """A job that a worker runs; `due_at` is the end of its lease."""

    id: str
    type: str
    queue: str
    tenant: str
    attempt: int
    started_at: datetime
    due_at: datetime


def held(worker: str, size: int) -> list[HeldJob]:
    """Read the running jobs of a worker, oldest first."""
    return [HeldJob(*row) for row in _rows("held", {"worker": worker, "size": size})]


class LoopState(NamedTuple):
    """A loop and the session that leads it; None: no leader, or not visible to this role."""

    name: str
    ticked_at: datetime | None
    is_stuck: bool
    pid: int | None
    address: str | None
    application: str | None
    leads_since: datetime | None


def loops(keys: Mapping[str, int], stale_ms: int) -> list[LoopState]:
    """Read the state of loops, by name; `keys` are the second keys of their locks."""
    params = {"names": list(keys), "keys": list(keys.values()), "stale_ms": stale_ms}
    return [LoopState(*row) for row in _rows("loops", params)]


class TableSize(NamedTuple):
    """A table with its indexes; bytes, and rows by the statistics of the database."""

    name: str
    bytes: int
    index_bytes: int
    live: int
    dead: int
    vacuumed_at: datetime | None
    analyzed_at: datetime | None

    @property
    def dead_part(self) -> float:
        """Return the part of dead rows."""
        return self.dead / (self.live + self.dead) if self.dead else 0.0


def tables(size: int) -> list[TableSize]:
    """Read the largest tables."""
    return [TableSize(*row) for row in _rows("tables", {"size": size})]


class Database(NamedTuple):
    """The present state of the database server."""

    bytes: int
    version: str
    started_at: datetime
    now: datetime
    is_replica: bool
    sessions: int
    most_sessions: int
    oldest_transaction_at: datetime | None
    waiting_locks: int
    rollbacks: int
    deadlocks: int


def database() -> Database:
    """Read the state of the database server."""
    return Database(*_rows("database", {})[0])


class Replica(NamedTuple):
    """A replica of this server; None: no lag, or not visible to this role."""

    name: str
    address: str | None
    state: str | None
    sync: str | None
    lag_ms: float | None
    behind_bytes: int | None


def replicas() -> list[Replica]:
    """Read the replicas."""
    return [Replica(*row) for row in _rows("replicas", {})]


def why_example(
    *,
    queues: Sequence[str] | None = None,
    tenant: str | None = None,
    job_type: str | None = None,
    lanes: int = 500,
    looked: int = 1,
) -> str | None:
    """Return the id of an available job that stands for those of its subject; None: none waits."""
    found = _rows(
        "why_example",
        {
            "queues": None if queues is None else list(queues),
            "tenant": tenant,
            "type": job_type,
            "lanes": lanes,
            "looked": looked,
        },
    )
    return found[0][0] if found else None
