"""Rules about versions of types: canaries and versions without a worker."""

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


def _canary_text(hit: Hit) -> str:
    facts = hit.facts
    return (
        f"Version {facts['canary']} of {hit.subject} fails more often than {facts['control']}: "
        f"{facts['percent']} % against {facts['control_percent']} %."
    )


def _canary_cause(hit: Hit) -> str:
    return (
        f"The new version is the likely cause: both versions had attempts at the same time, "
        f"{hit.facts['ended']:,.0f} and {hit.facts['control_ended']:,.0f}."
    )


def _canary_remedies(hit: Hit) -> list[Remedy]:
    return [
        act("Roll back", "routing-rollback", hit.subject, hit.facts["revision"]),
        page("Show versions", "versions_of_type", hit.subject),
        act("Pause the plan", "routing-pause", hit.subject, hit.facts["revision"]),
    ]


def _held_text(hit: Hit) -> str:
    versions = [one for one in hit.facts["versions"] if one]
    jobs, wait = number(hit.jobs, "job"), "waits" if hit.jobs == 1 else "wait"
    if not versions:
        return (
            f"{jobs} of {hit.subject} without a version {wait}: every worker that runs "
            "and fetches their queue refuses them."
        )
    word = "this version" if len(versions) == 1 else "these versions"
    return f"{jobs} of {hit.subject} {', '.join(versions)} {wait} for a worker that accepts {word}."


def _held_cause(hit: Hit) -> str:
    return "No live worker of the queue declares a handler that accepts the version of these jobs."


def _held_remedies(hit: Hit) -> list[Remedy]:
    return [
        page("Show versions", "versions_of_type", hit.subject),
        page("Show waiting jobs", "jobs", type=hit.subject, state="available"),
        page("Show workers", "workers"),
    ]


RULES: Final = (
    Rule(
        "canary_worse", "A canary fails more often than its control", Subject.TYPE,
        find.canary_worse, _canary_text, _canary_cause, always(Severity.CRITICAL),
        _canary_remedies,
        (
            Threshold("window_m", "Minutes that are judged", 30, 1, 1_440),
            Threshold("min_attempts", "Minimum attempts of each version", 20, 1, 1_000_000),
            Threshold("points", "Difference in percentage points", 5, 1, 100),
        ),
        app="ojs_versioning", radius=Radius.FAILED,
    ),
    Rule(
        "version_held", "No worker accepts a version", Subject.TYPE, find.version_held,
        _held_text, _held_cause, always(Severity.WARNING), _held_remedies,
        app="ojs_versioning", is_exact=True,
    ),
)  # fmt: skip
