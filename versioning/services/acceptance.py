"""Which workers accept a route, by the very rule that their claims are planned by."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from jobs.conf import conf as core
from jobs.domain.claim import Declaration
from jobs.domain.version import Version
from versioning import queries
from versioning.conf import conf
from versioning.domain.canary import waits_for
from versioning.domain.declaration import ALL, handles
from versioning.queries import Declared
from versioning.services.routes import Fallen, Routes


@dataclass(frozen=True, slots=True)
class Acceptance:
    """Workers that run, and those of them that accept; `unheard` only fetch, and may be gone."""

    running: int = 0
    accepting: int = 0
    unheard: int = 0


def accepts(
    declaration: Declaration, routes: Routes, route: int, fallen: Fallen = frozenset()
) -> bool:
    """Tell whether a worker that declared this is handed jobs of a route; see Routes.fallen_in."""
    if handles(declaration) is ALL and conf().require_declaration:
        return is_bare(routes, route)
    return routes.admits(declaration, route, fallen)


def is_bare(routes: Routes, route: int) -> bool:
    """Tell whether a route is of jobs without a version that no rule sent to one."""
    key = routes.by_id[route]
    return waits_for(key, routes.rules.get(key.type)) is None


def of_workers(queue: str | None = None) -> list[Declared]:
    """Return what the workers declared that run and may fetch a queue; None: any."""
    return by_queue([queue])[queue]


def by_queue(queues: Collection[str | None]) -> dict[str | None, list[Declared]]:
    """Return the same of several queues, by one statement."""
    return queries.declarations(queues, core().worker_silence_ms)


def accepts_version(declaration: Declaration, job_type: str, version: Version) -> bool:
    """Tell whether a worker that declared this takes a version, whatever rules say."""
    if handles(declaration) is ALL and conf().require_declaration:
        return False
    return handles(declaration).accepts(job_type, version)


def accepting(workers: Sequence[Declared], job_type: str, version: Version) -> int:
    """Count the workers that accept a version by what they declared."""
    return sum(
        one.workers for one in workers if accepts_version(one.declaration, job_type, version)
    )


def acceptance(
    workers: Sequence[Declared], routes: Routes, route: int, fallen: Fallen = frozenset()
) -> Acceptance:
    """Count the workers that accept the jobs of a route."""
    return _counted(
        workers, [one for one in workers if accepts(one.declaration, routes, route, fallen)]
    )


def acceptance_unversioned(workers: Sequence[Declared], job_type: str) -> Acceptance:
    """Count the workers that accept jobs without a version of a type, in whatever route."""
    return _counted(
        workers, [one for one in workers if handles(one.declaration).accepts_unversioned(job_type)]
    )


def _counted(workers: Sequence[Declared], fitting: Sequence[Declared]) -> Acceptance:
    return Acceptance(
        sum(one.workers for one in workers),
        sum(one.workers for one in fitting),
        sum(one.unheard for one in fitting),
    )
