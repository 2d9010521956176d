"""Rules about tenants. Callers bound to the tenant see these findings, without the reasons."""

from typing import Final

from attention.domain.rule import (
    Hit,
    Radius,
    Remedy,
    Rule,
    Severity,
    Subject,
    Threshold,
    act,
    always,
    number,
    page,
)
from attention.queries import rules as find

REASONS: Final = {
    "queue_depth_ratio_exceeded": "far more waiting jobs than the other tenants",
    "enqueue_rate_ratio_exceeded": "far more new jobs than the other tenants",
    "active_ratio_exceeded": "far more running jobs than the other tenants",
    "error_rate_ratio_exceeded": "far more failed attempts than the other tenants",
}


def _reasons(hit: Hit) -> str:
    named = [REASONS.get(code, code) for code in hit.facts.get("reasons") or ()]
    return f"The tenant has {', and '.join(named)}." if named else ""


def _suspended_text(hit: Hit) -> str:
    wait = "waits" if hit.jobs == 1 else "wait"
    return f"Tenant {hit.subject} is suspended, and {number(hit.jobs, 'job')} {wait}."


def _suspended_cause(hit: Hit) -> str:
    actor, reason = hit.facts.get("actor"), hit.facts.get("reason")
    who = f"{actor} suspended it" if actor else "An operator suspended it"
    return f"{who}: {reason}" if reason else f"{who}."


def _tenant(hit: Hit) -> Remedy:
    return page("Show tenant", "tenant", hit.subject)


def _throttled_cause(hit: Hit) -> str:
    percent = round(100 * hit.facts["factor"])
    return f"Its {hit.facts['action']} is reduced to {percent} %. {_reasons(hit)}".strip()


RULES: Final = (
    Rule(
        "tenant_suspended", "A suspended tenant has jobs", Subject.TENANT, find.tenant_suspended,
        _suspended_text, _suspended_cause, always(Severity.WARNING),
        lambda hit: [act("Resume tenant", "tenant-resume", hit.subject), _tenant(hit)],
        (Threshold("min_jobs", "Minimum waiting jobs", 1, 1, 1_000_000),),
        app="ojs_tenancy", is_exact=True, radius=Radius.WAITING,
    ),
    Rule(
        "tenant_noisy", "A tenant is noisy", Subject.TENANT, find.tenant_noisy,
        lambda hit: f"Tenant {hit.subject} is a noisy neighbour.",
        _reasons, always(Severity.NOTICE), lambda hit: [_tenant(hit)],
        (Threshold("fresh_s", "Seconds since the last look that found it noisy", 60, 5, 86_400),),
        app="ojs_tenancy", is_exact=True, radius=Radius.WAITING,
    ),
    Rule(
        "tenant_throttled", "A tenant is throttled", Subject.TENANT, find.tenant_throttled,
        lambda hit: f"Tenant {hit.subject} is throttled as a noisy neighbour.",
        _throttled_cause, always(Severity.NOTICE),
        lambda hit: [_tenant(hit), act("End the throttle", "tenant-release", hit.subject)],
        app="ojs_tenancy", is_exact=True, radius=Radius.WAITING,
    ),
)  # fmt: skip
