"""Read the queues of a FETCH that are named with their tenant, `tenant:queue`. Spec: D-MT-7."""

from collections.abc import Sequence
from dataclasses import replace

from jobs import extensions
from jobs.domain.dispatch.claim import NAMESPACE_END, FetchRequest, split_queue
from jobs.domain.errors import InvalidRequest, TenantMismatch
from jobs.extensions import ClaimHooks


def split_by_tenant(request: FetchRequest) -> Sequence[FetchRequest]:
    """Return one request for each tenant that the queues name, in order of first occurrence.

    Raises InvalidRequest for an unknown tenant, and TenantMismatch for a tenant other than the
    request's own.
    """
    if not any(NAMESPACE_END in name for name in request.queues):
        return (request,)
    by_tenant: dict[str | None, list[str]] = {}
    for name in request.queues:
        by_tenant.setdefault(_tenant(name, request), []).append(name)
    return [_of_tenant(request, tenant, names) for tenant, names in by_tenant.items()]


def _tenant(name: str, request: FetchRequest) -> str | None:
    tenant, _ = split_queue(name)
    if tenant is None or tenant == request.tenant:
        return request.tenant
    if request.tenant is not None:
        raise TenantMismatch(
            f"the request belongs to another tenant than {tenant}",
            details={"reason": "tenant_mismatch", "field": "queues", "tenant_id": tenant},
        )
    owners = extensions.implementers(ClaimHooks.tenant_exists)
    if not any(extension.tenant_exists(tenant) for extension in owners):
        raise InvalidRequest.field("queues", "is not a valid queue name", name)
    return tenant


def _of_tenant(request: FetchRequest, tenant: str | None, names: Sequence[str]) -> FetchRequest:
    weights = request.weights and {
        split_queue(name)[1] if name in names else name: weight
        for name, weight in request.weights.items()
        if name in names or name not in request.queues  # undeclared names are refused later
    }
    queues = tuple(split_queue(name)[1] for name in names)
    return replace(request, tenant=tenant, queues=queues, weights=weights)
