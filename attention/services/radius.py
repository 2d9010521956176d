"""The blast radius of a finding: the values that its jobs share, against all other jobs."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from attention.domain.rule import Radius, Subject
from attention.queries import findings
from attention.queries.findings import Shared
from attention.services.words import Shown

TOP: Final = 5  # values of a dimension
DIMENSIONS: Final = ("type", "queue", "version", "worker", "host", "tenant")
OLDER_S: Final = 60  # running jobs of a shorter time are no part of a finding


@dataclass(frozen=True, slots=True)
class Value:
    """A value, and the percentage of the finding's jobs and of all other jobs that have it."""

    value: str
    percent: float
    rest_percent: float | None  # None: there are no other jobs to compare with


@dataclass(frozen=True, slots=True)
class BlastRadius:
    """The most frequent values by dimension, among a bounded sample of the finding's jobs."""

    jobs: int
    rest: int
    dimensions: Mapping[str, tuple[Value, ...]]


_READ: Final[Mapping[Radius, Callable[[Mapping[str, Any]], list[Shared]]]] = {
    Radius.FAILED: findings.shared_failed,
    Radius.WAITING: findings.shared_waiting,
    Radius.ACTIVE: findings.shared_active,
}


def blast_radius(shown: Shown) -> BlastRadius | None:
    """Return what the jobs of a finding share; one statement. None: the rule is not about jobs."""
    read = _READ.get(shown.rule.radius)
    if read is None:
        return None
    rows = read(_params(shown))
    if not rows:
        return BlastRadius(0, 0, {})
    return BlastRadius(
        rows[0].hits,
        rows[0].rests,
        {name: found for name in DIMENSIONS if (found := _top(rows, name))},
    )


def _params(shown: Shown) -> dict[str, Any]:
    subject, kind = shown.hit.subject, shown.rule.subject
    is_queue = kind is Subject.QUEUE
    return {
        "type": subject if kind is Subject.TYPE else None,
        "queue": shown.hit.facts.get("queue", subject) if is_queue else None,
        "worker": subject if kind is Subject.WORKER else None,
        "tenant": subject if kind is Subject.TENANT else None,
        "older_s": OLDER_S,
    }


def _top(rows: list[Shared], dimension: str) -> tuple[Value, ...]:
    found = sorted(
        (row for row in rows if row.dimension == dimension), key=lambda row: (-row.hit, row.value)
    )
    return tuple(
        Value(
            row.value,
            round(100 * row.hit / row.hits, 1),
            round(100 * row.rest / row.rests, 1) if row.rests else None,
        )
        for row in found[:TOP]
    )
