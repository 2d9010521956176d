"""The history of a job: each change of its state, and each attempt with its outcome."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import orjson

from jobs.domain.job import Job
from jobs.domain.record.events import NAMES, Kind
from jobs.domain.states import state_of
from jobs.services.record.events import EventFilter, StoredEvent, latest

SHOWN = 200  # events
# left out, because heartbeats and progress may be thousands; the page shows their latest
LOUD: Final = {Kind.HEARTBEAT, Kind.PROGRESS}
KINDS: Final = (
    *(int(kind) for kind in NAMES if kind not in LOUD),
    int(Kind.MOVED),
    int(Kind.RESTORED),
)
# events that end a begun attempt
OUTCOMES: Final[Mapping[int, str]] = {
    Kind.COMPLETED: "completed", Kind.FAILED: "failed", Kind.CANCELLED: "cancelled",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Step:
    """An event; `before` and `after` are the names of states if it changed the state."""

    name: str
    event: StoredEvent
    before: str | None  # names as in `domain/states.py`
    after: str | None


@dataclass(slots=True)
class Attempt:
    """An attempt; `outcome` None: it runs, or its end is no longer in the record."""

    number: int
    started_at: datetime | None = None
    ended_at: datetime | None = None
    worker_id: str | None = None
    waited_ms: int | None = None
    ran_ms: int | None = None
    outcome: str | None = None
    error: dict[str, Any] | None = None


def steps(job: Job) -> tuple[list[Step], bool]:
    """Return the latest events of a job, newest first, and whether older events exist."""
    events, is_longer = latest(EventFilter(kinds=KINDS, job_id=job.id), limit=SHOWN)
    found: list[Step] = []
    for event in reversed(events):
        found.append(_step(event, found))
    return found[::-1], is_longer


def attempts(job: Job, timeline: Sequence[Step]) -> list[Attempt]:
    """Return the attempts of a job, newest first, with the errors of its history.

    A manual retry restarts the number of attempts, so a number may stand for several attempts.
    Errors are assigned from the newest on, each to the newest attempt of its number without an
    error.
    """
    found: list[Attempt] = []
    for step in reversed(timeline):
        event = step.event
        if event.kind == Kind.STARTED:
            found.append(
                Attempt(
                    event.attempt or 0, event.at,
                    worker_id=event.worker_id, waited_ms=event.took_ms,
                )
            )  # fmt: skip
        elif found and found[-1].outcome is None and _is_end(step):
            _ended(found[-1], step)
    found.reverse()
    for error in reversed(orjson.loads(job.errors or "[]")):
        _give(found, error)
    return found


def _is_end(step: Step) -> bool:
    return step.event.kind in OUTCOMES or step.before == "active"


def _ended(attempt: Attempt, step: Step) -> None:
    attempt.ended_at, attempt.ran_ms = step.event.at, step.event.took_ms
    attempt.outcome = OUTCOMES.get(step.event.kind) or f"back to {step.after}"


def _give(found: list[Attempt], error: dict[str, Any]) -> None:
    number = int(error.get("attempt") or 0)
    for attempt in found:
        if attempt.number == number and attempt.error is None and attempt.outcome != "completed":
            attempt.error = error
            return
    found.append(Attempt(number, outcome="failed", error=error))  # its events were removed


def _step(event: StoredEvent, earlier: Sequence[Step]) -> Step:
    before, after = (
        None if code is None else state_of(code).value
        for code in (event.from_state, event.to_state)
    )
    if after is not None and before is None:  # a manual retry is stored as a new beginning
        before = next((step.after for step in reversed(earlier) if step.after), None)
    if event.kind == Kind.RESTORED:
        name = "restored"
    else:
        name = after or "moved" if event.kind == Kind.MOVED else NAMES[Kind(event.kind)]
    return Step(name.removeprefix("job."), event, before, after)
