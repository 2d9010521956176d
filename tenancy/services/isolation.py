"""Keeps the lanes of tenants where their isolation model has them. Spec: MT 6, D-MT-6."""

from django.db import transaction

from jobs.services.lanes import lanes, terms
from tenancy import queries
from tenancy.conf import conf
from tenancy.services import tenant_cache
from tenancy.services.tenant_cache import settings_isolate

BATCH = 100


def reconcile() -> int:
    """Move the lanes of tenants that are not where their model has them; returns of how many.

    Whoever changes a tenant moves its lanes with it. The settings change between two starts, and
    for a while processes may go by different ones.
    """
    known = conf()
    wrong = queries.misplaced(
        isolates=settings_isolate(), enabled=known.enabled, default=known.default, most=BATCH
    )
    if wrong:
        tenant_cache.forget()
        with transaction.atomic():
            terms.change()
            for tenant_id in wrong:
                lanes.reweigh(tenant=tenant_id)
    return len(wrong)
