"""Read and change the thresholds of rules; audited."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from django.db.models.functions import Now

from attention.domain.order import effective
from attention.domain.rule import Rule
from attention.models import RuleChange
from attention.rules import BY_ID, installed
from jobs.domain.access.caller import Caller
from jobs.domain.errors import InvalidRequest, NotFound
from jobs.extensions import ConfigKind, Document
from jobs.services.audit.config_log import Subject, configured

MOST_OVERRIDES: Final = 200
LONGEST_SUBJECT: Final = 255


@dataclass(frozen=True, slots=True)
class Setting:
    """A rule with its effective thresholds."""

    rule: Rule
    is_enabled: bool
    values: Mapping[str, int]
    overrides: Mapping[str, Mapping[str, int]]
    is_changed: bool


@dataclass(frozen=True, slots=True)
class Wanted:
    """The complete settings of a rule; values that are left out are the defaults."""

    is_enabled: bool
    values: Mapping[str, Any]
    overrides: Mapping[str, Any]


def settings() -> list[Setting]:
    """Return the settings of all rules of this installation; one statement."""
    changes = {one.rule: one for one in RuleChange.objects.all()}
    return [_setting(rule, changes.get(rule.id)) for rule in installed()]


def setting(rule_id: str) -> Setting:
    """Return the settings of a rule. Raises NotFound."""
    rule = _rule(rule_id)
    return _setting(rule, RuleChange.objects.filter(rule=rule.id).first())


def change(rule_id: str, wanted: Wanted, caller: Caller) -> Setting:
    """Replace the settings of a rule. Raises NotFound; InvalidRequest with the wrong field."""
    rule = _rule(rule_id)
    values = _values(rule, wanted.values, "thresholds")
    overrides = _overrides(rule, wanted.overrides)
    with configured(caller, Subject(FINDING_RULE, rule.id), "attention.rule_changed") as data:
        data["before"] = _described(setting(rule.id))
        RuleChange.objects.update_or_create(
            rule=rule.id,
            defaults={
                "is_enabled": wanted.is_enabled, "thresholds": values, "overrides": overrides,
                "updated_at": Now(), "updated_by": caller.name,
            },
        )  # fmt: skip
        changed = setting(rule.id)
        data["after"] = _described(changed)
    return changed


def _rule(rule_id: str) -> Rule:
    rule = BY_ID.get(rule_id)
    if rule is None or rule not in installed():
        raise NotFound.of("rule", rule_id)
    return rule


def _setting(rule: Rule, change: RuleChange | None) -> Setting:
    if change is None:
        return Setting(
            rule, is_enabled=True, values=rule.defaults(), overrides={}, is_changed=False
        )
    return Setting(
        rule,
        is_enabled=change.is_enabled,
        values=effective(rule, change.thresholds),
        overrides=change.overrides if rule.has_overrides else {},
        is_changed=True,
    )


def _document(name: str, _: str | None) -> Document | None:
    return _described(setting(name))


def restore(name: str, _: str | None, document: Document | None, caller: Caller) -> None:
    """Restore the settings of a rule; None: the defaults."""
    given = document or {"enabled": True, "thresholds": {}, "overrides": {}}
    change(name, Wanted(given["enabled"], given["thresholds"], given["overrides"]), caller)


def _described(one: Setting) -> dict[str, Any]:
    return {
        "enabled": one.is_enabled, "thresholds": dict(one.values),
        "overrides": dict(one.overrides),
    }  # fmt: skip


def _values(rule: Rule, given: Mapping[str, Any], path: str) -> dict[str, int]:
    known = {one.name: one for one in rule.thresholds}
    for name, value in given.items():
        field = f"{path}.{name[:100]}"
        if name not in known:
            raise InvalidRequest.field(field, f"is not a threshold of {rule.id}")
        low, high = known[name].low, known[name].high
        if type(value) is not int or not low <= value <= high:
            raise InvalidRequest.field(field, f"must be a whole number from {low} to {high}", value)
    return {name: int(value) for name, value in given.items() if value != known[name].default}


def _overrides(rule: Rule, given: Mapping[str, Any]) -> dict[str, dict[str, int]]:
    if given and not rule.has_overrides:
        raise InvalidRequest.field("overrides", f"are not possible for {rule.id}")
    if len(given) > MOST_OVERRIDES:
        raise InvalidRequest.field("overrides", f"must have at most {MOST_OVERRIDES} members")
    found: dict[str, dict[str, int]] = {}
    known = {one.name: one for one in rule.thresholds}
    for subject, values in given.items():
        path = f"overrides.{subject[:100]}"
        if not subject or len(subject) > LONGEST_SUBJECT or "\0" in subject:
            raise InvalidRequest.field(path, f"must be a name of 1 to {LONGEST_SUBJECT} characters")
        if not isinstance(values, dict):
            raise InvalidRequest.field(path, "must be an object", values)
        _values(rule, values, path)
        found[subject] = {name: int(values[name]) for name in values if name in known}
    return found


FINDING_RULE: Final = ConfigKind(
    "finding_rule", "Rule for findings", ("ojs_attention_rule",), _document,
    "attention.services.thresholds.restore",
    see="attention.see_rules", change="attention.configure",
)  # fmt: skip
