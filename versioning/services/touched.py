"""The last jobs with attempts of a canary, for a review after a rollback.

The loop `canaries` records them with the outcomes: see services/outcomes.py.
"""

from typing import Final

from versioning import queries
from versioning.domain.canary import newest, served_as
from versioning.domain.canary_request import shares_of
from versioning.domain.version import Version, parse_version
from versioning.models import Routing, Touched
from versioning.queries import Noted, TouchedJob
from versioning.services.routes import Routes, latest

KEPT: Final = 1_000  # failed jobs of a version key, and as many acknowledged jobs
KEPT_MS: Final = 30 * 86_400_000
FORGOTTEN: Final = 5_000


def noted(routes: Routes) -> Noted:
    """Return the version keys of canaries, and of rolled back versions."""
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


def delete_surplus(noted_now: Noted) -> None:
    """Delete old rows, and rows beyond the bound of current version keys."""
    queries.forget_touched(noted_now, age_ms=KEPT_MS, batch=FORGOTTEN)


def touched(
    job_type: str, version: Version, *, failed: bool | None, limit: int, offset: int = 0
) -> list[TouchedJob]:
    """List the last jobs of a type with attempts by workers of a version, latest first.

    `failed` selects failed or acknowledged attempts; None: both. One statement, and the reads of a
    stale cache.
    """
    of_version = _routes_of(job_type, version)
    if not of_version:
        return []
    return queries.touched(of_version, failed=failed, limit=limit, offset=offset)


def count(job_type: str, version: Version, *, failed: bool | None) -> int:
    """Count the stored rows, which are bounded."""
    some = {} if failed is None else {"has_failed": failed}
    return Touched.objects.filter(route__in=_routes_of(job_type, version), **some).count()


def _routes_of(job_type: str, version: Version) -> list[int]:
    return [
        route
        for route, key in latest().by_id.items()
        if key.type == job_type and served_as(key) == version
    ]
