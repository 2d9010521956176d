"""Run the statements in `sql/`, one typed function each; no other module has a cursor."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from jobs.domain.wire import jsonio
from jobs.statements import Statements
from tenancy.domain.noise import Sample

_rows = Statements(Path(__file__).resolve().parent / "sql").rows


def lock(tenants: Iterable[str]) -> None:
    """Block other enqueues of these tenants until the transaction ends."""
    _rows("lock", {"tenants": list(tenants)})


class Usage(NamedTuple):
    """The figures that the limits of a tenant bound."""

    available: int = 0
    scheduled: int = 0
    came: int = 0  # new jobs in the period of its rate
    opens_in_s: float | None = None  # when the oldest of them leave the period

    @property
    def depth(self) -> int:
        """The number of waiting jobs."""
        return self.available + self.scheduled


def usage(periods_ms: Mapping[str, int | None]) -> dict[str, Usage]:
    """Count the usage of each tenant, with the period of its rate if it has one."""
    wanted = [{"tenant": one, "period_ms": ms} for one, ms in periods_ms.items()]
    found = _rows("usage", {"wanted": jsonio.dumps(wanted).decode()})
    return {row[0]: Usage(*row[1:]) for row in found}


def queues(wanted: Mapping[str, Iterable[str]]) -> dict[str, tuple[int, set[str]]]:
    """Count the queues where tenants have live jobs; also return which of `wanted` have some."""
    sent = [{"tenant": one, "queues": sorted(names)} for one, names in wanted.items()]
    found = _rows("queues", {"wanted": jsonio.dumps(sent).decode()})
    return {tenant: (number, set(names)) for tenant, number, names in found}


def count(came: Sequence[Mapping[str, object]]) -> None:
    """Record new jobs; `sql/count.sql` lists the members."""
    _rows("count", {"came": jsonio.dumps(list(came)).decode()})


def create(tenants: Iterable[str]) -> list[str]:
    """Create missing tenants; returns the new ids."""
    return [row[0] for row in _rows("create", {"tenants": list(tenants)})]


class Summary(NamedTuple):
    """The jobs of a tenant by state code, with queues and workers."""

    jobs: dict[int, int]
    queues: int = 0
    workers: int = 0
    live_queues: int = 0  # queues with live jobs


def summaries(tenants: Iterable[str]) -> dict[str, Summary]:
    """Count the jobs, queues and workers of tenants; tenants without jobs are absent."""
    found: dict[str, Summary] = {}
    for tenant, state, jobs, *more in _rows("summaries", {"tenants": list(tenants)}):
        summary = found.setdefault(tenant, Summary({}, *more))
        summary.jobs[state] = jobs
    return found


def alone() -> bool:
    """Lock the search for noisy tenants for this transaction; false: another process has it."""
    return bool(_rows("alone", {})[0][0])


def survey(minutes: int, *, least: int, most: int) -> None:
    """Store the recent activity of all tenants; parameters as in `sql/survey.sql`."""
    _rows("survey", {"minutes": minutes, "least": least, "most": most})


def samples() -> list[Sample]:
    """Return the activity of each tenant with traffic, for domain/noise.py."""
    return [Sample(*row) for row in _rows("samples", {})]


def started(minutes: int) -> list[tuple[str, int]]:
    """Count the starts of the last minutes, by tenant."""
    return [(row[0], int(row[1])) for row in _rows("started", {"minutes": minutes})]


class Shares(NamedTuple):
    """A tenant compared with all tenants."""

    weights: float  # of all tenants that have jobs to hand out
    is_eligible: bool  # it has jobs to hand out
    started: int
    started_by_all: int


def shares(tenant: str, minutes: int) -> Shares:
    """Compare weight and starts of a tenant with all tenants."""
    return Shares(*_rows("shares", {"tenant": tenant, "minutes": minutes})[0])


def misplaced(*, isolates: bool, enabled: bool, default: str, most: int) -> list[str]:
    """Return at most `most` tenants whose lanes contradict their isolation model."""
    params = {"isolates": isolates, "enabled": enabled, "default": default, "most": most}
    return [row[0] for row in _rows("misplaced", params)]
