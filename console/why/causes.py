"""A cause: why the work of a subject does not run, before it is shown to a user."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from attention.domain.rule import Remedy, act, page

MAINTENANCE: Final = "maintenance"
PAUSED: Final = "queue_paused"
ALONE: Final = "queue_without_worker"
SUSPENDED: Final = "tenant_suspended"
THROTTLED: Final = "tenant_throttled"
HELD: Final = "version_held"
# rules whose condition the page reads itself: a finding about a mended cause is not shown
READ_HERE: Final = frozenset({MAINTENANCE, PAUSED, SUSPENDED, THROTTLED})


@dataclass(frozen=True, slots=True)
class Cause:
    """One cause: first the words of operators, then the mechanism, then the remedies.

    `rule` names the rule of findings about the same cause; a finding replaces the cause.
    """

    text: str
    detail: str = ""
    remedies: tuple[Remedy, ...] = ()
    rule: str = ""
    since: datetime | None = None
    until: datetime | None = None
    about: str = ""  # the subject of the remedies, for the question before an action


def distinct(causes: Iterable[Cause]) -> list[Cause]:
    """Leave out causes with equal words. The later one counts: it links to a waiting job."""
    return list({cause.text: cause for cause in causes}.values())


def maintenance_on(reason: str | None, since: datetime | None, until: datetime | None) -> Cause:
    """Return the cause of a server in maintenance."""
    why = f" Reason: {reason}" if reason else ""
    return Cause(
        "Maintenance is on.",
        f"No job of any queue starts, and no schedule fires, until maintenance ends.{why}",
        (act("End maintenance", "end-maintenance", "server"),),
        MAINTENANCE,
        since,
        until,
    )


def queue_paused(queue: str, since: datetime | None) -> Cause:
    """Return the cause of a paused queue."""
    return Cause(
        f"Queue {queue} is paused.",
        "No job of the queue starts until an operator resumes it.",
        (act("Resume queue", "resume", queue), page("Show queue", "queue", queue)),
        PAUSED,
        since,
        about=queue,
    )


def tenant_suspended(tenant: str) -> Cause:
    """Return the cause of a suspended tenant."""
    return Cause(
        f"Tenant {tenant} is suspended.",
        "Its waiting jobs start when an operator resumes it. The server refuses its new jobs.",
        (act("Resume tenant", "tenant-resume", tenant), page("Show tenant", "tenant", tenant)),
        SUSPENDED,
        about=tenant,
    )


def tenant_throttled(
    tenant: str, detail: str, since: datetime | None, until: datetime | None
) -> Cause:
    """Return the cause of a tenant whose share is reduced."""
    return Cause(
        f"Tenant {tenant} is throttled as a noisy neighbour.",
        detail,
        (act("End the throttle", "tenant-release", tenant), page("Show tenant", "tenant", tenant)),
        THROTTLED,
        since,
        until,
        tenant,
    )
