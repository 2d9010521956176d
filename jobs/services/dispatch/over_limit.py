"""Drop or reschedule jobs of over-limit lanes by their policy. Spec: contract 27, RL-7."""

from collections.abc import Mapping, Sequence
from typing import Any

from jobs import queries
from jobs.domain.record.events import Kind
from jobs.models import Lane, Limit
from jobs.services.outcome.drop import drop


def apply_on_limit(over_limit: Sequence[Mapping[str, Any]]) -> int:
    """Drop or reschedule the next jobs of over-limit lanes; returns how many.

    `on_limit` of an entry is that of the limit's policy, or of its override, at the claim.
    """
    moved = 0
    for entry in over_limit:
        limit = Limit.objects.filter(id=entry["limit"]).first()
        if limit is None:
            continue
        ids = queries.heads(entry["lane"], entry["jobs"])
        if entry["on_limit"] == "drop":
            message = f"the limit of {limit.key} was reached"
            moved += drop(ids, "rate_limited", message, Kind.LIMIT_DROPPED)
        else:
            until = Lane.objects.filter(id=entry["lane"]).values_list("blocked_until", flat=True)
            moved += queries.postpone(ids, until.first())
    return moved
