"""The kind of configuration of this app, and its document for the history."""

from typing import Final

from jobs.extensions import ConfigKind, Document
from tenancy.domain.tenant_request import LIMITS
from tenancy.models import Tenant
from tenancy.services.tenant_cache import limits_of


def _tenant(name: str, _: str | None) -> Document | None:
    row = Tenant.objects.filter(id=name).first()
    if row is None:
        return None
    limits = limits_of(row).to_wire()
    return {
        "name": row.name,
        "limits": {name: limits[name] for name in LIMITS},
        "fairness_weight": row.fairness_weight,
        "priority_boost": row.priority_boost,
        "quota_mode": str(row.quota_mode),
        "isolation": row.isolation,
    }


TENANT: Final = ConfigKind(
    "tenant", "Tenant", ("ojs_tenant",), _tenant, "tenancy.services.tenants.restore",
    see="tenants.compare", change="tenants.configure", delete="tenants.delete",
)  # fmt: skip
KINDS: Final = (TENANT,)
