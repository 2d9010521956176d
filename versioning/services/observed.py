"""Read the recent outcomes of a type's versions, for API and console. Spec: contract 22.4."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from jobs.domain.record.latency import percentile
from jobs.services.read import clock
from versioning.domain.canary_request import WINDOW_MS, guard_of, shares_of
from versioning.domain.evidence import Evidence, Interval, Outcomes, wilson
from versioning.domain.version import Version, parse_version
from versioning.models import Routing, Trial
from versioning.queries import TouchedJob
from versioning.services import outcomes
from versioning.services.routes import latest
from versioning.services.touched import touched

TAKEN_BACK = 20  # jobs of a rolled back version that are listed with its rules


@dataclass(frozen=True, slots=True)
class RunTimes:
    """Run times of the acknowledged attempts of a version, to within a tenth."""

    attempts: int
    p50_ms: float
    p95_ms: float


@dataclass(frozen=True, slots=True)
class Observation:
    """One version with the confidence interval of its failure rate.

    `ran` None: no attempt was acknowledged.
    """

    version: Version
    outcomes: Outcomes
    interval: Interval
    ran: RunTimes | None = None


@dataclass(frozen=True, slots=True)
class Observed:
    """Versions in descending order; `p_value` None: the rules ask for no significance.

    `touched` are the last jobs of a rolled back version; None: no rollback.
    """

    versions: tuple[Observation, ...]
    p_value: float | None
    touched: tuple[TouchedJob, ...] | None = None


def observed(row: Routing) -> Observed:
    """Return the outcomes in the window of the rules, since their last manual change.

    Run times are of whole minutes. At most five statements, and the reads of a stale cache.
    """
    guard = guard_of(row.guard)
    window_ms = WINDOW_MS if guard is None else guard.window_ms
    routes, began = latest(), clock.now() - timedelta(milliseconds=window_ms)
    found = outcomes.since(row.type, routes, began - timedelta(seconds=outcomes.SLOT_S))
    runs = outcomes.runs(row.type, routes, began.replace(second=0, microsecond=0))
    versions = found.keys() | {one.version for one in shares_of(row.rules)}
    seen = tuple(
        Observation(one, ended, wilson(ended), _run_times(runs.get(one, {})))
        for one in sorted(versions, reverse=True)
        for ended in (found.get(one, Outcomes()),)
    )
    return Observed(seen, _p_value(row) if guard and guard.significance else None, _touched(row))


def _run_times(buckets: Mapping[int, int]) -> RunTimes | None:
    if not buckets:
        return None
    return RunTimes(sum(buckets.values()), percentile(buckets, 0.5), percentile(buckets, 0.95))


def _touched(row: Routing) -> tuple[TouchedJob, ...] | None:
    if row.rolled_back_from is None:
        return None
    gone = parse_version(row.rolled_back_from)
    return tuple(touched(row.type, gone, failed=None, limit=TAKEN_BACK))


def _p_value(row: Routing) -> float:
    trial = Trial.objects.filter(type=row.type).first()
    return 1.0 if trial is None else Evidence(trial.looks, trial.log_bet).p_value
