"""Read the state of a job right after any of its events, with at most three statements.

The server keeps no earlier versions of arguments and checkpoints. It returns those that have not
changed since the event, and says which are not kept.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from jobs.domain.errors import InvalidRequest, NotFound
from jobs.domain.job import Job
from jobs.domain.record.events import NAMES, Kind
from jobs.domain.record.past import Past, is_beginning, past
from jobs.domain.record.place import read_place
from jobs.extensions import checkpoints
from jobs.extensions.checkpoints import PastCheckpoint
from jobs.models import Audit
from jobs.services.record.events import EventFilter, StoredEvent, latest

MOST: Final = 5_000  # latest events of a job among which an event is found
KINDS: Final = (
    *map(int, NAMES), int(Kind.MOVED), int(Kind.LEFT_QUEUE), int(Kind.CAME_TO_QUEUE),
    int(Kind.RESTORED),
)  # fmt: skip
RETRIES: Final = ("job.retried", "dead_letter.retried")  # in the audit log: they may change args
LONGEST_ID: Final = 100


@dataclass(frozen=True, slots=True)
class PastJob:
    """A job right after `event`; `checkpoint` None: it had none, as far as is known."""

    event: StoredEvent
    past: Past
    has_args: bool  # the job's arguments are those of that time
    checkpoint: PastCheckpoint | None


def past_job(job: Job, number: int | None) -> PastJob:
    """Return a job right after the event with this number, None: after the latest one.

    Raises NotFound if the event is not among the latest MOST events of the job.
    """
    events, is_cut = latest(EventFilter(kinds=KINDS, job_id=job.id), limit=MOST)
    events.reverse()
    restarted_at: datetime | None = None  # the first manual retry after the event
    while events and number is not None and events[-1].place.number != number:
        later = events.pop()
        restarted_at = later.at if is_beginning(later) else restarted_at
    if (found := past(events)) is None:
        raise NotFound.of("event", f"of job {job.id}")
    found.is_complete = found.is_complete and not is_cut
    event = events[-1]
    return PastJob(event, found, _has_args(job, restarted_at), _checkpoint(job, found, event))


def event_number(event_id: str) -> int:
    """Return the number of an event by its id. Raises InvalidRequest for other text."""
    place = read_place(event_id) if len(event_id) <= LONGEST_ID else None
    if place is None:
        raise InvalidRequest.field(
            "event", "must be the id of an event", event_id[: LONGEST_ID + 1]
        )
    return place.number


def _has_args(job: Job, restarted_at: datetime | None) -> bool:
    """Return whether no retry has replaced the arguments since; no statement without a retry."""
    if restarted_at is None:
        return True
    replaced: dict[str, Any] = {"data__override__contains": "args", "at__gte": restarted_at}
    return not Audit.objects.filter(target=job.id, action__in=RETRIES, **replaced).exists()


def _checkpoint(job: Job, found: Past, event: StoredEvent) -> PastCheckpoint | None:
    kept = checkpoints.checkpoint_at(job, event.at)
    if kept is not None and kept.sequence is not None:
        return kept
    if found.sequence is None:
        return kept
    is_exact = event.kind == Kind.CHECKPOINTED
    steps = () if kept is None else kept.steps
    return PastCheckpoint(found.sequence, found.saved_at, is_exact=is_exact, steps=steps)
