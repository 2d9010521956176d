"""One typed function per statement in `sql/`: what the pages read beyond the core's services.

Jobs and workers come from the core's services.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from jobs.statements import Statements

_rows = Statements(Path(__file__).resolve().parent / "sql").rows


class Failure(NamedTuple):
    """One failed attempt."""

    job_id: str
    at: datetime
    queue: str
    type: str
    attempt: int
    error_type: str | None
    message: str | None


LOOKED = 5_000  # failed attempts that are looked through for those of a tenant


def failures(size: int, tenant: str | None = None) -> list[Failure]:
    """Read the latest failed attempts, latest first, of a tenant among the latest LOOKED of all."""
    params = {"size": size, "tenant": tenant, "looked": size if tenant is None else LOOKED}
    return [Failure(*row) for row in _rows("failures", params)]


def starts(queues: Sequence[str], minutes: int) -> dict[str, int]:
    """Count the jobs of queues that were handed out lately, by queue; idle ones are absent."""
    return dict(_rows("starts", {"queues": list(queues), "minutes": minutes}))


class TenantShare(NamedTuple):
    """A tenant that shares over several queues, what it got lately and what all did together."""

    tenant: str
    weight: float
    waits: bool  # it has jobs to hand out
    started: int
    all_started: int | None  # None: nothing was
    weights: float | None  # of all that have jobs to hand out, together
    tenants: int

    @property
    def got(self) -> float | None:
        """Return its part of what was handed out."""
        return self.started / self.all_started if self.all_started else None

    @property
    def due(self) -> float | None:
        """Return the part it is entitled to; None: it has no job to hand out."""
        return self.weight / self.weights if self.waits and self.weights else None


def shares(scope: str, minutes: int, size: int) -> list[TenantShare]:
    """List tenants that share over a scope by what they got lately, most first."""
    found = _rows("shares", {"scope": scope, "minutes": minutes, "size": size})
    return [TenantShare(*row) for row in found]


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


class Dead(NamedTuple):
    """A job of the dead letter; the last two are the same in every row: what was read for them."""

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
    """Read the latest dead jobs, the latest first; parameters as named in `sql/dead.sql`."""
    return [Dead(*row) for row in _rows("dead", wanted)]


class Share(NamedTuple):
    """How many of some jobs have one value of a dimension."""

    dimension: str  # "queue", "tenant" or "type"
    name: str
    jobs: int


def spread(ids: Sequence[str]) -> list[Share]:
    """Count jobs by queue, tenant and type, the most frequent values first."""
    return [Share(*row) for row in _rows("spread", {"ids": list(ids)})]


def lock_operation(lock: int, key: int) -> bool:
    """Try a lock until the commit; false: another transaction has it."""
    return bool(_rows("lock_operation", {"lock": lock, "key": key})[0][0])


def hurry(most_ms: int) -> None:
    """Let no statement of this transaction take longer; those that do raise OperationalError."""
    _rows("hurry", {"most_ms": str(most_ms)})


class HeldJob(NamedTuple):
    """A job that a worker runs; `due_at`: when its lease ends."""

    id: str
    type: str
    queue: str
    tenant: str
    attempt: int
    started_at: datetime
    due_at: datetime


def held(worker: str, size: int) -> list[HeldJob]:
    """Read the jobs a worker runs, oldest first."""
    return [HeldJob(*row) for row in _rows("held", {"worker": worker, "size": size})]


class LoopState(NamedTuple):
    """A loop and the session that leads it; nulls: nobody does, or may be seen to."""

    name: str
    ticked_at: datetime | None
    is_stuck: bool
    pid: int | None
    address: str | None
    application: str | None
    leads_since: datetime | None


def loops(keys: Mapping[str, int], stale_ms: int) -> list[LoopState]:
    """Read how loops are, by name; `keys` are the second keys of their locks."""
    params = {"names": list(keys), "keys": list(keys.values()), "stale_ms": stale_ms}
    return [LoopState(*row) for row in _rows("loops", params)]


class TableSize(NamedTuple):
    """A table with its indexes; bytes and rows, as the statistics of the database have them."""

    name: str
    bytes: int
    index_bytes: int
    live: int
    dead: int
    vacuumed_at: datetime | None
    analyzed_at: datetime | None

    @property
    def dead_part(self) -> float:
        """Which part of the rows is dead."""
        return self.dead / (self.live + self.dead) if self.dead else 0.0


def tables(size: int) -> list[TableSize]:
    """Read the largest tables."""
    return [TableSize(*row) for row in _rows("tables", {"size": size})]


class Database(NamedTuple):
    """The database server as seen now."""

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
    """Look at the database server."""
    return Database(*_rows("database", {})[0])


class Replica(NamedTuple):
    """A server that follows this one; nulls: nothing is behind, or it may not be seen."""

    name: str
    address: str | None
    state: str | None
    sync: str | None
    lag_ms: float | None
    behind_bytes: int | None


def replicas() -> list[Replica]:
    """Read who follows."""
    return [Replica(*row) for row in _rows("replicas", {})]
