"""The definition of a schedule and the job that it makes. Spec: contract 7.1, 7.3."""

import re
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from jobs.domain.enqueue.draft import JobDraft
from jobs.domain.enqueue.server_limits import Limits
from jobs.domain.envelope import parse_job
from jobs.domain.errors import InvalidRequest
from jobs.domain.wire.times import format_time
from scheduling.domain.cron import Schedule, parse
from scheduling.domain.overlap import Overlap

NAME_PATTERN: Final = re.compile(r"[a-z0-9][a-z0-9.-]{0,254}")
MAX_DESCRIPTION: Final = 1000


@dataclass(frozen=True, slots=True)
class Definition:
    """A schedule as its owner describes it; `check` checks all but the zone, which is valid.

    `template` is a PUSH request without an id.
    """

    name: str
    expression: str
    timezone: str = "UTC"
    template: dict[str, Any] = field(default_factory=dict)
    overlap: Overlap = Overlap.SKIP
    enabled: bool = True
    description: str | None = None

    def schedule(self) -> Schedule:
        """Read the expression. Raises InvalidRequest."""
        try:
            return parse(self.expression, self.timezone)
        except ValueError as problem:
            raise InvalidRequest.field("expression", str(problem), self.expression) from None

    def draft(self, at: datetime, limits: Limits) -> JobDraft:
        """Make the job of one occurrence at its nominal time. Raises as `parse_job`."""
        return draft(self.name, self.template, at, limits)

    def check(self, at: datetime, limits: Limits) -> JobDraft:
        """Refuse a definition that could never run; returns the job as it would be made now.

        Raises InvalidRequest and the errors that a PUSH of the job raises before it is stored.
        """
        self.schedule()
        job = self.draft(at, limits)
        if job.pending and self.overlap is Overlap.ENQUEUE:
            raise InvalidRequest.field(
                "pending", "must be false with overlap_policy enqueue, which uses pending jobs"
            )
        return job


def aim(template: dict[str, Any]) -> tuple[str, str]:
    """Return the queue and the type of the jobs that a stored template makes."""
    queue = template["options"].get("queue") or template.get("queue") or "default"
    return queue, template["type"]


def draft(name: str, template: dict[str, Any], at: datetime, limits: Limits) -> JobDraft:
    """Make the job of a schedule's occurrence. Raises as `parse_job`."""
    added = {"cron_name": name, "cron_triggered_at": format_time(at)}
    return parse_job({**template, "meta": {**template["meta"], **added}}, limits=limits)
