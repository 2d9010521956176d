"""How an operation walks through the jobs that a filter finds: by slices, state by state."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from django.utils import timezone

from console.filters import JobFilter
from console.search import TookTooLong, Total, in_time, total_of
from jobs.domain.bulk import ALLOWED, DEFAULTS, Verb
from jobs.domain.states import State
from jobs.services.operate import bulk
from jobs.services.read.find import Found, Place, Wanted, find

EXPORT: Final = "export"
SLICE = 500  # jobs of one transaction
LOOKED, LOOKED_FOR_TEXT = 5_000, 1_000  # rows that one slice reads at most
PREVIEWED = 5_000  # rows that are read to tell what would be done
LAST_ID: Final = "ffffffff-ffff-ffff-ffff-ffffffffffff"


@dataclass(frozen=True, slots=True)
class Preview:
    """What an operation would meet: the first ids that it would take, by state, and how many."""

    total: Total
    by_state: dict[str, Total]
    ids: list[str]
    is_late: bool = False  # it was not told in time


def sources(verb: str, asked: JobFilter) -> list[State | None]:
    """Return the states that an operation walks, one after another; None is any."""
    state = State.DISCARDED if asked.dead else State(asked.state) if asked.state else None
    if verb == EXPORT:
        return [state]
    if state is not None:
        return [state] if state in ALLOWED[Verb(verb)] else []
    return list(DEFAULTS[Verb(verb)])


def preview(verb: str, asked: JobFilter) -> Preview:
    """Look at what an operation would do; reads PREVIEWED rows of each state at most.

    Where every row matches and counts tell how many there are, those of one slice are enough.
    """
    wanted = asked.wanted(timezone.now())
    by_state: dict[str, Total] = {}
    ids: list[str] = []
    try:
        for state in sources(verb, asked):
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


def pick(
    asked: JobFilter, states: Sequence[State | None], place: bulk.Place
) -> tuple[Found, bulk.Place | None]:
    """Find the next jobs and the place behind them.

    Jobs that were made after the operation began are above the first place, and so are ends: what
    is retried and dies again is not taken twice.
    """
    asof = datetime.fromisoformat(place.asof)
    wanted = _of(asked.wanted(asof), states[place.source])
    after = _read(place)
    if not wanted.is_ended:
        wanted = replace(wanted, until=min(asof, wanted.until or asof))
    elif after is None:
        after = Place(LAST_ID, asof)
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
    """Return what is wanted of one state."""
    return wanted if wanted.is_dead else replace(wanted, state=state)


def _going_on(place: bulk.Place, job_id: str, at: datetime | None) -> bulk.Place:
    return bulk.Place(place.asof, place.source, {"id": job_id, "at": at and at.isoformat()})


def _read(place: bulk.Place) -> Place | None:
    if place.rest is None:
        return None
    at = place.rest["at"]
    return Place(place.rest["id"], at and datetime.fromisoformat(at))
