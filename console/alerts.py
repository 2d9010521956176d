"""Alerts of Prometheus, and their sections in the manual, which findings and pages link to."""

from dataclasses import dataclass
from typing import Final

from attention.domain.rule import Severity
from console import links
from console.conf import conf

PAGE: Final = "deploy/monitoring.html"
BURN: Final = ("OJSBudgetBurnsFast", "OJSBudgetBurnsSlowly")
NAMES: Final = (  # in the order of deploy/prometheus/alerts.yml
    "OJSDown", "OJSProcessDown", "OJSLoopStopped", "OJSFindingCritical", "OJSFindingWarning",
    "OJSNoWorkers", "OJSQueueLate", *BURN, "OJSJobsFail", "OJSServerErrors", "OJSEnqueueSlow",
    "OJSEventsUnread", "OJSEventsLost", "OJSCountsDrifted", "OJSQueueStarves", "OJSJobsRefused",
    "OJSProgressStopped", "OJSVersionHeld", "OJSRegionUnhealthy", "OJSDatabaseDown",
    "OJSDatabaseConnections", "OJSReplicationLate", "OJSTransactionLong",
)  # fmt: skip
# alerts about the same trouble as a rule, besides those of all findings of a severity
OF_RULE: Final[dict[str, tuple[str, ...]]] = {
    "queue_objective": BURN,
    "queue_late": ("OJSQueueLate",),
    "queue_starved": ("OJSQueueStarves",),
    "queue_full": ("OJSJobsRefused",),
    "loop_stuck": ("OJSLoopStopped",),
    "counts_drifted": ("OJSCountsDrifted",),
    "workers_gone": ("OJSNoWorkers",),
    "dead_letters": ("OJSJobsFail",),
    "version_held": ("OJSVersionHeld",),
    "region_down": ("OJSRegionUnhealthy",),
    "region_open": ("OJSRegionUnhealthy",),
    "database_slow": ("OJSEnqueueSlow", "OJSTransactionLong"),
}
OF_SEVERITY: Final = {
    Severity.CRITICAL: ("OJSFindingCritical",),
    Severity.WARNING: ("OJSFindingWarning",),
}


@dataclass(frozen=True, slots=True)
class Alert:
    """An alert; `url` is its runbook, empty if no setting names the manual."""

    name: str
    url: str


def every() -> list[Alert]:
    """Return all alerts."""
    return [_alert(name) for name in NAMES]


def of_finding(rule_id: str, severity: Severity) -> list[Alert]:
    """Return the alerts that report a finding."""
    names = (*OF_RULE.get(rule_id, ()), *OF_SEVERITY.get(severity, ()))
    return [_alert(name) for name in names]


def of_objectives() -> list[Alert]:
    """Return the alerts of queues that use up their error budget."""
    return [_alert(name) for name in BURN]


def _alert(name: str) -> Alert:
    base = conf().manual_url
    usable = base and links.problem(base) is None
    return Alert(name, f"{base.rstrip('/')}/{PAGE}#{name.lower()}" if usable else "")
