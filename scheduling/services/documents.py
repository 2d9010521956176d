"""The kinds of configuration of this app, and their documents for the history."""

from typing import Any, Final

from jobs.domain.dispatch.claim import Strategy
from jobs.domain.wire.durations import format_duration
from jobs.extensions import ConfigKind, Document
from scheduling.domain.pool import Pool, TenantWeights
from scheduling.models import Configuration, CronEntry, PoolRow
from scheduling.services.pool_cache import to_pool

DEFAULTS: Final = "scheduling"  # the name of the only object of its kind


def _pool(name: str, _: str | None) -> Document | None:
    row = PoolRow.objects.prefetch_related("queues").filter(name=name).first()
    return None if row is None else of_pool(to_pool(row))


def of_pool(pool: Pool) -> Document:
    """Return the document of a pool."""
    return {
        "queues": list(pool.queues),
        "weights": pool.weight_by_queue,
        "strategy": pool.strategy.wire,
        "concurrency": pool.concurrency,
        "isolated": pool.isolated,
        "starvation_prevention": {
            "enabled": pool.prevention.enabled,
            "rotation_interval": format_duration(pool.prevention.rotation_ms),
            "min_dispatch_ratio": pool.prevention.min_ratio,
        },
        "tenant_fairness": pool.tenants and _fairness(pool.tenants),
        "tenant": pool.tenant,
    }


def _defaults(_: str, __: str | None) -> Document:
    row = Configuration.objects.first() or Configuration()
    chosen = row.default_strategy
    return of_defaults(
        None if chosen is None else Strategy(chosen),
        row.priority_scope,
        None if row.tenants is None else TenantWeights.from_row(row.tenants),
    )


def of_defaults(
    strategy: Strategy | None, scope: str | None, tenants: TenantWeights | None
) -> Document:
    """Return the document of the defaults; None: the settings decide."""
    return {
        "default_strategy": None if strategy is None else strategy.wire,
        "priority_scope": scope and str(scope),
        "tenant_fairness": tenants and _fairness(tenants),
    }


def _fairness(tenants: TenantWeights) -> dict[str, Any]:
    return {
        "enabled": tenants.enabled, "weights": dict(tenants.weights),
        "default_weight": tenants.default, "cost": tenants.cost.value,
        "scope": tenants.scope.value,
    }  # fmt: skip


def _schedule(name: str, tenant: str | None) -> Document | None:
    row = CronEntry.objects.filter(name=name, tenant=tenant).first()
    if row is None:
        return None
    return {
        "expression": row.expression, "timezone": row.timezone, "job_template": row.template,
        "overlap_policy": row.overlap_policy, "enabled": row.enabled,
        "description": row.description,
    }  # fmt: skip


POOL: Final = ConfigKind(
    "pool", "Pool", ("ojs_pool", "ojs_pool_queue"), _pool, "scheduling.services.pools.restore",
    see="pools.see", change="pools.configure", delete="pools.delete",
)  # fmt: skip
SCHEDULING: Final = ConfigKind(
    "scheduling", "Scheduling defaults", ("ojs_scheduling",), _defaults,
    "scheduling.services.configuration.restore",
    see="pools.see", change="scheduling.configure",
)  # fmt: skip
SCHEDULE: Final = ConfigKind(
    "schedule", "Schedule", ("ojs_cron_entry",), _schedule,
    "scheduling.services.cron_register.restore",
    see="schedules.see", change="schedules.configure", delete="schedules.delete",
)  # fmt: skip
KINDS: Final = (POOL, SCHEDULING, SCHEDULE)
