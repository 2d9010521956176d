"""Find the jobs of an operation, state by state; `console/operations.py` runs the slices."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from django.utils import timezone

from console.filters import JobFilter
from console.search import TookTooLong, Total, in_time, total_of
from jobs.domain.outcome.bulk import ALLOWED, DEFAULTS, Verb
from jobs.domain.states import State
from jobs.services.operate import bulk
from jobs.services.read.find import Found, Wanted, find
from jobs.services.read.find import Place as Position

EXPORT: Final = "export"
SLICE = 500  # jobs of one transaction
LOOKED, LOOKED_FOR_TEXT = 5_000, 1_000  # most rows that a slice reads
PREVIEWED = 5_000  # rows that a preview reads of each state
LAST_ID: Final = "ffffffff-ffff-ffff-ffff-ffffffffffff"


@dataclass(frozen=True, slots=True)
class Preview:
    """The preview of an operation: the first ids, the totals by state, and the total."""

    total: Total
    by_state: dict[str, Total]
    ids: list[str]
    is_late: bool = False  # the search took too long


def states_of(verb: str, asked: JobFilter) -> list[State | None]:
    """Return the states of an operation, in order; None is any."""
    state = State.DISCARDED if asked.dead else State(asked.state) if asked.state else None
    if verb == EXPORT:
        return [state]
    if state is not None:
        return [state] if state in ALLOWED[Verb(verb)] else []
    return list(DEFAULTS[Verb(verb)])


def preview(verb: str, asked: JobFilter) -> Preview:
    """Preview an operation; reads at most PREVIEWED rows of each state.

    If the filter needs no search and the counts give the total, it reads one slice.
    """
    wanted = asked.wanted(timezone.now())
    by_state: dict[str, Total] = {}
    ids: list[str] = []
    try:
        for state in states_of(verb, asked):
            one = _of(wanted, state)
            looked = PREVIEWED if one.is_narrowed or not one.is_counted else SLICE
            with in_time(one):
                found = find(one, size=SLICE, looked=looked)
            by_state[state.value if state else "any state"] = total_of(one, found, looked)
            ids += found.ids
    except TookTooLong:
        return Preview(Total(0, is_exact=False), {}, [], is_late=True)
    totals = by_state.values()
    whole = Total(sum(t.jobs for t in totals), is_exact=all(t.is_exact for t in totals))
    return Preview(whole, by_state, ids)


def first(asked: JobFilter, state: State) -> list[str]:
    """Return the first jobs of a state, at most a slice; reads at most PREVIEWED rows."""
    wanted = _of(asked.wanted(timezone.now()), state)
    looked = PREVIEWED if wanted.is_narrowed or not wanted.is_counted else SLICE
    return find(wanted, size=SLICE, looked=looked).ids


def pick(
    asked: JobFilter, states: Sequence[State | None], place: bulk.Place
) -> tuple[Found, bulk.Place | None]:
    """Find the next jobs and the position behind them.

    The first position excludes jobs created, and jobs ended, after the operation began. So a
    retried job that dies again is not taken twice.
    """
    asof = datetime.fromisoformat(place.asof)
    wanted = _of(asked.wanted(asof), states[place.source])
    after = _read(place)
    if not wanted.is_ended:
        wanted = replace(wanted, until=min(asof, wanted.until or asof))
    elif after is None:
        after = Position(LAST_ID, asof)
    looked = LOOKED_FOR_TEXT if wanted.is_text else LOOKED if wanted.is_narrowed else SLICE
    with in_time(wanted, 20_000):
        found = find(wanted, after=after, size=SLICE, looked=looked)
    if len(found.ids) == SLICE:
        return found, _going_on(place, *found.place(SLICE))
    if found.rest is not None:
        return found, _going_on(place, found.rest, found.rest_at)
    is_last = place.source + 1 >= len(states)
    return found, None if is_last else bulk.Place(place.asof, place.source + 1)


def _of(wanted: Wanted, state: State | None) -> Wanted:
    """Return the search, limited to one state."""
    return wanted if wanted.is_dead else replace(wanted, state=state)


def _going_on(place: bulk.Place, job_id: str, at: datetime | None) -> bulk.Place:
    return bulk.Place(place.asof, place.source, {"id": job_id, "at": at and at.isoformat()})


def _read(place: bulk.Place) -> Position | None:
    if place.rest is None:
        return None
    at = place.rest["at"]
    return Position(place.rest["id"], at and datetime.fromisoformat(at))
