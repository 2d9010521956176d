"""Search jobs in all regions, by a request to each. Spec: contract 23.2.

Searches only read, and do not count for a region's breaker. A region without an answer in time is
reported with its error, next to the answers of the other regions.
"""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from time import monotonic
from typing import Any, Final
from urllib.parse import quote, urlencode

from federation.domain.breaker import State as Breaker
from federation.domain.exchange import API, Call, Failure, Reply
from federation.domain.health import Health
from federation.domain.region import Region
from federation.services.registry import outbound
from federation.services.registry.regions import registry
from jobs.domain.errors import NotFound
from jobs.domain.job import Job
from jobs.domain.states import State, state_of
from jobs.domain.wire.times import read_time
from jobs.services.read.find import Wanted, find_jobs, pattern
from jobs.services.read.show import show

TIMEOUT_S: Final = 3.0
AT_ONCE: Final = 16
MOST: Final = 50  # jobs of a region
MAX_TEXT: Final = 255
OK, NOT_FOUND = 200, 404


@dataclass(frozen=True, slots=True)
class JobSearch:
    """The filter of a search; None: any. `type` may end in `*`; an id excludes other filters."""

    id: str | None = None
    state: State | None = None
    queue: str | None = None
    type: str | None = None

    @property
    def path(self) -> str:
        """The path of the request to a region."""
        if self.id is not None:
            return f"{API}/jobs/{quote(self.id, safe='')}"
        asked = {"state": self.state, "queue": self.queue, "type": self.type, "limit": MOST}
        return f"{API}/jobs?{urlencode({k: v for k, v in asked.items() if v is not None})}"


@dataclass(frozen=True, slots=True)
class RemoteJob:
    """The shown facts of a job in any region."""

    region: str
    id: str
    type: str
    queue: str
    state: str
    created_at: datetime | None
    is_local: bool = False


@dataclass(frozen=True, slots=True)
class RegionAnswer:
    """The answer of a region; `error` None: it answered."""

    region: str
    jobs: Sequence[RemoteJob] = ()
    total: int = 0
    error: str | None = None
    took_ms: int = 0


def search(wanted: JobSearch) -> list[RegionAnswer]:
    """Search all regions concurrently; returns an answer for each, by id. Not in a transaction."""
    known = registry()
    local = known.local_region
    asked = [one for one in known.regions.values() if one.id != local]
    with ThreadPoolExecutor(min(AT_ONCE, len(asked) or 1)) as pool:
        futures = [
            (one.id, pool.submit(_ask, one, known.health.get(one.id, Health()), wanted))
            for one in asked
        ]
        # here, while the other searches run: a thread would need its own connection
        found = {} if local is None else {local: _here(local, wanted)}
        found |= {region: future.result() for region, future in futures}
    return [found[region] for region in sorted(found)]


def _here(region: str, wanted: JobSearch) -> RegionAnswer:
    began = monotonic()
    if wanted.id is not None:
        try:
            jobs, total = [show(wanted.id)], 1
        except NotFound:
            jobs, total = [], 0
    else:
        kind = wanted.type and pattern(wanted.type)
        page = find_jobs(Wanted(wanted.state, wanted.queue, None, kind), offset=0, limit=MOST)
        jobs, total = list(page.jobs), page.total
    return RegionAnswer(region, [_own(region, job) for job in jobs], total, None, _ms(began))


def _own(region: str, job: Job) -> RemoteJob:
    state = state_of(job.state).value
    return RemoteJob(region, job.id, job.type, job.queue, state, job.created_at, is_local=True)


def _ask(region: Region, health: Health, wanted: JobSearch) -> RegionAnswer:
    """Search one region; needs no database and never raises."""
    if not region.enabled:
        return RegionAnswer(region.id, error="disabled")
    if health.breaker is Breaker.OPEN:
        return RegionAnswer(region.id, error="circuit breaker open")
    began = monotonic()
    answer = outbound.send(region, Call(region.id, "GET", wanted.path, timeout_s=TIMEOUT_S))
    took = _ms(began)
    if isinstance(answer, Failure):
        return RegionAnswer(region.id, error=answer.reason, took_ms=took)
    if wanted.id is not None and answer.status == NOT_FOUND:
        return RegionAnswer(region.id, took_ms=took)
    if answer.status != OK:
        return RegionAnswer(region.id, error=_refused(answer), took_ms=took)
    jobs, total = _read(region.id, answer.body, is_one=wanted.id is not None)
    return RegionAnswer(region.id, jobs, total, took_ms=took)


def _refused(answer: Reply) -> str:
    if answer.status in {401, 403}:
        return f"HTTP {answer.status}: the key of this server may not read jobs there"
    return f"HTTP {answer.status}"


def _read(region: str, body: object, *, is_one: bool) -> tuple[list[RemoteJob], int]:
    """Return the jobs of an answer; entries that are no jobs are left out."""
    given = body if isinstance(body, Mapping) else {}
    raw = [given.get("job", given)] if is_one else given.get("jobs")
    listed = raw if isinstance(raw, list) else []
    jobs = [found for one in listed[:MOST] if (found := _job(region, one)) is not None]
    total = given.get("total")
    is_count = isinstance(total, int) and not isinstance(total, bool) and total >= 0
    return jobs, total if is_count and isinstance(total, int) else len(jobs)


def _job(region: str, raw: object) -> RemoteJob | None:
    if not isinstance(raw, Mapping):
        return None
    texts = [_text(raw.get(name)) for name in ("id", "type", "queue", "state")]
    if None in texts:
        return None
    job_id, kind, queue, state = (text or "" for text in texts)
    return RemoteJob(region, job_id, kind, queue, state, _time(raw.get("created_at")))


def _text(value: Any) -> str | None:
    return value[:MAX_TEXT] if isinstance(value, str) and value else None


def _time(value: object) -> datetime | None:
    try:
        return read_time(value)
    except ValueError:
        return None


def _ms(began: float) -> int:
    return round((monotonic() - began) * 1000)
