"""The last jobs that a version which is tried out had attempts of: to be looked at if it goes back.

Noted from the record by the loop `canaries`, with outcomes: see services/outcomes.py.
"""

from typing import Final

from versioning import queries
from versioning.domain.canary import newest, served_as
from versioning.domain.canary_request import shares_of
from versioning.domain.version import Version, parse_version
from versioning.models import Routing, Touched
from versioning.queries import Noted, TouchedJob
from versioning.services.routes import Routes, latest

KEPT: Final = 1_000  # of a route that failed, and as many that were acknowledged
KEPT_MS: Final = 30 * 86_400_000
FORGOTTEN: Final = 5_000


def noted(routes: Routes) -> Noted:
    """Return the routes of versions that are tried out, or were until they were taken back."""
    rows = Routing.objects.values_list("type", "rules", "rolled_back_from")
    tried = {job_type: _tried(rules, gone) for job_type, rules, gone in rows}
    return Noted(
        [
            route
            for route, key in routes.by_id.items()
            if tried.get(key.type) is not None and served_as(key) == tried[key.type]
        ],
        KEPT,
    )


def _tried(rules: list[dict[str, object]], gone: str | None) -> Version | None:
    if gone is not None:
        return parse_version(gone)
    return newest(shares_of(rules)).version if len(rules) > 1 else None


def forget(noted_now: Noted) -> None:
    """Drop what is too old, and of routes that are noted now what is beyond the last ones."""
    queries.forget_touched(noted_now, age_ms=KEPT_MS, batch=FORGOTTEN)


def touched(
    job_type: str, version: Version, *, failed: bool | None, limit: int, offset: int = 0
) -> list[TouchedJob]:
    """List the last jobs of a type that workers of a version had attempts of, latest first.

    `failed`: those whose attempt failed, or was acknowledged; None: both. One statement, and those
    that read routes anew.
    """
    of_version = _routes_of(job_type, version)
    if not of_version:
        return []
    return queries.touched(of_version, failed=failed, limit=limit, offset=offset)


def count(job_type: str, version: Version, *, failed: bool | None) -> int:
    """Count them: as few as are kept."""
    some = {} if failed is None else {"has_failed": failed}
    return Touched.objects.filter(route__in=_routes_of(job_type, version), **some).count()


def _routes_of(job_type: str, version: Version) -> list[int]:
    return [
        route
        for route, key in latest().by_id.items()
        if key.type == job_type and served_as(key) == version
    ]
