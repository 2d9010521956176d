"""Convert the times of a draft to a comparable form. Spec: contract 1.1, 1.4."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from jobs import queries
from jobs.domain.enqueue.draft import JobDraft
from jobs.domain.errors import InvalidRequest


def resolve_times(drafts: Sequence[JobDraft]) -> list[JobDraft]:
    """Make the relative time absolute where a draft has one relative and one absolute time.

    Only then it reads the database's clock, in one statement. Raises InvalidRequest when a draft
    would expire before it is scheduled.
    """
    if not any(map(_is_mixed, drafts)):
        return list(drafts)
    now = queries.now()
    return [
        _absolute(draft, {"index": n} if len(drafts) > 1 else {}, now)
        if _is_mixed(draft)
        else draft
        for n, draft in enumerate(drafts)
    ]


def _is_mixed(draft: JobDraft) -> bool:
    if draft.scheduled_at is not None:
        return draft.expires_in_ms is not None
    return draft.scheduled_in_ms is not None and draft.expires_at is not None


def _absolute(draft: JobDraft, place: dict[str, int], now: datetime) -> JobDraft:
    scheduled_at = draft.scheduled_at or now + timedelta(milliseconds=draft.scheduled_in_ms or 0)
    expires_at = draft.expires_at or now + timedelta(milliseconds=draft.expires_in_ms or 0)
    if expires_at <= scheduled_at:
        problem = InvalidRequest.field("expires_at", "must be later than scheduled_at")
        problem.details |= place
        raise problem
    return replace(
        draft,
        scheduled_at=scheduled_at,
        scheduled_in_ms=None,
        expires_at=expires_at,
        expires_in_ms=None,
    )
