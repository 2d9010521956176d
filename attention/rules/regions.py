"""Rules about other servers: regions, and subscribers of webhooks."""

from typing import Final

from attention.domain.rule import (
    Hit,
    Remedy,
    Rule,
    Severity,
    Subject,
    act,
    always,
    page,
)
from attention.queries import rules as find
from jobs.domain.wire.durations import in_words


def _open_text(hit: Hit) -> str:
    if hit.facts["is_forced"]:
        return f"The circuit breaker of region {hit.subject} was opened by hand: no job goes there."
    return f"The region {hit.subject} is down, its circuit breaker is open."


def _error(hit: Hit) -> str:
    error = hit.facts["error"]
    return f"The last probe or call: {error}" if error else "The region has sent no error."


def _open_severity(hit: Hit) -> Severity:
    return Severity.NOTICE if hit.facts["is_forced"] else Severity.CRITICAL


def _probe(hit: Hit) -> Remedy:
    return act("Probe now", "region-probe", hit.subject)


def _region(hit: Hit) -> Remedy:
    return page("Show region", "regions", anchor=f"region-{hit.subject}")


def _late_text(hit: Hit) -> str:
    lag = hit.facts["lag_ms"]
    since = f" for {in_words(lag)}" if lag is not None else ""
    return f"Region {hit.subject} has lacked changes of this region{since}."


def _skewed_text(hit: Hit) -> str:
    skew = hit.facts["skew_s"] or 0
    way = "ahead of" if skew > 0 else "behind"
    return f"The clock of region {hit.subject} is {abs(skew)} s {way} the clock of this region."


RULES: Final = (
    Rule(
        "region_open", "The circuit breaker of a region is open", Subject.REGION,
        find.region_open, _open_text, _error, _open_severity,
        lambda hit: [
            act("Close breaker", "region-close", hit.subject), _probe(hit), _region(hit),
        ],
        app="ojs_federation", is_exact=True,
    ),
    Rule(
        "region_down", "A region is unhealthy", Subject.REGION, find.region_down,
        lambda hit: f"The region {hit.subject} is unhealthy.", _error,
        always(Severity.WARNING), lambda hit: [_probe(hit), _region(hit)],
        app="ojs_federation", is_exact=True,
    ),
    Rule(
        "replication_late", "A region lacks changes of this region", Subject.REGION,
        find.replication_late, _late_text, _error, always(Severity.WARNING),
        lambda hit: [_probe(hit), _region(hit)], app="ojs_federation", is_exact=True,
    ),
    Rule(
        "region_skewed", "The clock of a region differs", Subject.REGION, find.region_skewed,
        _skewed_text, lambda _: "One of the hosts does not synchronize its clock.",
        always(Severity.NOTICE), lambda hit: [_region(hit)],
        app="ojs_federation", is_exact=True,
    ),
    Rule(
        "webhook_off", "The server switched a webhook off", Subject.WEBHOOK, find.webhook_off,
        lambda hit: f"The webhook to {hit.facts['host']} is off: {hit.facts['why']}",
        lambda _: "The subscriber refused deliveries, or did not answer, until all were given up.",
        always(Severity.WARNING),
        lambda hit: [
            act("Enable webhook", "webhook-enable", hit.subject), page("Show webhooks", "webhooks"),
        ],
        app="ojs_webhooks", is_exact=True,
    ),
)  # fmt: skip
