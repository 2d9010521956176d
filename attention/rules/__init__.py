"""The table of all rules, worst effect first within a group."""

from collections.abc import Mapping
from functools import cache
from typing import Final

from django.apps import apps

from attention.domain.rule import Rule
from attention.rules import queues, regions, schedules, server, tenants, types, versions, workers

RULES: Final[tuple[Rule, ...]] = (
    *server.RULES,
    *queues.RULES,
    *types.RULES,
    *versions.RULES,
    *workers.RULES,
    *schedules.RULES,
    *tenants.RULES,
    *regions.RULES,
)
BY_ID: Final[Mapping[str, Rule]] = {rule.id: rule for rule in RULES}


@cache
def installed() -> tuple[Rule, ...]:
    """Return the rules whose tables this installation has."""
    labels = {config.label for config in apps.get_app_configs()}
    return tuple(rule for rule in RULES if not rule.app or rule.app in labels)
