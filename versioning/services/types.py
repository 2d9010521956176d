"""List types that have versions or routing rules."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from versioning.domain.version import Version, parse_version
from versioning.models import Held, Rollback, Route, Routing


@dataclass(frozen=True, slots=True)
class TypeLine:
    """One type; `held` is the number of its jobs that no worker accepted at the last look."""

    type: str
    versions: int
    rules: Routing | None
    held: int


def page(*, containing: str, limit: int, offset: int) -> tuple[list[TypeLine], int]:
    """List types by name; returns a page and the total. Five statements."""
    some = {"type__contains": containing} if containing else {}
    with_versions = Route.objects.filter(**some).values_list("type", flat=True)
    every = with_versions.union(Routing.objects.filter(**some).values_list("type", flat=True))
    types = list(every.order_by("type")[offset : offset + limit])
    return _lines(types), every.count()


def _lines(types: Sequence[str]) -> list[TypeLine]:
    rules = {row.type: row for row in Routing.objects.filter(type__in=types)}
    routes = list(Route.objects.filter(type__in=types))
    jobs = dict(Held.objects.values_list("route", "jobs"))
    held: Counter[str] = Counter()
    for row in routes:
        held[row.type] += jobs.get(row.id, 0)
    versions = {name: set[tuple[int | None, int | None]]() for name in types}
    for row in routes:
        if row.major is not None:
            versions[row.type].add((row.major, row.minor))
    return [TypeLine(one, len(versions[one]), rules.get(one), held[one]) for one in types]


def rollbacks(job_type: str, *, limit: int) -> list[Rollback]:
    """List the rollbacks of a type, latest first."""
    return list(Rollback.objects.filter(type=job_type).order_by("-at")[:limit])


def taken_back(job_type: str) -> Version | None:
    """Return the version of a type that was rolled back last, or None."""
    latest = rollbacks(job_type, limit=1)
    return parse_version(latest[0].from_version) if latest else None
