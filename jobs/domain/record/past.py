"""The state of a job right after one of its events, from the events up to it.

An event names only the members that it changed. So a member is unknown, None, if the record no
longer has the event that set it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Protocol

from jobs.domain.record.events import Kind
from jobs.domain.states import CODES, TERMINAL, State
from jobs.domain.wire.times import read_time

BEGINNINGS: Final = frozenset({Kind.ENQUEUED, Kind.SCHEDULED})  # without a state before
LEFT: Final = frozenset({Kind.LEFT_QUEUE, Kind.REMOVED})  # they name the queue that a job left
ENDED: Final = frozenset(CODES[state] for state in TERMINAL)
NORMAL: Final = 0  # priority: an enqueue records only others


class PastEvent(Protocol):
    """The members of a stored event that are read."""

    @property
    def at(self) -> datetime: ...
    @property
    def kind(self) -> int: ...
    @property
    def queue(self) -> str | None: ...
    @property
    def to_state(self) -> int | None: ...
    @property
    def from_state(self) -> int | None: ...
    @property
    def attempt(self) -> int | None: ...
    @property
    def worker_id(self) -> str | None: ...
    @property
    def data(self) -> Mapping[str, Any]: ...


@dataclass(slots=True)
class Past:
    """A job right after an event; `state` and `state_before` are codes in `domain/states.py`."""

    at: datetime
    is_complete: bool = False  # the record has the beginning of the job
    state: int | None = None
    state_before: int | None = None  # of the latest change
    since: datetime | None = None  # of the latest change
    attempt: int | None = None
    queue: str | None = None
    priority: int | None = None
    worker_id: str | None = None  # of an active job
    started_at: datetime | None = None  # of an active job
    due_at: datetime | None = None  # of a job that waits for a time
    step: str | None = None  # that waits
    signals: tuple[str, ...] = ()  # for which it waits
    error: Mapping[str, Any] | None = None  # of the latest failed attempt
    progress_percent: int | None = None  # of the running attempt
    sequence: int | None = None  # of the latest recorded save of the checkpoint
    saved_at: datetime | None = None
    restarts: int = 0  # manual retries so far


def past(events: Iterable[PastEvent]) -> Past | None:
    """Return the job after the last of its events, in the order of the record; None without any."""
    found: Past | None = None
    for event in events:
        if found is None:
            found = Past(event.at, is_complete=is_beginning(event))
        _take(found, event)
    return found


def is_beginning(event: PastEvent) -> bool:
    """Return whether an event begins a job, or begins it again by a manual retry."""
    return event.from_state is None and event.to_state is not None and event.kind in BEGINNINGS


def _take(found: Past, event: PastEvent) -> None:
    found.at = event.at
    if event.queue is not None and event.kind not in LEFT:
        found.queue = event.queue
    if event.to_state is not None:
        _move(found, event)
    if event.attempt is not None:
        found.attempt = event.attempt
    _read(found, event)


def _read(found: Past, event: PastEvent) -> None:
    """Take what events of one kind alone have."""
    if event.kind == Kind.STARTED:
        found.worker_id, found.started_at = event.worker_id, event.at
    elif event.kind == Kind.CHECKPOINTED:
        found.sequence, found.saved_at = _number(event.data.get("sequence")), event.at
    elif event.kind in {Kind.PROGRESS, Kind.PROGRESS_COMPLETED}:
        found.progress_percent = _number(event.data.get("progress_percent"))
    if isinstance(error := event.data.get("error"), Mapping):
        found.error = error
    if (priority := _number(event.data.get("priority"))) is not None:
        found.priority = priority


def _move(found: Past, event: PastEvent) -> None:
    before = found.state if event.from_state is None else event.from_state
    if is_beginning(event):
        if before in ENDED:
            found.restarts += 1
        else:
            found.priority = NORMAL
    found.state_before, found.state, found.since = before, event.to_state, event.at
    found.worker_id = found.started_at = found.progress_percent = None
    found.step, found.signals = _text(event.data.get("step")), _names(event.data.get("signals"))
    due = event.data.get("scheduled_at") or event.data.get("next_retry_at")
    found.due_at = _time(due)
    if event.to_state in ENDED and event.to_state != CODES[State.DISCARDED]:
        found.sequence = found.saved_at = None  # the end deletes the checkpoint


def _number(raw: object) -> int | None:
    return raw if isinstance(raw, int) and not isinstance(raw, bool) else None


def _text(raw: object) -> str | None:
    return raw if isinstance(raw, str) else None


def _names(raw: object) -> tuple[str, ...]:
    return tuple(str(one) for one in raw) if isinstance(raw, list) else ()


def _time(raw: object) -> datetime | None:
    try:
        return read_time(raw) if isinstance(raw, str) else None
    except ValueError:
        return None
