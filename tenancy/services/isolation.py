"""Move lanes of tenants to the place of their isolation model. Spec: MT 6, D-MT-6."""

from jobs.database import atomic
from jobs.services.lanes import configuration, lanes
from tenancy import queries
from tenancy.conf import conf
from tenancy.services import tenant_cache
from tenancy.services.tenant_cache import settings_isolate

BATCH = 100


def reconcile() -> int:
    """Move misplaced lanes of tenants; returns of how many tenants.

    A change of a tenant moves its lanes in the same transaction. The settings change between two
    starts, and processes may have different settings for a while.
    """
    known = conf()
    wrong = queries.misplaced(
        isolates=settings_isolate(), enabled=known.enabled, default=known.default, most=BATCH
    )
    if wrong:
        tenant_cache.cache.clear()
        with atomic():
            configuration.change()
            for tenant_id in wrong:
                lanes.reweigh(tenant=tenant_id)
    return len(wrong)
