"""Findings of some rules in words, as the overview shows them."""

from datetime import datetime
from typing import NamedTuple

from attention.rules import BY_ID
from attention.services.look import evaluate


class Alert(NamedTuple):
    """A finding; `text` also has the cause."""

    kind: str  # the rule
    subject: str
    text: str
    since: datetime | None
    tenant: str | None


def alerts_of(*rules: str) -> list[Alert]:
    """Evaluate these rules."""
    seen = evaluate([BY_ID[rule] for rule in rules], {})
    assert not seen.failed
    return [
        Alert(
            rule.id,
            hit.subject,
            f"{rule.text(hit)} {rule.cause(hit)}",
            hit.since,
            hit.tenant,
        )
        for rule, hit in seen.found
    ]
