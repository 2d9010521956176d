"""A finding in words: what is wrong, the likely cause, the remedies."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from attention.domain.rule import Hit, Remedy, Rule, Severity
from attention.rules import BY_ID

INTERNAL: Final = ("actor", "reason")  # facts that callers bound to a tenant do not see


@dataclass(frozen=True, slots=True)
class Shown:
    """A finding for readers. `id` is empty for one that is not stored, because no loop runs."""

    id: str
    rule: Rule
    hit: Hit
    severity: Severity
    since: datetime
    ended_at: datetime | None = None
    mute: "Muted | None" = None
    has_runbook: bool = False  # its rule has a note or a procedure

    @property
    def text(self) -> str:
        """Return a sentence that says what is wrong."""
        return self.rule.text(self.hit)

    @property
    def cause(self) -> str:
        """Return the likely cause."""
        return self.rule.cause(self.hit)

    @property
    def remedies(self) -> tuple[Remedy, ...]:
        """Return the remedies, the best first."""
        return tuple(self.rule.remedies(self.hit))


@dataclass(frozen=True, slots=True)
class Muted:
    """Why a finding is muted, and until when."""

    reason: str
    until: datetime
    actor: str
    at: datetime


def for_tenant(hit: Hit) -> Hit:
    """Return a hit without the facts that callers bound to a tenant do not see."""
    kept = {name: value for name, value in hit.facts.items() if name not in INTERNAL}
    return hit._replace(facts=kept)


def event_data(
    finding_id: str, rule_id: str, hit: Hit, severity: int, since: str
) -> Mapping[str, Any]:
    """Return the data of an event about a finding; the rule may be gone."""
    rule = BY_ID.get(rule_id)
    words = (
        {"text": rule.text(hit), "cause": rule.cause(hit), "subject_kind": str(rule.subject)}
        if rule
        else {}
    )
    return {
        "finding_id": finding_id, "rule": rule_id, "subject": hit.subject,
        "severity": Severity(severity).word, "since": since, "jobs": hit.jobs,
        "tenants": hit.tenants, **words,
    }  # fmt: skip
