"""One typed function per statement in `sql/`: the only place of the app with a cursor."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from jobs.domain import jsonio
from jobs.statements import Statements
from tenancy.domain.noise import Sample

_rows = Statements(Path(__file__).resolve().parent / "sql").rows


def lock(tenants: Iterable[str]) -> None:
    """Let nobody else enqueue for these tenants until the transaction ends."""
    _rows("lock", {"tenants": list(tenants)})


class Usage(NamedTuple):
    """What counts for the limits of a tenant."""

    available: int = 0
    scheduled: int = 0
    came: int = 0  # new jobs in the period of its rate
    opens_in_s: float | None = None  # when the first of them leave it

    @property
    def depth(self) -> int:
        """Jobs that wait."""
        return self.available + self.scheduled


def usage(periods_ms: Mapping[str, int | None]) -> dict[str, Usage]:
    """Count for each tenant, with the period of its rate if it has one."""
    wanted = [{"tenant": one, "period_ms": ms} for one, ms in periods_ms.items()]
    found = _rows("usage", {"wanted": jsonio.dumps(wanted).decode()})
    return {row[0]: Usage(*row[1:]) for row in found}


def queues(wanted: Mapping[str, Iterable[str]]) -> dict[str, tuple[int, set[str]]]:
    """Count the queues where tenants have jobs that have not ended; with those of `wanted`."""
    sent = [{"tenant": one, "queues": sorted(names)} for one, names in wanted.items()]
    found = _rows("queues", {"wanted": jsonio.dumps(sent).decode()})
    return {tenant: (number, set(known)) for tenant, number, known in found}


def count(came: Sequence[Mapping[str, object]]) -> None:
    """Note new jobs; members as `sql/count.sql` reads them."""
    _rows("count", {"came": jsonio.dumps(list(came)).decode()})


def create(tenants: Iterable[str]) -> list[str]:
    """Make tenants that are not there; returns the new ones."""
    return [row[0] for row in _rows("create", {"tenants": list(tenants)})]


class Summary(NamedTuple):
    """What a tenant has: jobs by state code."""

    jobs: dict[int, int]
    queues: int = 0
    workers: int = 0
    live_queues: int = 0  # with jobs that have not ended


def summaries(tenants: Iterable[str]) -> dict[str, Summary]:
    """Count what tenants have; those without jobs are absent."""
    found: dict[str, Summary] = {}
    for tenant, state, jobs, *more in _rows("summaries", {"tenants": list(tenants)}):
        summary = found.setdefault(tenant, Summary({}, *more))
        summary.jobs[state] = jobs
    return found


def alone() -> bool:
    """Take the turn to look for noisy neighbours, in the caller's transaction; false: not now."""
    return bool(_rows("alone", {})[0][0])


def survey(minutes: int, *, least: int, most: int) -> None:
    """Note what all tenants did lately, and the busiest; parameters as in `sql/survey.sql`."""
    _rows("survey", {"minutes": minutes, "least": least, "most": most})


def samples() -> list[Sample]:
    """Return what each tenant with traffic does, for domain/noise.py."""
    return [Sample(*row) for row in _rows("samples", {})]


def started(minutes: int) -> list[tuple[str, int]]:
    """Count what started in the last minutes, by tenant."""
    return [(row[0], int(row[1])) for row in _rows("started", {"minutes": minutes})]


class Shares(NamedTuple):
    """A tenant among the others."""

    weights: float  # of all tenants that have jobs to hand out
    is_eligible: bool  # it is one of them
    started: int
    started_by_all: int


def shares(tenant: str, minutes: int) -> Shares:
    """Compare a tenant with the others."""
    return Shares(*_rows("shares", {"tenant": tenant, "minutes": minutes})[0])


def misplaced(*, isolates: bool, enabled: bool, default: str, most: int) -> list[str]:
    """Return tenants whose lanes are kept apart against what holds, or not kept; at most `most`."""
    params = {"isolates": isolates, "enabled": enabled, "default": default, "most": most}
    return [row[0] for row in _rows("misplaced", params)]
