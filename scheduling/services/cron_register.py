"""Register, change and delete schedules. Spec: contract 7.1, 7.5, D32.

A schedule that the code of a project defines is changed there alone: see cron_declared.py. Here it
can only be paused and resumed.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.db import IntegrityError

from jobs.database import atomic
from jobs.domain.access.caller import Caller
from jobs.domain.enqueue.draft import JobDraft
from jobs.domain.errors import Conflict, InvalidRequest
from jobs.extensions import Document
from jobs.services.audit.config_log import Subject, recorded
from jobs.services.enqueue.enqueue import require_prepared
from jobs.services.enqueue.store import require_accepted
from jobs.services.lanes import configuration
from jobs.services.lanes.envelopes import limits
from jobs.services.read.clock import now as database_now
from scheduling.domain.cron import Interval, Plan, plan
from scheduling.domain.definition import Definition, aim
from scheduling.domain.overlap import Overlap
from scheduling.models import WITH_NOW, CronEntry
from scheduling.services.cron_entries import find
from scheduling.services.cron_run import of_tenant
from scheduling.services.documents import SCHEDULE

# takes a queue and a job type; raises if the caller may not enqueue such a job
Check = Callable[[str, str], None]
TRIES = 5  # of two callers that register one name at once, the second finds the row of the first


@dataclass(frozen=True, slots=True)
class Changes:
    """Changes of a schedule; None keeps a member, and `template` is merged by its members."""

    expression: str | None = None
    timezone: str | None = None
    template: dict[str, Any] | None = None
    overlap: Overlap | None = None
    enabled: bool | None = None
    description: str | None = None
    drops_description: bool = False

    def applied(self, entry: CronEntry) -> Definition:
        """Return the definition of a schedule with these changes."""
        given = {
            name: value
            for name in ("expression", "timezone", "overlap", "enabled", "description")
            if (value := getattr(self, name)) is not None
        }
        if self.drops_description:
            given["description"] = None
        if self.template is not None:
            given["template"] = self._joined(entry.template)
        return replace(definition_of(entry), **given)

    def _joined(self, template: dict[str, Any]) -> dict[str, Any]:
        joined = {**template, **self.template} if self.template else template
        if self.template and "options" not in self.template:
            # `options` takes precedence over top-level members, so it would hide a changed member
            kept = {k: v for k, v in joined["options"].items() if k not in self.template}
            joined["options"] = kept
        return joined


def definition_of(entry: CronEntry) -> Definition:
    """Return the definition of a stored schedule."""
    return Definition(
        name=entry.name,
        expression=entry.expression,
        timezone=entry.timezone,
        template=entry.template,
        overlap=Overlap(entry.overlap_policy),
        enabled=entry.enabled,
        description=entry.description,
    )


def register(definition: Definition, caller: Caller, check: Check) -> tuple[CronEntry, bool]:
    """Store a schedule, or replace the caller's own of that name; returns whether it is new.

    Raises InvalidRequest and the errors of a PUSH of its job.
    """
    now = database_now()
    job = definition.check(now, limits())
    _check(job, caller, check)
    require_runnable(job, caller, caller.tenant)
    coming = upcoming(definition, now)
    for _ in range(TRIES):
        try:
            with recorded(caller, subject(definition.name, caller.tenant), "cron.stored"):
                entry = _own(definition.name, caller)
                if entry is None:
                    return new_entry(definition, caller.tenant, now, coming), True
                check(*aim(entry.template))
                _require_not_in_code(entry)
                store(entry, definition)
                return entry, False
        except IntegrityError:
            continue
    raise Conflict(f"cron {definition.name} keeps changing, try again")


def change(
    name: str, changes: Changes, caller: Caller, check: Check, *, tenant: str | None = None
) -> CronEntry:
    """Change members of a schedule. Raises as `register` and as `find`."""
    with _changing(name, "cron.changed", caller, tenant) as entry:
        check(*aim(entry.template))
        definition = changes.applied(entry)
        if definition != replace(definition_of(entry), enabled=definition.enabled):
            _require_not_in_code(entry)
        job = definition.check(entry.now, limits())
        _check(job, caller, check)
        if definition.enabled:  # a schedule that can no longer run may still be paused
            require_runnable(job, caller, entry.tenant)
        store(entry, definition)
        return entry


def _check(job: JobDraft, caller: Caller, check: Check) -> None:
    """Refuse a job that the caller may not enqueue, for example a job of another tenant."""
    check(job.queue, job.type)
    if caller.tenant is not None:
        require_prepared(job, caller)
    require_accepted([job], caller)


def require_runnable(job: JobDraft, caller: Caller, tenant: str | None) -> None:
    """Refuse a schedule whose every run would be refused, for example without a required tenant."""
    unbound = replace(caller, tenant=None, tenant_header=None)
    require_prepared(of_tenant(job, tenant), unbound)


def switch(
    name: str, caller: Caller, check: Check, *, enabled: bool, tenant: str | None = None
) -> CronEntry:
    """Pause or resume a schedule; idempotent. Raises as `find`."""
    return change(name, Changes(enabled=enabled), caller, check, tenant=tenant)


def delete(name: str, caller: Caller, check: Check, *, tenant: str | None = None) -> CronEntry:
    """Delete a schedule; its jobs stay, also pending runs in its slot. Raises as `find`."""
    with _changing(name, "cron.deleted", caller, tenant) as entry:
        check(*aim(entry.template))
        _require_not_in_code(entry)
        CronEntry.objects.filter(pk=entry.pk).delete()
        return entry


@contextmanager
def _changing(name: str, action: str, caller: Caller, tenant: str | None) -> Iterator[CronEntry]:
    """Change a locked schedule in a transaction, and keep the change in the history."""
    with atomic():
        configuration.hold()
        entry = find(name, caller, tenant, lock=True)
        with recorded(caller, subject(entry.name, entry.tenant), action):
            yield entry


def subject(name: str, tenant: str | None) -> Subject:
    """Return a schedule as an object of the history."""
    return Subject(SCHEDULE, name, tenant)


def restore(name: str, tenant: str | None, document: Document | None, caller: Caller) -> None:
    """Restore a schedule; None: delete it. Raises as `register` and `delete`."""
    own = replace(caller, tenant=tenant)
    if document is None:
        delete(name, own, _allow)
        return
    register(
        Definition(
            name=name,
            expression=document["expression"],
            timezone=document["timezone"],
            template=dict(document["job_template"]),
            overlap=Overlap(document["overlap_policy"]),
            enabled=document["enabled"],
            description=document["description"],
        ),
        own,
        _allow,
    )


def _allow(_queue: str, _kind: str) -> None:
    """Refuse nothing: the right to restore schedules includes the right to make their jobs."""


def _require_not_in_code(entry: CronEntry) -> None:
    if entry.project is not None:
        raise Conflict(
            f"cron {entry.name} is defined in code by project {entry.project}: change it there,"
            " it can only be paused, resumed and run here",
            details={"name": entry.name, "project": entry.project},
        )


def _own(name: str, caller: Caller) -> CronEntry | None:
    found = CronEntry.objects.annotate(**WITH_NOW).select_for_update()
    return found.filter(name=name, tenant=caller.tenant).first()


def new_entry(
    definition: Definition,
    tenant: str | None,
    now: datetime,
    coming: Plan,
    project: str | None = None,
) -> CronEntry:
    """Store a checked schedule that is new. Raises IntegrityError if there is one of the name."""
    return CronEntry.objects.create(
        tenant=tenant,
        name=definition.name,
        project=project,
        expression=definition.expression,
        timezone=definition.timezone,
        template=definition.template,
        overlap_policy=definition.overlap,
        enabled=definition.enabled,
        description=definition.description,
        due_at=coming.due_at if definition.enabled else None,
        next_run_at=coming.next_run_at if definition.enabled else None,
        created_at=now,
        updated_at=now,
    )


def store(entry: CronEntry, definition: Definition) -> None:
    """Write a locked schedule.

    An unchanged schedule keeps its next run, even if it is already due. Otherwise a client that
    registers at every start would lose a run that was due meanwhile.
    """
    stays = (entry.enabled, entry.expression, entry.timezone) == (
        True, definition.expression, definition.timezone,
    )  # fmt: skip
    if not definition.enabled:
        entry.due_at = entry.next_run_at = None
    elif not stays:
        coming = upcoming(definition, _since(entry, definition))
        entry.due_at, entry.next_run_at = coming.due_at, coming.next_run_at
    entry.expression = definition.expression
    entry.timezone = definition.timezone
    entry.template = definition.template
    entry.overlap_policy = definition.overlap
    entry.enabled = definition.enabled
    entry.description = definition.description
    entry.updated_at = entry.now
    entry.save()


def _since(entry: CronEntry, definition: Definition) -> datetime:
    """Return the base time of the next run: the last run for a live interval, otherwise now."""
    now: datetime = entry.now
    schedule = definition.schedule()
    if entry.enabled and entry.last_run_at and isinstance(schedule, Interval):
        return entry.last_run_at if entry.last_run_at + schedule.length > now else now
    return now


def upcoming(definition: Definition, after: datetime) -> Plan:
    """Return the next times of a schedule. Raises InvalidRequest if there are none."""
    coming = plan(definition.schedule(), after)
    if coming is None:
        raise InvalidRequest.field("expression", "never occurs", definition.expression)
    return coming
