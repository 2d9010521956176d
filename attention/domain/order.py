"""The order of findings, and findings that another finding explains."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from attention.domain.rule import Hit, Rule, Severity


class Found(NamedTuple):
    """A hit of a rule."""

    rule: Rule
    hit: Hit

    @property
    def severity(self) -> Severity:
        """Return the severity by the rule."""
        return self.rule.severity(self.hit)


def unexplained(found: Sequence[Found]) -> list[Found]:
    """Leave out findings whose subject has a finding of a rule that explains them."""
    known = {(one.rule.id, one.hit.subject) for one in found}
    return [
        one
        for one in found
        if not any((rule, one.hit.subject) in known for rule in one.rule.yields_to)
    ]


def effective(rule: Rule, changed: Mapping[str, int]) -> dict[str, int]:
    """Return the thresholds of a rule: those that an operator changed, else the defaults.

    A stored value of an earlier release may be outside the present bounds: then the nearer counts.
    """
    return {
        one.name: min(one.high, max(one.low, changed.get(one.name, one.default)))
        for one in rule.thresholds
    }


def names(rules: Iterable[Rule]) -> list[str]:
    """Return the ids of rules."""
    return [rule.id for rule in rules]
