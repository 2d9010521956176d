"""Record events of extensions, in the transaction of the change. Spec: contract 12.3, 12.4."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from jobs import queries
from jobs.domain import jsonio
from jobs.domain.events import Kind


@dataclass(frozen=True, slots=True)
class Told:
    """One event; `data` has the members of this kind. `job_id` puts it into a job's timeline."""

    kind: Kind
    job_id: str | None = None
    queue: str | None = None
    type: str | None = None
    tenant: str | None = None
    data: dict[str, Any] = field(default_factory=dict)


def tell(events: Sequence[Told]) -> None:
    """Record events in order; one statement."""
    if events:
        rows = [
            {
                "n": n, "kind": told.kind, "job_id": told.job_id, "queue": told.queue,
                "type": told.type, "tenant": told.tenant, "data": told.data,
            }
            for n, told in enumerate(events)
        ]  # fmt: skip
        queries.tell(jsonio.dumps(rows))
