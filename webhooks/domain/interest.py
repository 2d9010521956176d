"""The selection of events by a subscription. Spec: contract 26, WH-2, WH-3."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from jobs.domain.record.events import matches

PATTERN: Final = re.compile(r"\*|[a-z][a-z0-9_]*(?:\.[a-z0-9_]+)*(?:\.\*)?")
OWN: Final = "webhook."  # events about webhooks, which no webhook sends


def is_pattern(text: object) -> bool:
    """Return whether a text may select events: a name, `name.*` or `*`."""
    return isinstance(text, str) and PATTERN.fullmatch(text) is not None


@dataclass(frozen=True, slots=True)
class Interest:
    """Conditions that must all hold; empty queues and types: all, `tenant` None: any."""

    events: Sequence[str]
    queues: Sequence[str] = ()
    job_types: Sequence[str] = ()
    tenant: str | None = None

    def covers(
        self, name: str, *, queue: str | None, job_type: str | None, tenant: str | None
    ) -> bool:
        """Return whether the subscription selects an event."""
        return (
            matches(name, self.events)
            and not name.startswith(OWN)
            and (not self.queues or queue in self.queues)
            and (not self.job_types or job_type in self.job_types)
            and self.tenant in {None, tenant}
        )
