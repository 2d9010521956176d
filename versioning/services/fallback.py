"""Fall back to the jobs' own versions if no worker accepts the drawn version.

This applies to rules with `on_no_worker` `fallback`, queue by queue. The condition: a job has
waited for `fallback_after`, and no live worker that fetches its queue accepts its version key. The
version key is then open to all workers that accept the job's own version, until a worker accepts
the drawn version. Spec: contract 22.4.
"""

from jobs.database import atomic
from jobs.services.lanes import configuration
from versioning import queries
from versioning.domain.canary import OnNoWorker
from versioning.models import Fallback, Routing
from versioning.services.acceptance import acceptance, of_workers
from versioning.services.held import LANES
from versioning.services.routes import Routes
from versioning.services.routes import clear as clear_routes

Place = tuple[int, str]  # a version key, and a queue


def watch(routes: Routes) -> int:
    """Look once; returns how many fallbacks began or ended.

    Locks: the configuration version.
    """
    falls = [t for t, rules in routes.rules.items() if rules.on_no_worker is OnNoWorker.FALLBACK]
    before = {(n, queue) for queue, fallen in routes.fallen.items() for n in fallen}
    if not falls and not before:
        return 0
    after_ms = dict(Routing.objects.filter(type__in=falls).values_list("type", "fallback_ms"))
    wanted = {n: after_ms[k.type] for n, k in routes.by_id.items() if k.type in after_ms}
    overdue = set(queries.overdue(wanted, lanes=LANES)) if wanted else set()
    accepted = {place for place in overdue | before if _is_accepted(routes, place)}
    gone = {place for place in before if place in accepted or place[0] not in wanted}
    new = overdue - accepted - before
    if gone or new:
        _store(gone, new)
    return len(gone) + len(new)


def _is_accepted(routes: Routes, place: Place) -> bool:
    route, queue = place
    return acceptance(of_workers(queue), routes, route).accepting > 0


def _store(gone: set[Place], new: set[Place]) -> None:
    with atomic():
        configuration.change()
        for route, queue in sorted(gone):
            Fallback.objects.filter(route=route, queue=queue).delete()
        Fallback.objects.bulk_create(
            [Fallback(route=route, queue=queue) for route, queue in sorted(new)],
            ignore_conflicts=True,
        )
    clear_routes()
