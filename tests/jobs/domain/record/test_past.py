"""A job right after one of its events, from the events up to it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from jobs.domain.record.events import Kind
from jobs.domain.record.past import Past, past
from jobs.domain.states import CODES, State

BEGAN = datetime(2026, 11, 1, tzinfo=UTC)


@dataclass
class Event:
    """An event of a job."""

    kind: int
    to: State | None = None
    left: State | None = None
    attempt: int | None = None
    queue: str | None = "mail"
    worker_id: str | None = None
    data: dict[str, Any] = field(default_factory=dict)
    at: datetime = BEGAN

    @property
    def to_state(self) -> int | None:
        return None if self.to is None else CODES[self.to]

    @property
    def from_state(self) -> int | None:
        return None if self.left is None else CODES[self.left]


ENQUEUED = Event(Kind.ENQUEUED, State.AVAILABLE, attempt=0)
STARTED = Event(Kind.STARTED, State.ACTIVE, State.AVAILABLE, 1, worker_id="w1")
FAILED = Event(Kind.FAILED, attempt=1, data={"error": {"type": "OSError"}})
RETRYING = Event(
    Kind.RETRYING, State.RETRYABLE, State.ACTIVE, 1,
    data={"error": {"type": "OSError"}, "next_retry_at": "2026-11-01T00:05:00Z"},
)  # fmt: skip
SUSPENDED = Event(
    Kind.SCHEDULED, State.SCHEDULED, State.ACTIVE, 0,
    data={"scheduled_at": "2026-11-02T00:00:00Z", "step": "approval", "signals": ["approved"]},
)  # fmt: skip
SAVED = Event(Kind.CHECKPOINTED, attempt=1, worker_id="w1", data={"sequence": 4, "bytes": 90})
COMPLETED = Event(Kind.COMPLETED, State.COMPLETED, State.ACTIVE, 1)
DEAD = Event(Kind.DISCARDED, State.DISCARDED, State.ACTIVE, 3, data={"error": {"type": "E"}})
REVIVED = Event(Kind.ENQUEUED, State.AVAILABLE, attempt=0, data={"priority": 7})


def after(*events: Event) -> Past:
    """Return the job after events that are a minute apart."""
    for n, event in enumerate(events):
        event.at = BEGAN + timedelta(minutes=n)
    found = past(events)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ([ENQUEUED], {"state": 3, "attempt": 0, "priority": 0, "queue": "mail"}),
        ([ENQUEUED, STARTED], {"state": 4, "state_before": 3, "attempt": 1, "worker_id": "w1"}),
        ([ENQUEUED, STARTED, FAILED], {"state": 4, "error": {"type": "OSError"}}),
        ([ENQUEUED, STARTED, FAILED, RETRYING],
         {"state": 5, "worker_id": None, "due_at": BEGAN + timedelta(minutes=5)}),
        ([ENQUEUED, STARTED, SAVED], {"sequence": 4, "state": 4}),
        ([ENQUEUED, STARTED, SAVED, SUSPENDED],
         {"state": 1, "attempt": 0, "step": "approval", "signals": ("approved",), "sequence": 4}),
        ([ENQUEUED, STARTED, SAVED, COMPLETED], {"state": 6, "sequence": None, "worker_id": None}),
        ([ENQUEUED, STARTED, SAVED, DEAD], {"state": 8, "sequence": 4, "error": {"type": "E"}}),
        ([ENQUEUED, STARTED, DEAD, REVIVED],
         {"state": 3, "state_before": 8, "restarts": 1, "priority": 7}),
    ],
)  # fmt: skip
def test_past_is_what_the_events_up_to_it_say(
    events: Sequence[Event], expected: dict[str, Any]
) -> None:
    found = after(*events)

    assert {name: getattr(found, name) for name in expected} == expected
    assert found.is_complete


def test_moves_between_queues_leave_the_new_queue() -> None:
    left = Event(Kind.LEFT_QUEUE, attempt=0, queue="mail")
    came = Event(Kind.CAME_TO_QUEUE, attempt=0, queue="bulk")

    assert after(ENQUEUED, left, came).queue == "bulk"


def test_priority_changes_and_progress_are_read() -> None:
    changed = Event(Kind.PRIORITY_CHANGED, data={"priority": -5})
    progress = Event(Kind.PROGRESS, attempt=1, data={"progress_percent": 40})

    assert after(ENQUEUED, changed, STARTED, progress).priority == -5
    assert after(ENQUEUED, STARTED, progress).progress_percent == 40
    assert after(ENQUEUED, STARTED, progress, RETRYING).progress_percent is None


def test_members_whose_events_are_gone_are_unknown() -> None:
    found = after(SAVED, RETRYING)

    assert not found.is_complete
    assert (found.priority, found.started_at, found.sequence) == (None, None, 4)


def test_job_without_events_has_no_past() -> None:
    assert past([]) is None


@pytest.mark.parametrize(
    "data", [{"sequence": True}, {"sequence": "4"}, {"scheduled_at": "soon", "signals": 7}]
)
def test_data_of_other_writers_is_not_trusted(data: dict[str, Any]) -> None:
    odd = Event(Kind.CHECKPOINTED, State.SCHEDULED, State.ACTIVE, data=data)

    found = after(ENQUEUED, odd)

    assert (found.sequence, found.due_at, found.signals) == (None, None, ())
