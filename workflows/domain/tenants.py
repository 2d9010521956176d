"""The rule that all jobs of a workflow belong to one tenant. Spec: MT-15.2."""

from jobs.domain.access.caller import Caller
from jobs.domain.enqueue.draft import JobDraft
from workflows.domain.errors import CrossTenantWorkflow
from workflows.domain.plan import Plan
from workflows.domain.request import TENANT_ID


def inherit(plan: Plan, caller: Caller) -> None:
    """Give each step the tenant of the workflow, if the request names a tenant.

    Raises CrossTenantWorkflow if the key, the header and the steps name different tenants.
    """
    named = {tenant for draft in plan.drafts() if (tenant := _named(draft)) is not None}
    named.update(plan.tenants())
    own = {tenant for tenant in (caller.tenant, caller.tenant_header) if tenant}
    if len(named | own) > 1:
        raise CrossTenantWorkflow(
            f"the workflow names several tenants ({', '.join(sorted(named | own)[:5])}): name one",
            details={"field": f"meta.{TENANT_ID}", "tenants": sorted(named | own)[:20]},
        )
    if named or caller.tenant_header:
        _carry(plan, *(named | own))


def _named(draft: JobDraft) -> str | None:
    tenant = draft.meta.get(TENANT_ID)
    return tenant if isinstance(tenant, str) else None


def _carry(plan: Plan, tenant: str) -> None:
    for step in plan.steps:
        if step.child is not None:
            _carry(step.child, tenant)
        elif step.draft is not None and step.request is not None:
            step.draft.meta = {**step.draft.meta, TENANT_ID: tenant}
            step.request = {**step.request, "meta": step.draft.meta}
