"""Take the schedules of a tenant to another cell, so that each run starts in one cell only."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Q

from jobs.domain.access.caller import Caller
from jobs.extensions import Remark
from jobs.services.audit.config_log import recorded
from jobs.services.lanes import configuration
from scheduling.models import CronEntry
from scheduling.services.cron_register import subject


def remarks(tenant: str, *, arrives: bool) -> Sequence[Remark]:
    """Return the obstacles: schedules that no tenant owns, and names that the new cell has."""
    if arrives:
        here = CronEntry.objects.filter(tenant=tenant).values_list("name", flat=True).first()
        text = f"the new cell has the schedule {here} of tenant {tenant}: delete it there"
        return [Remark(text, is_obstacle=True)] if here is not None else []
    makes = Q(template__meta__tenant_id=tenant)
    shared = CronEntry.objects.filter(makes, tenant=None).values_list("name", flat=True).first()
    if shared is None:
        return []
    text = (
        f"the schedule {shared} belongs to no tenant and makes jobs of tenant {tenant}: delete it,"
        " and make it in the new cell after the move"
    )
    return [Remark(text, is_obstacle=True)]


def take_out(tenant: str, caller: Caller) -> Any:
    """Delete the schedules of a tenant; returns them with the times of their next runs."""
    configuration.hold()
    found = CronEntry.objects.filter(tenant=tenant).order_by("id").select_for_update()
    rows = list(found)
    if not rows:
        return None
    taken = [_as_json(row) for row in rows]
    for row in rows:
        with recorded(caller, subject(row.name, tenant), "cron.moved_out", can_undo=False):
            CronEntry.objects.filter(pk=row.pk).delete()
    return taken


def put_in(tenant: str, taken: Any, caller: Caller) -> None:
    """Store these schedules; a run that became due meanwhile fires at once."""
    configuration.hold()
    for members in taken:
        row = CronEntry(**members)
        with recorded(caller, subject(row.name, tenant), "cron.moved_in", can_undo=False):
            row.save(force_insert=True)


def _as_json(row: CronEntry) -> Mapping[str, Any]:
    """Return the members of a schedule but its id; the models read times and ids from text."""
    members = {field.attname: getattr(row, field.attname) for field in row._meta.local_fields}
    return {
        name: str(value) if isinstance(value, datetime | UUID) else value
        for name, value in members.items()
        if name != "id"
    }
