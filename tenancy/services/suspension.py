"""Tell of suspended tenants why their jobs wait."""

from collections.abc import Sequence

from jobs.domain.gates import Gate, GateState
from tenancy.domain.tenant import Standing
from tenancy.models import Tenant


def explain(tenant_id: str) -> Sequence[Gate]:
    """Return the gate of a tenant that an operator knows; one statement.

    A claim meets it as the tenant's limit, which lets no job start then.
    """
    row = Tenant.objects.filter(id=tenant_id).only("state").first()
    if row is None:
        return ()
    if row.state == Standing.SUSPENDED:
        message = f"Tenant {tenant_id} is suspended: its jobs start when it is resumed."
        return [Gate("suspension", GateState.CLOSED, message, name=tenant_id)]
    message = f"Tenant {tenant_id} is not suspended."
    return [Gate("suspension", GateState.OPEN, message, name=tenant_id)]
