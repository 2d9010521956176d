"""Direct, list and remove workers. Spec: contract 9.4, 24.1, 32.1, 33."""

from dataclasses import dataclass
from datetime import datetime

from django.db.models.functions import Now

from jobs import queries
from jobs.conf import conf
from jobs.database import atomic
from jobs.domain.errors import Conflict, NotFound
from jobs.models import Lease, Worker
from jobs.services.outcome.nack import Nack, nack
from jobs.services.workers.heartbeat import Standing
from jobs.services.workers.held import held_by

DIRECTIVES = {
    "quiet": Standing.QUIET,
    "terminate": Standing.TERMINATE,
    "resume": Standing.RUNNING,
}
WorkerRow = queries.WorkerRow
COUNTED = ("silence_ms", "with_ended", "pool", "tenant")
SHOWN = 1000  # active jobs of one worker
SWEEPS = 5  # rounds that return jobs of a removed worker: a claim may be on its way


def direct(worker_id: str, verb: str) -> Standing:
    """Give a worker a directive, sent with its next heartbeat; `verb` is a key of DIRECTIVES.

    It takes one guarded statement. `terminate` cannot be revoked. Raises NotFound, Conflict.
    """
    wanted = DIRECTIVES[verb]
    found = Worker.objects.filter(id=worker_id)
    if found.filter(directive__lte=_highest_before(wanted)).update(directive=wanted):
        return wanted
    if not found.exists():
        raise NotFound.of("worker", worker_id)
    raise Conflict(
        f"worker {worker_id} has the directive terminate",
        details={"worker_id": worker_id, "directive": "terminate"},
    )


def direct_all(verb: str, pool: str | None = None) -> int:
    """Give all live workers (of a pool) a directive; return how many workers it reached."""
    wanted = DIRECTIVES[verb]
    alive = Worker.objects.filter(
        stopped_at=None, dead_at=None, directive__lte=_highest_before(wanted)
    )
    if pool is not None:
        alive = alive.filter(pool=pool)
    return alive.update(directive=wanted)


def _highest_before(wanted: Standing) -> Standing:
    return Standing.TERMINATE if wanted is Standing.TERMINATE else Standing.QUIET


@dataclass(frozen=True, slots=True)
class WorkerFilter:
    """A filter of workers; None is any. `standing` is running, quiet, stale or terminate.

    `containing` is a part of the name or of the host.
    """

    standing: str | None = None
    pool: str | None = None
    tenant: str | None = None
    with_ended: bool = False
    containing: str | None = None


@dataclass(frozen=True, slots=True)
class WorkerPlace:
    """Where a list continues: after a worker's rank and id."""

    rank: int
    id: str


def workers(
    wanted: WorkerFilter, *, limit: int, offset: int = 0, after: WorkerPlace | None = None
) -> list[WorkerRow]:
    """List workers by name, ended workers last; one statement."""
    return _listed(wanted, limit=limit, offset=offset, after=after)


def standings(wanted: WorkerFilter) -> dict[str, int]:
    """Count the workers of a pool and a tenant by standing; a standing in the filter is ignored."""
    params = _params(wanted)
    return queries.standings({name: params[name] for name in COUNTED})


def _params(wanted: WorkerFilter) -> dict[str, object]:
    return {
        "silence_ms": conf().worker_silence_ms,
        "with_ended": wanted.with_ended,
        "pool": wanted.pool,
        "tenant": wanted.tenant,
        "standing": wanted.standing,
        "containing": wanted.containing,
    }


def _listed(
    wanted: WorkerFilter,
    *,
    limit: int,
    worker_id: str | None = None,
    offset: int = 0,
    after: WorkerPlace | None = None,
) -> list[WorkerRow]:
    return queries.workers(
        {
            **_params(wanted),
            "id": worker_id,
            "size": limit,
            "offset": offset,
            "after_rank": after and after.rank,
            "after_id": after and after.id,
        }
    )


def worker(worker_id: str) -> WorkerRow:
    """Return one worker, also an ended one. Raises NotFound."""
    found = _listed(WorkerFilter(with_ended=True), worker_id=worker_id, limit=1)
    if not found:
        raise NotFound.of("worker", worker_id)
    return found[0]


def active_jobs(worker_id: str) -> list[str]:
    """Return the ids of the jobs a worker holds, at most SHOWN."""
    rows = Lease.objects.filter(worker_id=worker_id).order_by("id")
    return [str(job_id) for job_id in rows.values_list("id", flat=True)[:SHOWN]]


def remove(worker_id: str, *, force: bool) -> int:
    """Remove a worker and return its jobs at once, without a failure; returns how many.

    Raises NotFound; Conflict for a live worker, unless `force`. It first gets the directive to
    terminate, so that it claims no more jobs. A later heartbeat makes the worker anew.
    """
    with atomic():
        # locked: a concurrent heartbeat revives the worker before or after this, not between
        if not Worker.objects.select_for_update().filter(id=worker_id).exists():
            raise NotFound.of("worker", worker_id)
        lives = worker(worker_id).standing != "stale" and _is_heard(worker_id)
        if lives and not force:
            raise Conflict(
                f"worker {worker_id} is alive: stop it, or send force=true",
                details={"worker_id": worker_id, "reason": "worker_alive"},
            )
        Worker.objects.filter(id=worker_id).update(directive=Standing.TERMINATE, dead_at=Now())
    returned = 0
    for _ in range(SWEEPS):
        held = held_by(worker_id)
        if not held:
            break
        given = [
            Nack(job_id, None, requeue=True, attempt=number) for job_id, number in held.items()
        ]
        returned += sum(isinstance(row, queries.Requeued) for row in nack(given, by_worker=False))
    Worker.objects.filter(id=worker_id).delete()
    return returned


def _is_heard(worker_id: str) -> bool:
    """Return whether a worker has not ended, and heartbeats or holds jobs without heartbeats."""
    found = Worker.objects.filter(id=worker_id, stopped_at=None, dead_at=None)
    if found.filter(last_heartbeat_at__isnull=False).exists():
        return True
    return found.exists() and Lease.objects.filter(worker_id=worker_id).exists()


@dataclass(frozen=True, slots=True)
class WorkerHealth:
    """One worker at this moment; `last_heartbeat_at` None: it only fetches."""

    worker_id: str
    state: str
    active_jobs: int
    last_heartbeat_at: datetime | None

    @property
    def is_well(self) -> bool:
        """Whether it is alive and stays."""
        return self.state in {"running", "quiet"}


def worker_health(worker_id: str) -> WorkerHealth:
    """Return the state of a worker. Raises NotFound."""
    found = worker(worker_id)
    state = "drain" if found.standing == "quiet" and found.is_draining else found.standing
    return WorkerHealth(worker_id, state, found.active, found.last_heartbeat_at)
