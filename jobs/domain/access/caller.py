"""The caller of a service, and the facts of its request."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Final

MAX_REASON: Final = 1_000  # characters of a reason for the audit log


@dataclass(frozen=True, slots=True)
class Caller:
    """The principal of one call; the defaults are the server itself."""

    name: str = "system"
    tenant: str | None = None  # the only tenant whose data it reads and changes; None: any
    # the same if a header named it; null: the key is bound to it
    tenant_header: str | None = None
    request_id: str | None = None
    block_ms: int = 0  # in a full queue of the strategy `block`: how long to wait
    answer_headers: dict[str, str] = field(default_factory=dict)  # headers for the answer
    address: str | None = None  # of the client
    # defaults that the request adds to the meta of its jobs
    stamps: Mapping[str, str] | None = None
    reason: str | None = None  # for the audit log, unless the service gets another reason
    asks: Collection[str] = ()  # options of the request's headers: RequestHooks.request_options


SYSTEM = Caller()
