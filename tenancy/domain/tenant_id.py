"""Tenant ids, and how a request names a tenant. Spec: MT 5, D-MT-1 to 4, 10, 11."""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final, NamedTuple

from jobs.domain.access.caller import Caller
from jobs.domain.enqueue.draft import JobDraft
from jobs.domain.errors import InvalidRequest, TenantMismatch
from jobs.domain.wire.bounds import MAX_TENANT
from tenancy.domain.errors import TenantConflict, TenantRequired

PATTERN: Final = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9._:-]*")
MEMBER: Final = "tenant_id"  # of `meta`
FIELD: Final = f"meta.{MEMBER}"
NOBODY: Final = "_default"  # the core's name for no tenant
OTHER: Final = "_other"  # label of tenants without their own in metrics
HEADERS: Final = {"X-OJS-Tenant": "HTTP_X_OJS_TENANT", "X-OJS-Tenant-ID": "HTTP_X_OJS_TENANT_ID"}
# component names of OpenAPI, with header and description
PARAMETERS: Final = {
    "Tenant": ("X-OJS-Tenant", "Tenant of the request, which reads and changes this tenant only."),
    "TenantID": ("X-OJS-Tenant-ID", "Alias of X-OJS-Tenant. If both are sent, they must be equal."),
}
RULE: Final = (
    f"must be 1 to {MAX_TENANT} letters, digits, '.', '_', ':' and '-', a letter or digit first"
)


class Rules(NamedTuple):
    """Rules of the settings for naming tenants."""

    default: str = NOBODY
    takes_meta: bool = True
    requires: bool = False  # a job without a tenant is refused
    stamps: bool = False  # the default tenant goes into `meta`


def is_tenant_id(value: object, default: str = NOBODY) -> bool:
    """Return whether a value may name a tenant; the default is the only reserved id allowed."""
    if not isinstance(value, str) or len(value) > MAX_TENANT:
        return False
    return value == default or PATTERN.fullmatch(value) is not None


def may_be_default(value: object) -> bool:
    """Return whether a value may be the id of the default tenant."""
    return isinstance(value, str) and value != OTHER and is_tenant_id(value.removeprefix("_"))


def named_in(headers: Mapping[str, Any], default: str) -> str | None:
    """Return the tenant that headers name, spelled as in WSGI; None: none.

    Raises InvalidRequest, TenantConflict if the two headers differ.
    """
    given = {name: headers[key] for name, key in HEADERS.items() if key in headers}
    for name, value in given.items():
        if not is_tenant_id(value, default):
            raise InvalidRequest.field(name, RULE, value)
    if len(set(given.values())) > 1:
        raise TenantConflict.field("X-OJS-Tenant-ID", "differs from X-OJS-Tenant")
    return next(iter(given.values()), None)


def header_parameters(default: str) -> dict[str, dict[str, Any]]:
    """Return the headers as parameters of OpenAPI, by component name."""
    by_pattern = {"minLength": 1, "maxLength": MAX_TENANT, "pattern": f"^{PATTERN.pattern}$"}
    named = {"type": "string", "anyOf": [by_pattern, {"const": default}]}
    return {
        component: {"name": header, "in": "header", "description": said, "schema": named}
        for component, (header, said) in PARAMETERS.items()
    }


def identified(draft: JobDraft, caller: Caller, rules: Rules) -> JobDraft:
    """Return the draft with its tenant, also in `meta` if the request named it.

    Raises InvalidRequest, TenantConflict, TenantMismatch, TenantRequired.
    """
    named = draft.meta.get(MEMBER)
    if named is not None:
        _check(named, caller, rules)
    tenant = caller.tenant or named
    if tenant is None:
        return _unnamed(draft, rules)
    if tenant == draft.tenant and named is not None:
        return draft
    return replace(draft, tenant=tenant, meta={**draft.meta, MEMBER: tenant})


def _check(named: object, caller: Caller, rules: Rules) -> None:
    if not is_tenant_id(named, rules.default):
        raise InvalidRequest.field(FIELD, RULE, named)
    if caller.tenant is not None:
        if named == caller.tenant:
            return
        if caller.tenant_header is None:
            raise TenantMismatch(
                f"the credentials are bound to another tenant than {named}",
                details={"reason": "tenant_mismatch", "field": FIELD, "tenant_id": named},
            )
        raise TenantConflict.field(FIELD, "differs from the tenant in the header", named)
    if not rules.takes_meta:
        raise TenantConflict.field(FIELD, "must be absent: the request names the tenant", named)


def _unnamed(draft: JobDraft, rules: Rules) -> JobDraft:
    if draft.tenant not in {NOBODY, rules.default}:
        return draft  # stored before, or made by the server for a tenant
    if rules.requires:
        raise TenantRequired.field(FIELD, "is required")
    if rules.stamps:
        return replace(draft, tenant=rules.default, meta={**draft.meta, MEMBER: rules.default})
    return draft if draft.tenant == rules.default else replace(draft, tenant=rules.default)
