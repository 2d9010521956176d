"""Find jobs by filter, a page at a time, by index and within a bound. Spec: contract 24.1.

A list of live jobs, or of jobs in any state, is ordered by id, which is the time of PUSH. A list of
ended jobs is ordered by their end, then by id. Pages, exports and operations continue behind a
position in that order, so ids come in this order unless `sort` names another. Some filters and
sorts have no index. They apply to the first rows in that order: LOOKED_NARROW or LOOKED_WIDE rows.
The answer states whether there were more.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from jobs import queries
from jobs.domain.job import Job
from jobs.domain.states import CODES, TERMINAL, State
from jobs.domain.wire import jsonio
from jobs.queries import Found as Found  # noqa: PLC0414 - re-exported: `find` returns it
from jobs.services.read.show import show_many

LOOKED_NARROW, LOOKED_WIDE = 50_000, 20_000  # narrow rows, or whole jobs
DEAD = 9  # Finished.kind of a flagged job
LOWEST, HIGHEST = UUID(int=0), UUID(int=2**128 - 1)
SORTS = ("created_at", "scheduled_at", "priority", "completed_at")


@dataclass(frozen=True, slots=True)
class Wanted:
    """A filter of jobs and their order; None is any. `type` and `version` are LIKE patterns.

    `since` and `until` bound the creation, which is part of the job's id. `ended_since` and
    `ended_until` bound the end: then only ended jobs are found. One of the patterns `args` must be
    in the JSON text of the arguments, in any case. The same holds for `meta` and `error`, the
    latest error. `fingerprint` is the result of `ojs_fingerprint`. `sort` is a member of SORTS;
    None is the order that costs nothing.
    """

    state: State | None = None
    queue: str | None = None
    tenant: str | None = None
    type: str | None = None
    error_type: str | None = None
    version: str | None = None
    priority: int | None = None
    args: Sequence[str] | None = None
    meta: Sequence[str] | None = None
    error: Sequence[str] | None = None
    fingerprint: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    ended_since: datetime | None = None
    ended_until: datetime | None = None
    is_live: bool = False  # only live jobs
    is_dead: bool = False  # only jobs in the dead letter
    sort: str | None = None
    ascending: bool = False

    @property
    def is_ended(self) -> bool:
        """Whether only ended jobs can match."""
        return self.is_dead or self.state in TERMINAL or self._is_of_ends

    @property
    def _is_of_ends(self) -> bool:
        is_about_ends = self.is_bound_by_end or self.sort == "completed_at"
        return is_about_ends and self.state is None and not self.is_live

    @property
    def kinds(self) -> list[int]:
        """The kinds of Finished that can match."""
        if self.is_dead:
            return [DEAD]
        states = TERMINAL if self.state is None else {self.state}
        return sorted(CODES[s] for s in states) + [DEAD] * (State.DISCARDED in states)

    @property
    def is_narrowed(self) -> bool:
        """Whether the filter has more than a state: rows are read that do not match."""
        if self.is_ended:
            is_sorted = self.sort not in {None, "completed_at"}
            return bool(self.is_wide or self.tenant or self._is_timed or is_sorted)
        is_sorted = self.sort not in {None, "created_at"}
        return bool(self.is_wide or self.queue or self.tenant or is_sorted)

    @property
    def is_wide(self) -> bool:
        """Whether the filter needs the wide row."""
        return bool(
            self.type or self.error_type or self.version or self.fingerprint or self.is_text
        ) or (self.priority is not None)

    @property
    def is_text(self) -> bool:
        """Whether the filter searches text, in documents of any size."""
        return any(text is not None for text in (self.args, self.meta, self.error))

    @property
    def is_bound_by_end(self) -> bool:
        """Whether only jobs that ended in a period can match."""
        return self.ended_since is not None or self.ended_until is not None

    @property
    def is_counted(self) -> bool:
        """Whether the counts can answer the filter: the total is exact."""
        is_bound = self._is_timed or self.is_bound_by_end
        return not (self.is_wide or is_bound or self.is_dead)

    @property
    def _is_timed(self) -> bool:
        return self.since is not None or self.until is not None


@dataclass(frozen=True, slots=True)
class Place:
    """Where a list continues: after this job, and for ended jobs after its end."""

    id: str
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class JobList:
    """A page of jobs; `total` counts all matches, at least so many when it is an estimate."""

    jobs: list[Job]
    total: int
    is_estimate: bool


def find_jobs(wanted: Wanted, *, offset: int, limit: int) -> JobList:
    """Return a page of jobs and how many there are; three statements."""
    looked = offset + limit + 1
    if wanted.is_narrowed:
        is_wide = wanted.is_wide or wanted.is_ended or not (wanted.state or wanted.is_live)
        looked = max(looked, LOOKED_WIDE if is_wide else LOOKED_NARROW)
    found = find(wanted, offset=offset, size=limit, looked=looked)
    listed = show_many(found.ids)
    if wanted.is_counted:
        return JobList(listed, counted(wanted), is_estimate=False)
    return JobList(listed, found.matched, is_estimate=found.rest is not None)


def find(
    wanted: Wanted, *, size: int, looked: int, offset: int = 0, after: Place | None = None
) -> Found:
    """Return the ids of jobs, reading `looked` rows at most; one statement."""
    if wanted.is_bound_by_end and not wanted.is_ended:
        return Found([], 0, None, None, [])  # live jobs have no end
    params = {
        "queue": wanted.queue,
        "tenant": wanted.tenant,
        **_wide(wanted),
        "sort": wanted.sort,
        "ascending": wanted.ascending,
        "offset": offset,
        "size": size,
        "looked": looked,
        **_bounds(wanted, None if wanted.is_ended else after),
    }
    if wanted.is_ended:
        ended = {
            "kinds": wanted.kinds,
            "ended_since": wanted.ended_since,
            "ended_until": wanted.ended_until,
            "at": after and after.at,
            "after": after and after.id,
        }
        return queries.find_ended(params | ended)
    if wanted.state is None and not wanted.is_live:
        return queries.find_any(params)
    return queries.find_live(params | {"state": wanted.state and CODES[wanted.state]})


def _wide(wanted: Wanted) -> dict[str, Any]:
    texts = {name: getattr(wanted, name) for name in ("args", "meta", "error")}
    return {
        "is_wide": wanted.is_wide,
        "type": wanted.type,
        "version": wanted.version,
        "priority": wanted.priority,
        "error_type": wanted.error_type,
        "fingerprint": wanted.fingerprint,
        **{name: None if text is None else list(text) for name, text in texts.items()},
    }


def _bounds(wanted: Wanted, after: Place | None) -> dict[str, str]:
    low = LOWEST if wanted.since is None else _before(wanted.since)
    high = HIGHEST if wanted.until is None else _before(wanted.until)
    if after is not None:
        place = UUID(after.id)
        low, high = (max(low, place), high) if wanted.ascending else (low, min(high, place))
    return {"low": str(low), "high": str(high)}


def _before(at: datetime) -> UUID:
    """Return an id before all ids that were made at a time or later."""
    ms = min(max(0, int(at.timestamp() * 1000)), 2**48 - 1)
    return UUID(int=max(0, (ms << 80) - 1))


def counted(wanted: Wanted) -> int:
    """Count the jobs of a state, queue and tenant, as aggregated; ignores all other filters."""
    if wanted.tenant is None:
        depths = queries.depths(None if wanted.queue is None else [wanted.queue])
    else:
        depths = queries.tenant_depths(wanted.tenant)
    states = [s for s in State if _is_wanted(wanted, s)]
    return sum(max(0, n) for n in _numbers(depths, wanted.queue, states))


def _is_wanted(wanted: Wanted, state: State) -> bool:
    if wanted.state is not None:
        return state is wanted.state
    return not (
        (wanted.is_live and state in TERMINAL) or (wanted.is_ended and state not in TERMINAL)
    )


def _numbers(
    depths: Mapping[str, Mapping[int, int]], queue: str | None, states: Iterable[State]
) -> list[int]:
    codes = [CODES[state] for state in states]
    return [
        numbers.get(code, 0)
        for name, numbers in depths.items()
        if queue in {None, name}
        for code in codes
    ]


def pattern(text: str) -> str:
    """Return the LIKE pattern of a type; a `*` at the end matches any text."""
    escaped = literal(text)
    return escaped[:-1] + "%" if escaped.endswith("*") else escaped


def literal(text: str) -> str:
    """Return a LIKE pattern that matches this text alone."""
    return text.replace("\\", "\\\\").replace("%", r"\%").replace("_", r"\_")


def contained(text: str) -> list[str]:
    """Return LIKE patterns of JSON that contains this text: as it is, or inside of a string."""
    written = jsonio.dumps(text).decode()[1:-1]
    return [f"%{literal(form)}%" for form in dict.fromkeys((text, written))]
