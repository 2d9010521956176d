"""Read jobs. Spec: core INFO."""

from collections.abc import Collection, Sequence
from typing import Final
from uuid import UUID

import orjson
from django.db import OperationalError

from jobs import queries
from jobs.connection_pool import is_usable
from jobs.domain.errors import NotFound
from jobs.domain.job import Job, JobKind
from jobs.domain.wire.ids import is_id
from jobs.gather import Gathering, Later, Outcome
from jobs.models import Job as Row
from jobs.trips import Trip

DIGITS: Final = 32  # hexadecimal digits of an id
LOOKED: Final = 1000  # ids that are read for the jobs of a tenant


def show(job_id: str) -> Job:
    """Return a job with its live state. Raises NotFound."""
    job = queries.jobs([job_id]).get(job_id) if is_id(job_id) else None
    if job is None:
        raise NotFound.of("job", job_id)
    return job


def show_soon(job_id: str) -> Later[Job] | Job:
    """Begin to read a job, as `show` does; the statement may be shared. Raises NotFound."""
    if not is_id(job_id) or not is_usable():
        return show(job_id)

    def finish(outcome: "Outcome[Job | None]") -> Job:
        job = outcome()
        if job is None:
            raise NotFound.of("job", job_id)
        return job

    return Later(_reads, job_id, finish)


def _begin(ids: Sequence[str]) -> Trip[list[Job | None]]:
    trip = queries.begin_jobs(list(dict.fromkeys(ids)))
    return trip.then(lambda found: [found.get(job_id) for job_id in ids])


_reads = Gathering(_begin, OperationalError)


def show_many(ids: Sequence[str]) -> list[Job]:
    """Return jobs with their live state in the order of `ids`; unknown ids are left out."""
    found = queries.jobs(ids)
    return [found[job_id] for job_id in ids if job_id in found]


def beginning_with(digits: str, limit: int, tenant: str | None = None) -> list[Job]:
    """Return the newest jobs whose id begins with hexadecimal digits; two statements.

    With a tenant: only its jobs, among the newest LOOKED of these ids.
    """
    lowest, highest = (UUID(digits.ljust(DIGITS, end)) for end in "0f")
    looked = Row.objects.filter(id__range=(lowest, highest)).order_by("-id").values("id")[:LOOKED]
    found = Row.objects.filter(id__in=looked)
    if tenant is not None:
        found = found.filter(tenant=tenant)
    ids = found.order_by("-id").values_list("id", flat=True)[:limit]
    return show_many(list(map(str, ids)))


def declared(ids: Sequence[str]) -> list[tuple[str, str | None]]:
    """Return type and version of existing jobs, a version as text; one statement."""
    rows = Row.objects.filter(id__in=ids).values_list("type", "version")
    return [(kind, None if raw is None else str(orjson.loads(raw))) for kind, raw in rows]


def live(ids: Collection[str]) -> set[str]:
    """Return the ids of live jobs."""
    found = Row.objects.filter(id__in=ids, state__isnull=True).values_list("id", flat=True)
    return set(map(str, found))


def owned(ids: Collection[str], tenant: str) -> set[str]:
    """Return the ids of a tenant's jobs."""
    found = Row.objects.filter(id__in=ids, tenant=tenant).values_list("id", flat=True)
    return set(map(str, found))


def kinds_of(ids: Collection[str], tenant: str | None = None) -> dict[str, JobKind]:
    """Return queue and type of existing jobs, with a tenant of its jobs alone."""
    found = Row.objects.filter(id__in=ids)
    if tenant is not None:
        found = found.filter(tenant=tenant)
    rows = found.values_list("id", "queue", "type")
    return {str(job_id): JobKind(queue, kind) for job_id, queue, kind in rows}


def existing(ids: Collection[str]) -> set[str]:
    """Return the ids of existing jobs."""
    return set(map(str, Row.objects.filter(id__in=ids).values_list("id", flat=True)))
