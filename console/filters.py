"""The filters of the job lists: from the query string to a page of jobs and back to links."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from urllib.parse import urlencode

from console import queries
from console.queries import Found, Place, Wanted
from jobs.domain.ids import is_id
from jobs.domain.job import Job
from jobs.domain.states import CODES, TERMINAL, State
from jobs.services.dead_letter import DEAD
from jobs.services.show import show_many

SIZE = 50
# How many rows a search may read before it asks to go on: narrow rows, or whole jobs
LOOKED_NARROW, LOOKED_WIDE = 50_000, 5_000
STATES = {state.value: state for state in State}


@dataclass(frozen=True, slots=True)
class JobFilter:
    """What the operator asked for; empty text is any. `type` may end in `*`."""

    state: str = ""
    queue: str = ""
    type: str = ""
    tenant: str = ""
    error_type: str = ""
    after: str = ""

    @classmethod
    def read(cls, given: Mapping[str, str]) -> "JobFilter":
        """Read a query string; what no job can match is kept, so that the page says so."""
        chosen = {name: given.get(name, "").strip() for name in cls.__dataclass_fields__}
        if chosen["state"] not in STATES:
            chosen["state"] = ""
        return cls(**{name: value.replace("\x00", "") for name, value in chosen.items()})

    @property
    def is_empty(self) -> bool:
        """Nothing is filtered."""
        return replace(self, after="") == JobFilter()

    def link(self, after: Place | None = None) -> str:
        """Return the query string of this filter, going on after a place."""
        fields = {name: getattr(self, name) for name in self.__dataclass_fields__}
        fields["after"] = _write(after) if after else ""
        return urlencode({name: value for name, value in fields.items() if value})


@dataclass(frozen=True, slots=True)
class JobPage:
    """One page; `next` is where it goes on, `is_partial` that the search stopped early."""

    jobs: list[Job]
    next: Place | None
    is_partial: bool = False


def jobs(wanted: JobFilter) -> JobPage:
    """Return a page of jobs, newest first, ended ones by their end."""
    state = STATES.get(wanted.state)
    after = _read(wanted.after)
    core, rows = _core(wanted), SIZE + 1
    if state is None:
        looked = LOOKED_WIDE if core != Wanted() else rows
        return _page(queries.newest(core, after, size=rows, looked=looked), looked)
    if state in TERMINAL:
        kinds = [CODES[state], DEAD] if state is State.DISCARDED else [CODES[state]]
        return _ended(kinds, core, after)
    looked = rows
    if core.type:
        looked = LOOKED_WIDE
    elif core.queue or core.tenant:
        looked = LOOKED_NARROW
    return _page(queries.live(CODES[state], core, after, size=rows, looked=looked), looked)


def dead_letters(wanted: JobFilter) -> JobPage:
    """Return a page of the dead letter, latest first."""
    return _ended([DEAD], _core(wanted), _read(wanted.after))


def _ended(kinds: list[int], core: Wanted, after: Place | None) -> JobPage:
    rows = SIZE + 1
    looked = LOOKED_WIDE if core.type or core.tenant or core.error_type else rows
    return _page(queries.ended(kinds, core, after, size=rows, looked=looked), looked)


def _page(found: Found, looked: int) -> JobPage:
    ids = found.ids[:SIZE]
    if len(found.ids) > SIZE:
        listed = show_many(ids)
        last = listed[-1] if listed else None
        return JobPage(listed, Place(last.id, last.finished_at) if last else found.rest)
    is_partial = found.rest is not None and looked > SIZE + 1
    return JobPage(show_many(ids), found.rest if is_partial else None, is_partial=is_partial)


def _core(wanted: JobFilter) -> Wanted:
    return Wanted(
        queue=wanted.queue or None,
        tenant=wanted.tenant or None,
        type=_pattern(wanted.type) if wanted.type else None,
        error_type=wanted.error_type or None,
    )


def _pattern(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("%", r"\%").replace("_", r"\_")
    return escaped[:-1] + "%" if escaped.endswith("*") else escaped


def _write(place: Place) -> str:
    return f"{place.id}~{place.at.isoformat()}" if place.at else place.id


def _read(text: str) -> Place | None:
    job_id, _, at = text.partition("~")
    if not is_id(job_id):
        return None
    try:
        return Place(job_id, datetime.fromisoformat(at) if at else None)
    except ValueError:
        return None
