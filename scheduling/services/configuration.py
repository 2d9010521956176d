"""Read and set the scheduling defaults, for claims without a pool. Spec: contract 20.3, 20.4."""

from dataclasses import dataclass

from django.db.models.functions import Now

from jobs import extensions
from jobs.domain.access.caller import SYSTEM, Caller
from jobs.domain.dispatch.claim import STRATEGIES, PriorityScope, Strategy
from jobs.extensions import Document
from jobs.models import Queue
from jobs.services.audit.config_log import Subject, configured
from jobs.services.lanes import configuration
from scheduling.conf import conf
from scheduling.domain.pool import DEFAULT, TenantWeights
from scheduling.domain.pool_request import parse_scope, parse_strategy, parse_tenants
from scheduling.models import Configuration
from scheduling.services import pool_cache
from scheduling.services.documents import DEFAULTS, SCHEDULING, of_defaults
from scheduling.services.pools import emit_rebalanced, share


@dataclass(frozen=True, slots=True)
class Defaults:
    """The effective configuration."""

    strategy: Strategy
    scope: PriorityScope
    tenants: TenantWeights


@dataclass(frozen=True, slots=True)
class Wanted:
    """A configuration as it is set; None: the settings decide."""

    strategy: Strategy | None = None
    scope: PriorityScope | None = None
    tenants: TenantWeights | None = None


def defaults() -> Defaults:
    """Return the effective configuration."""
    found = pool_cache.read()
    return Defaults(found.default_strategy, found.priority_scope, found.tenants or TenantWeights())


def in_force(wanted: Wanted) -> Document:
    """Return the document of a configuration as it is in force: without null."""
    strategy = STRATEGIES[conf().default_strategy] if wanted.strategy is None else wanted.strategy
    scope = wanted.scope or PriorityScope(conf().priority_scope)
    return of_defaults(strategy, scope.value, wanted.tenants or TenantWeights())


def configure(wanted: Wanted, caller: Caller = SYSTEM) -> Defaults:
    """Set the configuration; effective from the commit on.

    Locks: the configuration version, then lanes.
    """
    extensions.clear_caches()  # the shares also depend on the tenants' own weights
    with configured(caller, Subject(SCHEDULING, DEFAULTS), "scheduling.configured") as data:
        strategy = wanted.strategy
        data["default_strategy"] = strategy.name.lower() if strategy is not None else None
        data["priority_scope"] = wanted.scope
        configuration.change()
        before = pool_cache.read()
        Configuration.objects.update_or_create(
            id=1,
            defaults={
                "default_strategy": strategy,
                "priority_scope": wanted.scope,
                "tenants": None if wanted.tenants is None else wanted.tenants.to_row(),
                "updated_at": Now(),
            },
        )
        after = pool_cache.read()
        if before.default_strategy != after.default_strategy:
            emit_rebalanced(DEFAULT, (before.default_strategy, {}), (after.default_strategy, {}))
        if before.tenants != after.tenants:
            share(after, list(Queue.objects.values_list("name", flat=True)))
    pool_cache.cache.clear()
    return defaults()


def restore(_: str, __: str | None, document: Document | None, caller: Caller) -> None:
    """Restore the defaults; None: the settings decide all of them."""
    given = document or {}
    strategy = given.get("default_strategy")
    configure(
        Wanted(
            None if strategy is None else parse_strategy(strategy),
            parse_scope(given.get("priority_scope")),
            parse_tenants(given.get("tenant_fairness")),
        ),
        caller,
    )
