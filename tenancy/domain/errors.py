"""Errors of this app alone. Spec: contract 21.2, 21.3."""

from jobs.domain.errors import Conflict, InvalidRequest, PermissionDenied, Unprocessable
from jobs.domain.errors import OJSError as Base


class TenantConflict(InvalidRequest):
    code = "tenant_conflict"
    hint = "name one tenant"


class TenantRequired(Unprocessable):
    code = "tenant_required"
    hint = "name the tenant in meta.tenant_id or X-OJS-Tenant"


class UnknownTenant(PermissionDenied):
    code = "unknown_tenant"
    hint = "an operator configures tenants by PUT /ojs/v1/admin/tenants/{id}"


class TenantSuspended(PermissionDenied):
    code, retryable = "tenant_suspended", True  # workflow steps wait until the tenant is resumed
    hint = "an operator resumes it by POST /ojs/v1/admin/tenants/{id}/resume"


class TenantLimitExceeded(Base):
    code, status, type, retryable = "TENANT_LIMIT_EXCEEDED", 429, "rate_limit", True
    hint = "wait for the time in Retry-After, or raise the tenant's limit"


class TenantNotEmpty(Conflict):
    code = "tenant_not_empty"
    hint = "wait until its jobs have ended, or send force=true to cancel them"


class TenantKept(Conflict):
    code = "x_tenant_kept"
    hint = "keep the default tenant; remove a static tenant from the settings"


class TenantMoving(Conflict):
    code, retryable = "x_tenant_moving", True
    hint = "wait until the move has ended, or run manage.py ojs move-tenant again"


class MoveRefused(Conflict):
    code = "x_move_refused"
    hint = "do what the message says, then run manage.py ojs move-tenant again"
