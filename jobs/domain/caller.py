"""Who asks: what a service may know about a request."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Caller:
    """The principal of one call; the defaults are the server itself."""

    name: str = "system"
    tenant: str | None = None  # whose request it is: sees and touches nothing else; None: any
    # the same where a header said so; null: the key is bound to it
    tenant_header: str | None = None
    request_id: str | None = None
    block_ms: int = 0  # how long to wait for room in a full queue that blocks
    told: dict[str, str] = field(default_factory=dict)  # headers for the answer
    address: str | None = None  # where the request came from
    # what the request adds to the meta of its jobs where they do not say it
    stamps: Mapping[str, str] | None = None
    reason: str | None = None  # why, for the audit log where the service is told no other
    asks: Collection[str] = ()  # what extensions read in the request's headers: Extension.wishes


SYSTEM = Caller()
