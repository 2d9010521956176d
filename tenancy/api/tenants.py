"""Endpoints under /ojs/v1/admin/tenants. Spec: MT 10, contract 21.2, 31."""

from typing import Any

from rest_framework.request import Request

from jobs.api.base import OJSView
from jobs.api.jobs.detail import JOB_SUMMARY, summary
from jobs.api.may_lag import may_lag
from jobs.api.openapi import operation
from jobs.api.schemas import text
from jobs.api.wire.admin import chosen, list_of, listed, plain
from jobs.api.wire.answer import Answer
from jobs.api.wire.paging import NUMBERED, admin_page
from jobs.domain.errors import NotFound
from jobs.domain.states import State
from jobs.services.read.find import Wanted, find_jobs, pattern
from tenancy.api import tenant_codec as codec
from tenancy.conf import conf
from tenancy.domain.tenant import Standing
from tenancy.domain.tenant import TenantLimits as Limits
from tenancy.domain.tenant_id import is_tenant_id
from tenancy.domain.tenant_request import parse_tenant
from tenancy.models import Tenant
from tenancy.services import stats, tenants, throttles
from tenancy.services.tenant_cache import limits_of

STATES = [one.value for one in State]
FLAGS = ("true", "false")
PATH: dict[str, Any] = {"tenant_id": codec.TENANT_ID}


class TenantView(OJSView):
    """Base of the tenant views. A caller bound to a tenant reads only its own and changes none."""

    def require_id(self, tenant_id: str) -> str:
        """Return the id of a tenant the caller may read. Raises NotFound, TenantMismatch."""
        if not is_tenant_id(tenant_id, conf().default):
            raise NotFound.of("tenant", tenant_id)
        if self.principal.tenant is not None:
            self.principal.within(tenant_id)
        return tenant_id

    def shown(self, row: Tenant, status: int = 200) -> Answer:
        """Answer with a tenant and its figures."""
        is_own = self.principal.tenant is not None
        summary = stats.summaries([row])[row.id]
        return Answer(codec.both(row, summary, is_own=is_own), status=status)


class TenantCollection(TenantView):
    """List tenants."""

    @may_lag
    @operation(
        "listTenants",
        {200: list_of(codec.TENANT, "tenants")},
        query={
            **NUMBERED,
            "state": {"type": "string", "enum": [*Standing, ""]},
            "q": {**text(), "description": "Part of the id or the name"},
            "noisy": {"type": "string", "enum": [*FLAGS, ""]},
        },
    )
    def get(self, request: Request) -> Answer:
        """List tenants by id, with their figures; the default tenant is always included."""
        window, noisy = admin_page(request), chosen(request, "noisy", FLAGS)
        found, total = tenants.page(
            standing=chosen(request, "state", tuple(Standing)) or None,
            containing=plain(request, "q") or "",
            is_noisy=noisy == "true" if noisy else None,
            only=self.principal.tenant,
            limit=window.limit,
            offset=window.offset,
        )
        counted = stats.summaries(found)
        is_own = self.principal.tenant is not None
        items = [codec.encode_tenant(row, counted[row.id], is_own=is_own) for row in found]
        return Answer(listed(items, total, window, "tenants"))


class TenantDetail(TenantView):
    """Show, configure or delete a tenant."""

    @operation("getTenant", {200: codec.DETAIL}, path=PATH, refusals=(404,))
    def get(self, request: Request, tenant_id: str) -> Answer:
        """Show a tenant with its limits and figures."""
        return self.shown(tenants.find(self.require_id(tenant_id)))

    @operation(
        "putTenant",
        {201: codec.DETAIL, 200: codec.DETAIL},
        body=codec.PUT,
        path=PATH,
        refusals=(404,),
    )
    def put(self, request: Request, tenant_id: str) -> Answer:
        """Replace the configuration of a tenant; absent members get their default.

        An absent `state` stays unchanged. Read-only members of answers are accepted and ignored.
        """
        wanted = parse_tenant(self.require_id(tenant_id), self.body())
        row, is_new = tenants.put(tenant_id, wanted, self.caller)
        return self.shown(row, 201 if is_new else 200)

    @operation(
        "deleteTenant",
        {204: None},
        path=PATH,
        query={"force": {"type": "string", "enum": [*FLAGS, ""]}},
        refusals=(404, 409),
    )
    def delete(self, request: Request, tenant_id: str) -> Answer:
        """Delete a tenant's configuration; with live jobs only if `force=true`.

        The live jobs are then cancelled, which needs the scope `ojs:admin:purge`.
        """
        force = chosen(request, "force", FLAGS) == "true"
        if force:
            self.require("deleteTenant?force")
        tenants.delete(self.require_id(tenant_id), self.caller, force=force)
        return Answer(None, status=204)


class TenantLimits(TenantView):
    """Change the limits of a tenant."""

    @operation(
        "putTenantLimits", {200: codec.DETAIL}, body=codec.PUT_LIMITS, path=PATH, refusals=(404,)
    )
    def put(self, request: Request, tenant_id: str) -> Answer:
        """Change the given limits, null: unlimited; `reason` goes into the audit log."""
        body = self.body()
        reason = codec.decode_reason(body)
        codec.decode_limits(body, Limits())  # invalid limits are refused for any tenant
        row = tenants.find(self.require_id(tenant_id))
        wanted = codec.decode_limits(body, limits_of(row))
        return self.shown(tenants.put_limits(tenant_id, wanted, self.caller, reason=reason))


class TenantSuspension(TenantView):
    """Suspend a tenant."""

    standing = Standing.SUSPENDED

    @operation(
        "suspendTenant",
        {200: codec.DETAIL},
        body=codec.WITH_REASON,
        needs_body=False,
        path=PATH,
        refusals=(404,),
    )
    def post(self, request: Request, tenant_id: str) -> Answer:
        """Suspend a tenant: refuse its new jobs and start none; running jobs continue."""
        return self.set(tenant_id)

    def set(self, tenant_id: str) -> Answer:
        """Set the standing of the tenant."""
        self.require_id(tenant_id)
        body = self.optional_body()
        codec.require_only(body, "reason")
        reason = codec.decode_reason(body)
        return self.shown(
            tenants.set_standing(tenant_id, self.standing, self.caller, reason=reason)
        )


class TenantResumption(TenantSuspension):
    """Resume a tenant."""

    standing = Standing.ACTIVE

    @operation(
        "resumeTenant",
        {200: codec.DETAIL},
        body=codec.WITH_REASON,
        needs_body=False,
        path=PATH,
        refusals=(404,),
    )
    def post(self, request: Request, tenant_id: str) -> Answer:
        """Resume a suspended tenant; no effect if it is not suspended."""
        return self.set(tenant_id)


class TenantThrottle(TenantView):
    """End the throttle of a noisy tenant."""

    @operation(
        "releaseTenant",
        {200: codec.DETAIL},
        body=codec.WITH_REASON,
        needs_body=False,
        path=PATH,
        refusals=(404,),
    )
    def delete(self, request: Request, tenant_id: str) -> Answer:
        """Release a tenant from its throttle; no effect if it is not throttled.

        The server does not throttle it again for as long as a throttle lasts.
        """
        self.require_id(tenant_id)
        body = self.optional_body()
        codec.require_only(body, "reason")
        reason = codec.decode_reason(body)
        return self.shown(throttles.release(tenant_id, actor=self.caller, reason=reason))


class TenantStats(TenantView):
    """Statistics of a tenant."""

    @may_lag
    @operation("getTenantStats", {200: codec.STATS}, path=PATH, refusals=(404,))
    def get(self, request: Request, tenant_id: str) -> Answer:
        """Show the statistics of a tenant: jobs as of now, rates and shares as of the last seconds.

        `failed_24h` counts attempts. `effective_share` is its part of the weights of all tenants
        that have jobs to hand out. `actual_share` is its part of the starts of the last five
        minutes.
        """
        return Answer(codec.encode_stats(stats.stats(self.require_id(tenant_id))))


class TenantJobs(TenantView):
    """The jobs of a tenant."""

    @may_lag
    @operation(
        "listTenantJobs",
        {200: list_of(JOB_SUMMARY, "jobs")},
        path=PATH,
        query={
            "state": {"type": "string", "enum": [*State, ""]},
            "queue": text(),
            "type": {**text(), "description": "Exact, or the beginning and `*`"},
            **NUMBERED,
        },
        refusals=(404,),
    )
    def get(self, request: Request, tenant_id: str) -> Answer:
        """List the jobs of a tenant in the same form as the list of all jobs."""
        window, state = admin_page(request), chosen(request, "state", STATES)
        kind = plain(request, "type")
        wanted = Wanted(
            state=State(state) if state else None,
            queue=plain(request, "queue"),
            tenant=self.require_id(tenant_id),
            type=kind and pattern(kind),
        )
        found = find_jobs(wanted, offset=window.offset, limit=window.limit)
        if not found.jobs:
            tenants.find(tenant_id)
        items = [summary(job) for job in found.jobs]
        return Answer(listed(items, found.total, window, "jobs", is_estimate=found.is_estimate))
