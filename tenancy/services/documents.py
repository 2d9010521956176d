"""The kind of configuration of this app, and its document for the history."""

from typing import Final

from jobs.extensions import ConfigKind, Document
from tenancy.domain.tenant import Definition, QuotaMode
from tenancy.domain.tenant_request import LIMITS
from tenancy.models import Tenant
from tenancy.services.tenant_cache import limits_of


def _tenant(name: str, _: str | None) -> Document | None:
    row = Tenant.objects.filter(id=name).first()
    if row is None:
        return None
    return of_definition(
        Definition(
            limits_of(row),
            row.name,
            row.fairness_weight,
            row.priority_boost,
            QuotaMode(row.quota_mode),
            row.isolation,
        )
    )


def of_definition(wanted: Definition) -> Document:
    """Return the document of a tenant's configuration."""
    limits = wanted.limits.to_wire()
    return {
        "name": wanted.name,
        "limits": {name: limits[name] for name in LIMITS},
        "fairness_weight": wanted.weight,
        "priority_boost": wanted.boost,
        "quota_mode": str(wanted.quota_mode),
        "isolation": wanted.isolation,
    }


TENANT: Final = ConfigKind(
    "tenant", "Tenant", ("ojs_tenant",), _tenant, "tenancy.services.tenants.restore",
    see="tenants.compare", change="tenants.configure", delete="tenants.delete",
)  # fmt: skip
KINDS: Final = (TENANT,)
