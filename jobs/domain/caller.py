"""Who asks: what a service may know about a request."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Caller:
    """The principal of one call; the defaults are the server itself."""

    name: str = "system"
    tenant: str | None = None  # a key bound to a tenant sees and touches nothing else
    tenant_header: str | None = None
    request_id: str | None = None


SYSTEM = Caller()
