"""Switch maintenance: no job is handed out or promoted, enqueues go on. Spec: contract 24.1.

The one row of `ojs_maintenance` is the switch. The statements that claim and promote read it
themselves. So it applies at once in every process and costs no statement, and it ends by itself.
"""

from django.db.models import Q
from django.db.models.functions import Now

from jobs import queries
from jobs.database import atomic
from jobs.domain.access.caller import Caller
from jobs.models import Maintenance
from jobs.services.audit import audit

NOT_OVER = Q(ends_at=None) | Q(ends_at__gt=Now())


def maintenance() -> Maintenance | None:
    """Return the active maintenance, None without maintenance."""
    return Maintenance.objects.filter(NOT_OVER).first()


def is_on() -> bool:
    """Return whether maintenance is on, for loops that make jobs."""
    return Maintenance.objects.filter(NOT_OVER).exists()


def start(caller: Caller, *, reason: str | None, duration_ms: int | None) -> None:
    """Switch maintenance on, or change its reason and end; `duration_ms` None: until `end`."""
    with atomic():
        queries.maintain(caller.name, reason, duration_ms, enabled=True)
        data = {"duration_ms": duration_ms}
        audit.record(caller, "maintenance.started", "system", reason=reason, data=data)


def end(caller: Caller, *, reason: str | None = None) -> None:
    """Switch maintenance off; does nothing when it is off."""
    with atomic():
        queries.maintain(caller.name, reason, None, enabled=False)
        audit.record(caller, "maintenance.ended", "system", reason=reason)
