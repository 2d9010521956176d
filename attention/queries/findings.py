"""Store findings; read what they share."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from itertools import starmap
from typing import Any, NamedTuple

import orjson

from attention.queries.base import rows as _rows
from jobs.database import connection


class Changed(NamedTuple):
    """A rule's row of changes by operators."""

    rule: str
    is_enabled: bool
    thresholds: Mapping[str, int]
    overrides: Mapping[str, Mapping[str, int]]


def sample() -> list[Changed]:
    """Store the depths of queues once a minute; return the changes of rules."""
    return [
        Changed(rule, is_enabled, orjson.loads(thresholds), orjson.loads(overrides))
        for rule, is_enabled, thresholds, overrides in _rows("sample", {})
    ]


def tenants_hit(queues: Collection[str]) -> dict[str, int]:
    """Count the tenants with waiting jobs in each queue."""
    return dict(_rows("tenants_hit", {"queues": sorted(queues)}))


class Turned(NamedTuple):
    """A change of the list of findings: `turn` is opened, closed, changed or unmuted."""

    turn: str
    id: str
    rule: str
    subject: str
    tenant: str | None
    severity: int
    since: datetime
    jobs: int
    tenants: int
    facts: Mapping[str, Any]


def store(
    found: Sequence[Mapping[str, Any]],
    *,
    evaluated: Collection[str],
    rules: Collection[str],
    failed: Collection[str],
) -> list[Turned]:
    """Make the open findings equal to the given ones; return the changes of the list."""
    params = {
        "found": orjson.dumps(found).decode(), "evaluated": sorted(evaluated),
        "rules": sorted(rules), "failed": sorted(failed),
    }  # fmt: skip
    rows = _rows("store", params)
    return [Turned._make((*row[:-1], orjson.loads(row[-1]))) for row in rows]


def stores_alone() -> bool:
    """Try to become the only look that stores, until the transaction ends."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_xact_lock(20266623, 0)")
        return bool(cursor.fetchone()[0])


class Shared(NamedTuple):
    """The number of jobs with a value, among the jobs of a finding and among the rest."""

    dimension: str
    value: str
    hit: int
    hits: int
    rest: int
    rests: int


def shared_failed(params: Mapping[str, Any]) -> list[Shared]:
    """Count the values of failed attempts, and of completed attempts."""
    return list(starmap(Shared, _rows("shared_failed", params)))


def shared_waiting(params: Mapping[str, Any]) -> list[Shared]:
    """Count the values of available jobs, and of other available jobs."""
    return list(starmap(Shared, _rows("shared_waiting", params)))


def shared_active(params: Mapping[str, Any]) -> list[Shared]:
    """Count the values of running jobs, and of other running jobs."""
    return list(starmap(Shared, _rows("shared_active", params)))
