"""How versions of a type did lately, for whoever looks. Spec: contract 22 §4."""

from dataclasses import dataclass

from versioning.domain.canary_request import WINDOW_MS, guard_of, shares_of
from versioning.domain.evidence import Evidence, Interval, Outcomes, wilson
from versioning.domain.version import Version
from versioning.models import Routing, Trial
from versioning.services import outcomes
from versioning.services.routes import latest


@dataclass(frozen=True, slots=True)
class Observation:
    """One version; the interval is where its failure rate lies."""

    version: Version
    outcomes: Outcomes
    interval: Interval


@dataclass(frozen=True, slots=True)
class Observed:
    """Versions in descending order; `p_value` None: the rules ask for no significance."""

    versions: tuple[Observation, ...]
    p_value: float | None


def observed(row: Routing) -> Observed:
    """Return outcomes in the window of the rules, since they were last set by hand."""
    guard = guard_of(row.guard)
    window_ms = WINDOW_MS if guard is None else guard.window_ms
    found = outcomes.in_window(row.type, latest(), window_ms)
    versions = found.keys() | {one.version for one in shares_of(row.rules)}
    seen = tuple(
        Observation(one, ended, wilson(ended))
        for one in sorted(versions, reverse=True)
        for ended in (found.get(one, Outcomes()),)
    )
    return Observed(seen, _p_value(row) if guard and guard.significance else None)


def _p_value(row: Routing) -> float:
    trial = Trial.objects.filter(type=row.type).first()
    return 1.0 if trial is None else Evidence(trial.looks, trial.log_bet).p_value
