"""The weight and the boost of a tenant as a change to simulate."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from typing import Any

from console.proposals import Proposal, propose
from jobs.domain.access.caller import Caller
from jobs.domain.errors import Unprocessable
from jobs.services.audit.config_log import Subject
from tenancy.domain.tenant import Definition
from tenancy.domain.tenant_request import parse_tenant
from tenancy.forms import TenantForm
from tenancy.services import tenants
from tenancy.services.documents import TENANT, of_definition
from tenancy.services.tenant_cache import as_if, policy_of


def of_form(form: TenantForm) -> Proposal:
    """Return the change of a valid form. Raises OJSError as storing it, and for a new tenant."""
    if form.stored is None:
        raise Unprocessable("a new tenant has no jobs to simulate")
    name = form.tenant()
    tenants.check(name, form.definition)
    return propose(
        Subject(TENANT, name),
        of_definition(form.definition),
        fields={field: form.data.get(field, "").replace("\x00", "") for field in form.fields},
        default=of_definition(Definition()),
    )


def context(proposal: Proposal) -> Callable[[], AbstractContextManager[None]]:
    """Return a context in which the tenant has the proposed weight and boost. Raises NotFound."""
    policy = replace(
        policy_of(tenants.find(proposal.name)),
        weight=proposal.after["fairness_weight"],
        boost=proposal.after["priority_boost"],
    )
    return partial(as_if, {proposal.name: policy})


def store(name: str, document: dict[str, Any], who: Caller) -> None:
    """Store a tenant as its form does. Raises OJSError."""
    tenants.put(name, parse_tenant(name, document), who)
