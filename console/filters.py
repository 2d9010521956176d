"""The filters of the job lists: from the query string to a page of jobs and back to links."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from urllib.parse import urlencode

from jobs.domain.ids import is_id
from jobs.domain.job import Job
from jobs.domain.states import State
from jobs.services.find import Place, Wanted, find, pattern
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
    def read(cls, given: Mapping[str, str], tenant: str | None = None) -> "JobFilter":
        """Read a query string; what no job can match is kept, so that the page says so.

        `tenant`: the one whose jobs alone may be found, whatever was asked.
        """
        chosen = {name: given.get(name, "").strip() for name in cls.__dataclass_fields__}
        if chosen["state"] not in STATES:
            chosen["state"] = ""
        chosen["tenant"] = tenant or chosen["tenant"]
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
    return _page(_wanted(wanted), _read(wanted.after))


def dead_letters(wanted: JobFilter) -> JobPage:
    """Return a page of the dead letter, latest first."""
    return _page(replace(_wanted(wanted), state=None, is_dead=True), _read(wanted.after))


def _page(wanted: Wanted, after: Place | None) -> JobPage:
    looked = SIZE + 1
    if wanted.is_narrowed or wanted.error_type:
        is_narrow = wanted.state is not None and not (wanted.type or wanted.is_ended)
        looked = LOOKED_NARROW if is_narrow else LOOKED_WIDE
    found = find(wanted, after=after, size=SIZE + 1, looked=looked)
    rest = Place(found.rest, found.rest_at) if found.rest else None
    if len(found.ids) > SIZE:
        listed = show_many(found.ids[:SIZE])
        last = listed[-1] if listed else None
        return JobPage(listed, Place(last.id, last.finished_at) if last else rest)
    is_partial = rest is not None and looked > SIZE + 1
    return JobPage(show_many(found.ids), rest if is_partial else None, is_partial=is_partial)


def _wanted(asked: JobFilter) -> Wanted:
    return Wanted(
        state=STATES.get(asked.state),
        queue=asked.queue or None,
        tenant=asked.tenant or None,
        type=pattern(asked.type) if asked.type else None,
        error_type=asked.error_type or None,
    )


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
