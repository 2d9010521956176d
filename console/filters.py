"""The filters of the job lists: from a query string to a search, and back to links.

django-filter does not fit here. Its filters narrow a queryset, while these searches are statements
that read several tables by index, up to a bound.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime, timedelta
from typing import Final
from urllib.parse import urlencode

from console.zones import read_time_in, zone_name
from jobs.domain.states import TERMINAL, State
from jobs.domain.wire.durations import parse_period
from jobs.domain.wire.ids import is_id
from jobs.domain.wire.priorities import read_priority
from jobs.domain.wire.times import format_time
from jobs.services.read.find import Place, Wanted, contained, pattern

STATES: Final = {state.value: state for state in State}
ENDED: Final = "ended"  # value of `by`: the times are of the end, not of the creation
LONGEST = 200  # characters of a field


@dataclass(frozen=True, slots=True)
class JobFilter:
    """The filter as the operator typed it; empty text is any.

    `type` and `version` may end in `*`. `since` and `until` are a time in `zone` or a duration
    before now (`2h`). `args`, `meta` and `error` are text inside the document. `dead` is "1" for
    the dead letter. `after` is the position of the page.
    """

    state: str = ""
    queue: str = ""
    type: str = ""
    tenant: str = ""
    version: str = ""
    priority: str = ""
    by: str = ""
    since: str = ""
    until: str = ""
    args: str = ""
    meta: str = ""
    error: str = ""
    error_type: str = ""
    fingerprint: str = ""
    dead: str = ""
    after: str = ""
    zone: str = ""  # IANA name of the time zone of `since` and `until`; empty: UTC

    @classmethod
    def read(cls, given: Mapping[str, str], tenant: str | None = None) -> "JobFilter":
        """Read a query string; with a `tenant`, only jobs of this tenant match.

        Values that no job can match are kept, so that the page reports them.
        """
        chosen = {one.name: _clean(given.get(one.name, "")) for one in fields(cls)}
        if chosen["state"] not in STATES:
            chosen["state"] = ""
        chosen["by"] = ENDED if chosen["by"] == ENDED else ""
        chosen["dead"] = "1" if chosen["dead"] == "1" else ""
        chosen["zone"] = zone_name(chosen["zone"])
        if tenant is not None:
            chosen["tenant"] = tenant
        return cls(**chosen)

    @property
    def is_empty(self) -> bool:
        """Return whether nothing is filtered."""
        return replace(self, after="", dead="", zone="") == JobFilter()

    @property
    def is_more(self) -> bool:
        """Return whether a filter below `More filters` is set."""
        names = ("version", "priority", "by", "since", "until", "args", "meta", "error")
        return any(getattr(self, name) for name in (*names, "error_type", "fingerprint"))

    @property
    def problems(self) -> dict[str, str]:
        """Return the problems of unreadable values, by field."""
        found = {}
        for name in ("since", "until"):
            try:
                read_time(getattr(self, name), datetime.now(UTC), self.zone)
            except ValueError:
                found[name] = (
                    "is not a time. Enter 2026-11-22T10:00, or a duration before now such as 2h"
                )
        if self.priority:
            try:
                read_priority(self.priority)
            except ValueError as problem:
                found["priority"] = str(problem)
        if self.by and self.state and STATES[self.state] not in TERMINAL:
            found["by"] = f"cannot be the end, because {self.state} jobs have not ended"
        return found

    def chosen(self) -> dict[str, str]:
        """Return the set filters, by field."""
        return {
            one.name: value
            for one in fields(self)
            if one.name != "after"
            and (value := getattr(self, one.name))
            and (one.name != "zone" or self.since or self.until)
        }

    def link(self, after: Place | None = None) -> str:
        """Return the query string of this filter, from a position on."""
        place = {"after": _write(after)} if after else {}
        return urlencode(self.chosen() | place)

    def frozen(self, now: datetime) -> "JobFilter":
        """Return the filter with absolute times. Raises ValueError."""
        times = {
            name: read_time(getattr(self, name), now, self.zone) for name in ("since", "until")
        }
        return replace(
            self, zone="", **{name: (at and format_time(at)) or "" for name, at in times.items()}
        )

    def wanted(self, now: datetime) -> Wanted:
        """Return the search of this filter. Raises ValueError for unreadable values."""
        since, until = (read_time(one, now, self.zone) for one in (self.since, self.until))
        is_of_end = self.by == ENDED
        return Wanted(
            state=None if self.dead else STATES.get(self.state),
            queue=self.queue or None,
            tenant=self.tenant or None,
            type=pattern(self.type) if self.type else None,
            version=pattern(self.version) if self.version else None,
            priority=read_priority(self.priority) if self.priority else None,
            args=contained(self.args) if self.args else None,
            meta=contained(self.meta) if self.meta else None,
            error=contained(self.error) if self.error else None,
            error_type=self.error_type or None,
            fingerprint=self.fingerprint or None,
            since=None if is_of_end else since,
            until=None if is_of_end else until,
            ended_since=since if is_of_end else None,
            ended_until=until if is_of_end else None,
            is_dead=bool(self.dead),
        )


def read_time(text: str, now: datetime, zone: str = "") -> datetime | None:
    """Read a time in `zone` or a duration before `now`; None for empty text. Raises ValueError."""
    if not text:
        return None
    try:
        if text[0].isdigit() and "-" in text:
            return read_time_in(text, zone)
        return now - timedelta(milliseconds=parse_period(text))
    except OverflowError:
        raise ValueError(text) from None


def read_place(text: str) -> Place | None:
    """Read the position of a page; None for an invalid position."""
    job_id, _, at = text.partition("~")
    if not is_id(job_id):
        return None
    try:
        return Place(job_id, datetime.fromisoformat(at) if at else None)
    except ValueError:
        return None


def _write(place: Place) -> str:
    return f"{place.id}~{place.at.isoformat()}" if place.at else place.id


def _clean(text: str) -> str:
    kept = text.encode(errors="ignore").decode()  # lone surrogates can neither be stored nor found
    return kept.replace("\x00", "").strip()[:LONGEST]
