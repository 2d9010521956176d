"""Enqueue middleware of the tests: it refuses, drops or breaks the types that are named here."""

from collections.abc import Callable

from jobs.domain.enqueue.draft import JobDraft
from jobs.domain.errors import InvalidRequest, QueueFull

REFUSED: set[str] = set()
HELD: set[str] = set()
DROPPED: set[str] = set()
BROKEN: set[str] = set()


def plug(draft: JobDraft, following: Callable[[JobDraft], JobDraft | None]) -> JobDraft | None:
    """Decide by the type of the job."""
    if draft.type in REFUSED:
        raise InvalidRequest("not in this house")
    if draft.type in HELD:
        raise QueueFull("later")
    if draft.type in BROKEN:
        raise ZeroDivisionError
    return None if draft.type in DROPPED else following(draft)
