"""What waits and runs of each version of a type, and who accepts it. Spec: contract 22 §3."""

from collections import Counter
from dataclasses import dataclass

from jobs.domain.version import Version
from versioning import queries
from versioning.models import Route
from versioning.services.acceptance import acceptance, of_workers
from versioning.services.held import LANES, MOST


@dataclass(frozen=True, slots=True)
class VersionLoad:
    """One version; numbers of jobs are counted up to a bound, `workers` accept it and run."""

    version: Version
    available: int
    active: int
    workers: int
    held: int  # of the available: in queues where no worker that runs accepts it


@dataclass(frozen=True, slots=True)
class TypeVersions:
    """All versions that a type ever came with, ascending."""

    type: str
    versions: tuple[VersionLoad, ...]

    @property
    def held(self) -> int:
        """Available jobs that no worker accepts."""
        return sum(one.held for one in self.versions)


def versions(job_type: str) -> TypeVersions:
    """Count the jobs of a type by version; statements: four, and one for each queue that waits."""
    rows = Route.objects.filter(type=job_type).order_by("major", "minor")
    routes = {row.id: Version(row.major, row.minor) for row in rows}
    waiting = queries.waiting(sorted(routes), most=MOST, lanes=LANES) if routes else []
    active = queries.active(sorted(routes)) if routes else {}
    by_queue = {queue: of_workers(queue) for queue in {row.queue for row in waiting}}
    available: Counter[int] = Counter()
    held: Counter[int] = Counter()
    for row in waiting:
        available[row.route] += row.jobs
        if not acceptance(by_queue[row.queue], job_type, routes[row.route]).accepting:
            held[row.route] += row.jobs
    workers = of_workers() if routes else []
    return TypeVersions(
        job_type,
        tuple(
            VersionLoad(
                version,
                available[route],
                active.get(route, 0),
                acceptance(workers, job_type, version).accepting,
                held[route],
            )
            for route, version in routes.items()
        ),
    )
