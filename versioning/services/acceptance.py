"""Find the workers that accept a version key, by the same rule as the plan of a claim."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from jobs.conf import conf as core
from jobs.domain.dispatch.claim import Declaration
from ojs_tasks.versions import Version
from versioning import queries
from versioning.conf import conf
from versioning.domain.canary import waits_for
from versioning.domain.declaration import ALL, handles
from versioning.queries import Declared
from versioning.services.routes import Fallen, Routes


@dataclass(frozen=True, slots=True)
class Acceptance:
    """Live workers, and the workers that accept; `unheard` only FETCH and may be dead."""

    running: int = 0
    accepting: int = 0
    unheard: int = 0


def accepts(
    declaration: Declaration, routes: Routes, route: int, fallen: Fallen = frozenset()
) -> bool:
    """Return whether a worker with this declaration gets jobs of a version key.

    `fallen` comes from Routes.fallen_in.
    """
    if handles(declaration) is ALL and conf().require_declaration:
        return is_bare(routes, route)
    return routes.admits(declaration, route, fallen)


def is_bare(routes: Routes, route: int) -> bool:
    """Return whether a version key belongs to unversioned jobs that no rule sent to a version."""
    key = routes.by_id[route]
    return waits_for(key, routes.rules.get(key.type)) is None


def of_workers(queue: str | None = None) -> list[Declared]:
    """Return the declarations of live workers that may fetch a queue; None: any queue."""
    return by_queue([queue])[queue]


def by_queue(queues: Collection[str | None]) -> dict[str | None, list[Declared]]:
    """Return the declarations of live workers for several queues, in one statement."""
    return queries.declarations(queues, core().worker_silence_ms)


def accepts_version(declaration: Declaration, job_type: str, version: Version) -> bool:
    """Return whether a worker with this declaration accepts a version, regardless of rules."""
    if handles(declaration) is ALL and conf().require_declaration:
        return False
    return handles(declaration).accepts(job_type, version)


def accepting(workers: Sequence[Declared], job_type: str, version: Version) -> int:
    """Count the workers whose declarations accept a version."""
    return sum(
        one.workers for one in workers if accepts_version(one.declaration, job_type, version)
    )


def acceptance(
    workers: Sequence[Declared], routes: Routes, route: int, fallen: Fallen = frozenset()
) -> Acceptance:
    """Count the workers that accept the jobs of a version key."""
    return _counted(
        workers, [one for one in workers if accepts(one.declaration, routes, route, fallen)]
    )


def acceptance_unversioned(workers: Sequence[Declared], job_type: str) -> Acceptance:
    """Count the workers that accept unversioned jobs of a type, under any version key."""
    return _counted(
        workers, [one for one in workers if handles(one.declaration).accepts_unversioned(job_type)]
    )


def _counted(workers: Sequence[Declared], fitting: Sequence[Declared]) -> Acceptance:
    return Acceptance(
        sum(one.workers for one in workers),
        sum(one.workers for one in fitting),
        sum(one.unheard for one in fitting),
    )
