"""Record events of extensions, in the transaction of the change. Spec: contract 12.3, 12.4."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from jobs import queries
from jobs.domain.record.events import Kind
from jobs.domain.wire import jsonio


@dataclass(frozen=True, slots=True)
class NewEvent:
    """One event; `data` has the members of this kind. `job_id` puts it into a job's timeline."""

    kind: Kind
    job_id: str | None = None
    queue: str | None = None
    type: str | None = None
    tenant: str | None = None
    data: dict[str, Any] = field(default_factory=dict)


def emit(events: Sequence[NewEvent]) -> None:
    """Record events in order; one statement."""
    if events:
        rows = [
            {
                "n": n, "kind": event.kind, "job_id": event.job_id, "queue": event.queue,
                "type": event.type, "tenant": event.tenant, "data": event.data,
            }
            for n, event in enumerate(events)
        ]  # fmt: skip
        queries.emit(jsonio.dumps(rows))
