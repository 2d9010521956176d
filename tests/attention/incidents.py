"""Make incidents, and read the findings of rules."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from attention.domain.order import Found
from attention.queries.findings import Changed
from attention.rules import BY_ID
from attention.services.look import evaluate
from jobs.models import Period
from jobs.queries import now
from tests.jobs.services.record.test_rates import aggregated

__all__ = ["aggregated", "an_hour", "counted", "found", "subjects"]

MINUTE, HOUR = 60, 3_600


def found(rule_id: str, overrides: Mapping[str, Any] | None = None, **changed: int) -> list[Found]:
    """Evaluate one rule with some thresholds."""
    changes = {rule_id: Changed(rule_id, True, changed, overrides or {})}
    seen = evaluate([BY_ID[rule_id]], changes)
    assert not seen.failed, "the statement failed"
    return seen.found


def subjects(rule_id: str, **changed: int) -> list[str]:
    """Return the subjects that a rule finds."""
    return [one.hit.subject for one in found(rule_id, None, **changed)]


def counted(minutes_ago: int, job_type: str = "mail", queue: str = "q", **counts: int) -> datetime:
    """Store counts of a past minute, and add them to its hour; return the minute."""
    at = now().replace(second=0, microsecond=0) - timedelta(minutes=minutes_ago)
    for span_s, begin in ((MINUTE, at), (HOUR, at.replace(minute=0))):
        row, _ = Period.objects.get_or_create(span_s=span_s, at=begin, queue=queue, type=job_type)
        for name, number in counts.items():
            setattr(row, name, getattr(row, name) + number)
        Period.objects.filter(span_s=span_s, at=begin, queue=queue, type=job_type).update(
            **{name: getattr(row, name) for name in counts}
        )
    return at


def an_hour(hours_ago: int, job_type: str = "mail", queue: str = "q", **counts: int) -> None:
    """Store counts of a past hour."""
    at = now().replace(minute=0, second=0, microsecond=0) - timedelta(hours=hours_ago)
    Period.objects.create(span_s=HOUR, at=at, queue=queue, type=job_type, **counts)
