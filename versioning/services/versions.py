"""Count waiting and active jobs of each version of a type, and its workers. Spec: contract 22.3."""

from collections import Counter
from dataclasses import dataclass

from ojs_tasks.versions import Version
from versioning import queries
from versioning.queries import Declared
from versioning.services.acceptance import acceptance, by_queue
from versioning.services.held import LANES, MOST, is_held
from versioning.services.routes import latest


@dataclass(frozen=True, slots=True)
class VersionLoad:
    """One version; jobs are counted up to a bound, `workers` are live and accept it."""

    version: Version
    available: int
    active: int
    workers: int
    held: int  # available jobs in queues where no live worker accepts it


@dataclass(frozen=True, slots=True)
class TypeVersions:
    """All versions that a type ever came with, ascending."""

    type: str
    versions: tuple[VersionLoad, ...]
    workers: tuple[Declared, ...]  # live workers, by declaration
    held_unversioned: int = 0  # held jobs without a version
    held_queues: tuple[str, ...] = ()  # the queues of held jobs, by name

    @property
    def held(self) -> int:
        """Available jobs in queues where no live worker accepts their version."""
        return sum(one.held for one in self.versions) + self.held_unversioned


def versions(job_type: str) -> TypeVersions:
    """Count the jobs of a type by version; three statements, and the reads of a stale cache.

    Jobs of one version may have several version keys, if rules sent them to other versions.
    """
    routes = latest()
    own = {n: k.version for n, k in routes.by_id.items() if k.type == job_type and k.version}
    parted = routes.split_types.get(job_type)
    counted = sorted([*own, parted.route] if parted else own)
    waiting = queries.waiting(counted, most=MOST, lanes=LANES) if counted else []
    active: Counter[Version] = Counter()
    for route, jobs in (queries.active(sorted(own)) if own else {}).items():
        active[own[route]] += jobs
    by_name = by_queue([None, *{row.queue for row in waiting}])
    available: Counter[Version] = Counter()
    held: Counter[Version] = Counter()
    bare = 0
    held_queues: set[str] = set()
    for row in waiting:
        jobs = row.jobs if is_held(row, by_name[row.queue], routes) else 0
        if jobs:
            held_queues.add(row.queue)
        if row.route not in own:
            bare += jobs
            continue
        available[own[row.route]] += row.jobs
        held[own[row.route]] += jobs
    workers = by_name[None]
    plain = {own[n]: n for n, k in routes.by_id.items() if n in own and k.target is None}
    return TypeVersions(
        job_type,
        tuple(
            VersionLoad(
                version,
                available[version],
                active[version],
                acceptance(workers, routes, plain[version]).accepting,
                held[version],
            )
            for version in sorted(plain)
        ),
        tuple(workers),
        bare,
        tuple(sorted(held_queues)),
    )
