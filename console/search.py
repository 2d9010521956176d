"""A page of jobs by filter: the jobs, their total, and how far the search went."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from django.db import OperationalError
from psycopg.errors import QueryCanceled

from console import queries
from console.filters import JobFilter, read_place
from jobs.database import atomic
from jobs.domain.job import Job
from jobs.domain.states import State
from jobs.domain.wire.ids import time_of
from jobs.services.read.find import Found, Place, Wanted, counted, find
from jobs.services.read.show import show_many

SIZE = 50
# most rows that a search reads for one page: narrow rows, or whole jobs
LOOKED_NARROW, LOOKED_WIDE = 50_000, 5_000
# narrow rows of each step of a search, as most pages are full after the first step
GLANCES = (5_000, 15_000, 30_000)
MOST_MS = 2_000  # of a text search, because documents may have any size


@dataclass(frozen=True, slots=True)
class Total:
    """The number of matching jobs; an estimate from the read jobs unless `is_exact`."""

    jobs: int
    is_exact: bool


@dataclass(frozen=True, slots=True)
class JobPage:
    """A page of jobs; `next` is the position of the next page.

    `is_partial`: the search stopped early, after `looked` jobs, the last from `back_to`. `total` is
    None on pages after the first. `is_late`: the search took too long.
    """

    jobs: list[Job]
    next: Place | None = None
    is_partial: bool = False
    looked: int = 0
    back_to: datetime | None = None
    total: Total | None = None
    is_late: bool = False


def page(asked: JobFilter) -> JobPage:
    """Return a page of jobs, newest first, ended jobs by their end; at most six statements."""
    if asked.problems:
        return JobPage([])
    wanted = asked.wanted(datetime.now(UTC))
    after = read_place(asked.after)
    looked = bound(wanted)
    try:
        with in_time(wanted):
            found, looked = _found(wanted, after, looked)
    except TookTooLong:
        return JobPage([], is_late=True)
    total = None if after else total_of(wanted, found, looked)
    rest = Place(found.rest, found.rest_at) if found.rest else None
    if len(found.ids) > SIZE:
        following = Place(*found.place(SIZE))
        return JobPage(show_many(found.ids[:SIZE]), following, looked=looked, total=total)
    is_partial = rest is not None and looked > SIZE + 1
    return JobPage(
        show_many(found.ids),
        rest if is_partial else None,
        is_partial=is_partial,
        looked=looked,
        back_to=(rest.at or time_of(rest.id)) if rest else None,
        total=total,
    )


def _found(wanted: Wanted, after: Place | None, looked: int) -> tuple[Found, int]:
    """Return the found jobs and the number of rows read, at most `looked`.

    Rows come in the order of the page, so rows behind a full page cannot change it. Only the total
    of the first page may need them, if no counts give it.
    """
    if wanted.is_ended or wanted.is_wide or looked <= GLANCES[0]:
        return find(wanted, after=after, size=SIZE + 1, looked=looked), looked
    is_enough = after is not None or wanted.is_counted
    ids: list[str] = []
    matched = read = 0
    for glance in GLANCES:
        most = min(glance, looked - read)
        found = find(wanted, after=after, size=max(1, SIZE + 1 - len(ids)), looked=most)
        ids += found.ids
        matched, read = matched + found.matched, read + most
        is_full = len(ids) > SIZE and is_enough
        if found.rest is None or is_full or read >= looked:
            break
        after = Place(found.rest)
    return Found(ids[: SIZE + 1], matched, found.rest, None, []), read


def bound(wanted: Wanted) -> int:
    """Return the number of rows that a search may read."""
    if not wanted.is_narrowed:
        return SIZE + 1
    is_narrow = wanted.state is not None and not (wanted.is_wide or wanted.is_ended)
    return LOOKED_NARROW if is_narrow else LOOKED_WIDE


def total_of(wanted: Wanted, found: Found, looked: int) -> Total:
    """Count the matching jobs, exactly from counts or if all rows were read; one statement."""
    if found.rest is None:
        return Total(found.matched, is_exact=True)
    if wanted.is_counted:
        return Total(counted(wanted), is_exact=True)
    most = counted(replace(wanted, state=State.DISCARDED) if wanted.is_dead else wanted)
    if not wanted.is_narrowed:
        return Total(most, is_exact=False)
    # of the rows read: live jobs of any queue and tenant, ended jobs of any tenant
    read = counted(_walked(wanted)) if most else 0
    return Total(max(found.matched, min(most, read * found.matched // looked)), is_exact=False)


def _walked(wanted: Wanted) -> Wanted:
    state = State.DISCARDED if wanted.is_dead else wanted.state
    return Wanted(state=state, queue=wanted.queue if wanted.is_ended else None)


class TookTooLong(Exception):
    """The search took longer than its limit."""


@contextmanager
def in_time(wanted: Wanted, most_ms: int | None = None) -> Iterator[None]:
    """Limit the time of a text search. Raises TookTooLong."""
    if not wanted.is_text:
        yield
        return
    try:
        with atomic():
            queries.hurry(most_ms or MOST_MS)
            yield
    except OperationalError as problem:
        if isinstance(problem.__cause__, QueryCanceled):
            raise TookTooLong from problem
        raise
