"""The permits of tenants."""

from typing import Final

from jobs.domain.access.permits import Permit, Role, Tenants
from jobs.permits import ADMIN_READ, ADMIN_WRITE, PURGE

CHANGE: Final = "ojs_tenancy.change_tenant"
DELETE: Final = "ojs_tenancy.delete_tenant"
PERMITS: Final = (
    Permit(
        "tenants.see", Role.VIEWER, ("ojs_jobs.view_job",), Tenants.OWN,
        api={ADMIN_READ: "listTenants getTenant getTenantStats listTenantJobs"},
    ),
    Permit(
        "tenants.operate", Role.OPERATOR, (CHANGE,), Tenants.ALL,
        api={ADMIN_WRITE: "putTenantLimits suspendTenant resumeTenant releaseTenant"},
        admin="ojs_tenancy.Tenant:suspend ojs_tenancy.Tenant:resume",
    ),
    Permit(
        "tenants.configure", Role.ADMIN, ("ojs_tenancy.add_tenant", CHANGE), Tenants.ALL,
        api={ADMIN_WRITE: "putTenant"},
        admin="ojs_tenancy.Tenant:add ojs_tenancy.Tenant:change",
    ),
    Permit(
        "tenants.delete", Role.ADMIN, (DELETE,), Tenants.ALL,
        api={ADMIN_WRITE: "deleteTenant"},
        admin="ojs_tenancy.Tenant:delete ojs_tenancy.Tenant:delete_selected",
    ),
    # it cancels jobs
    Permit(
        "tenants.delete_with_jobs", Role.ADMIN, (DELETE, "ojs_jobs.delete_job"), Tenants.ALL,
        api={PURGE: "deleteTenant?force"},
    ),
)  # fmt: skip
