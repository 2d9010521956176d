"""Tell workers what to do, and how they are. Spec: contract 9.4, 32.1, 33 GS-14."""

from dataclasses import dataclass
from datetime import datetime

from django.db.models import Q

from jobs import queries
from jobs.conf import conf
from jobs.domain.errors import Conflict, NotFound
from jobs.models import Lease, Worker
from jobs.services.heartbeat import Standing

DIRECTIVES = {
    "quiet": Standing.QUIET,
    "terminate": Standing.TERMINATE,
    "resume": Standing.RUNNING,
}


def direct(worker_id: str, verb: str) -> Standing:
    """Give a worker a directive, told with its next heartbeat; `verb` is a key of DIRECTIVES.

    One guarded statement: from terminate there is no way back. Raises NotFound, Conflict.
    """
    wanted = DIRECTIVES[verb]
    known = Worker.objects.filter(id=worker_id)
    if known.filter(directive__lte=_highest_before(wanted)).update(directive=wanted):
        return wanted
    if not known.exists():
        raise NotFound.of("worker", worker_id)
    raise Conflict(
        f"worker {worker_id} was told to terminate",
        details={"worker_id": worker_id, "directive": "terminate"},
    )


def _highest_before(wanted: Standing) -> Standing:
    return Standing.TERMINATE if wanted is Standing.TERMINATE else Standing.QUIET


@dataclass(frozen=True, slots=True)
class WorkerHealth:
    """One worker as seen now; `last_heartbeat_at` None: it only fetches."""

    worker_id: str
    state: str
    active_jobs: int
    last_heartbeat_at: datetime | None

    @property
    def is_well(self) -> bool:
        """It lives and is not about to leave."""
        return self.state in {"running", "quiet"}


def worker_health(worker_id: str) -> WorkerHealth:
    """Tell how a worker is. Raises NotFound."""
    silent = Q(last_heartbeat_at__lt=queries.ago(conf().worker_silence_ms))
    worker = Worker.objects.filter(id=worker_id).annotate(is_silent=silent).first()
    if worker is None:
        raise NotFound.of("worker", worker_id)
    active = Lease.objects.filter(worker_id=worker_id).count()
    return WorkerHealth(worker_id, _state(worker), active, worker.last_heartbeat_at)


def _state(worker: Worker) -> str:
    standing = Standing(max(worker.reported, worker.directive))
    if worker.stopped_at is None and (worker.dead_at or worker.is_silent):  # type: ignore[attr-defined]  # annotated
        return "stale"
    if standing is Standing.QUIET and worker.is_draining:
        return "drain"
    return standing.name.lower()
