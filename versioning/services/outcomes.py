"""Count outcomes of versions from the event record.

Requests of workers count nothing. The loop `canaries` reads the record from a stored position on,
as other readers do (docs/adr/0012). It joins each ended attempt with the version key of its job. So
an ACK has no additional cost, and each end counts once, even if a process is killed.
"""

from collections import Counter
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final

from django.db.models import Sum

from jobs.services.read import clock
from versioning import queries
from versioning.domain.canary import Rules, served_as
from versioning.domain.evidence import Outcomes
from versioning.domain.version import Version
from versioning.models import Outcome, Started
from versioning.queries import Noted
from versioning.services import touched
from versioning.services.routes import Routes

SLOT_S: Final = 5
BATCH: Final = 20_000  # events
KEPT_MS: Final = 86_400_000 + 60_000  # longer than any window
FORGOTTEN: Final = 5_000
ByVersion = Mapping[Version, Outcomes]


def read(routes: Routes) -> tuple[dict[int, Outcomes], bool]:
    """Count by version key the attempts that ended since the last call; also whether more wait.

    The first call only sets the start position. Call it in the transaction that uses the result.
    """
    types = sorted({key.type for key in routes.by_id.values()})
    if not types:
        return {}, False
    queries.begin_reading()
    noted = touched.noted(routes) if routes.rules else Noted()
    found, has_more = queries.outcomes(types, noted, slot_s=SLOT_S, batch=BATCH)
    queries.forget_outcomes(KEPT_MS, batch=FORGOTTEN)
    if routes.rules:
        queries.forget_runs(KEPT_MS, batch=FORGOTTEN)
        touched.delete_surplus(noted)
    return {route: Outcomes(*ended) for route, ended in found.items()}, has_more


def by_version(job_type: str, routes: Routes, found: Mapping[int, Outcomes]) -> ByVersion:
    """Sum the outcomes of a type by the version that they count for."""
    acked: Counter[Version] = Counter()
    failed: Counter[Version] = Counter()
    for route, ended in found.items():
        key = routes.by_id.get(route)
        version = None if key is None or key.type != job_type else served_as(key)
        if version is not None:
            acked[version] += ended.acked
            failed[version] += ended.failed
    return {one: Outcomes(acked[one], failed[one]) for one in acked.keys() | failed.keys()}


def in_window(job_type: str, routes: Routes, window_ms: int) -> ByVersion:
    """Sum the outcomes of a type in the last `window_ms`; one statement, and one for the clock."""
    return since(job_type, routes, clock.now() - timedelta(milliseconds=window_ms + SLOT_S * 1000))


def since(job_type: str, routes: Routes, moment: datetime) -> ByVersion:
    """Sum the outcomes of a type that were counted from a moment on, to within a slot."""
    of_type = [route for route, key in routes.by_id.items() if key.type == job_type]
    rows = Outcome.objects.filter(route__in=of_type, at__gt=moment).values_list("route")
    summed = rows.annotate(Sum("acked"), Sum("failed"))
    found = {route: Outcomes(acked, failed) for route, acked, failed in summed}
    return by_version(job_type, routes, found)


def runs(job_type: str, routes: Routes, since: datetime) -> dict[Version, dict[int, int]]:
    """Count acknowledged attempts of a type since a minute, by version and bucket of run time."""
    of_type = [route for route, key in routes.by_id.items() if key.type == job_type]
    found: dict[Version, Counter[int]] = {}
    for route, buckets in (queries.runs(of_type, since) if of_type else {}).items():
        version = served_as(routes.by_id[route])
        if version is not None:
            found.setdefault(version, Counter()).update(buckets)
    return {version: dict(buckets) for version, buckets in found.items()}


def started(routes: Routes) -> dict[tuple[str, Version], int]:
    """Return how many attempts were ever handed out, by type and the version they count for."""
    found: Counter[tuple[str, Version]] = Counter()
    for route, jobs in Started.objects.values_list("route", "jobs"):
        key = routes.by_id.get(route)
        version = None if key is None else served_as(key)
        if key is not None and version is not None:
            found[key.type, version] += jobs
    return dict(found)


def judged(rules: Rules) -> tuple[Version, Version] | None:
    """Return the canary and the stable version; None: there is only one version."""
    ordered = sorted((one.version for one in rules.shares), reverse=True)
    return (ordered[0], ordered[1]) if len(ordered) > 1 else None
