"""Reconcile the schedules that the code of a project defines.

Each such schedule names its project. Schedules of the API, of the console and of other projects are
never touched. All of them are schedules without a tenant; their jobs may name one.
"""

import logging
from collections.abc import Collection, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace

from django.db import IntegrityError

from jobs.database import atomic
from jobs.domain.access.caller import SYSTEM, Caller
from jobs.domain.errors import Conflict, OJSError
from jobs.repeat import repeated
from jobs.services.audit.config_log import recorded
from jobs.services.enqueue.store import require_accepted
from jobs.services.lanes import configuration
from jobs.services.lanes.envelopes import limits
from jobs.services.read.clock import now as database_now
from ojs_tasks.codecs.payload import compared
from scheduling.domain.cron import Plan
from scheduling.domain.definition import Definition
from scheduling.models import WITH_NOW, CronEntry
from scheduling.services.cron_register import (
    TRIES,
    definition_of,
    new_entry,
    require_runnable,
    store,
    subject,
    upcoming,
)

logger = logging.getLogger("ojs.schedules")


@dataclass(slots=True)
class Reconciliation:
    """Names of schedules; `refused` maps names to the reasons."""

    added: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)


def reconcile(
    project: str, wanted: Sequence[Definition], kept: Collection[str] = ()
) -> Reconciliation:
    """Make the schedules of a project those in `wanted`; returns the differences.

    One transaction. It registers new schedules, changes different ones and removes all others of
    the project, except those in `kept`. A paused schedule stays paused. A definition that the
    server refuses changes nothing, nor does one whose name another owner uses: both are in
    `refused`. Locks: the configuration version, then schedules, so that processes that start at
    once follow each other.
    """
    if not wanted and not CronEntry.objects.filter(project=project).exists():
        return Reconciliation()
    plans, refused = _checked(wanted)
    for _ in range(TRIES):
        try:
            done = repeated(lambda: _reconcile(project, plans, {*kept, *refused}))
        except IntegrityError:  # a caller of the API has just taken a name: it is seen now
            continue
        done.refused |= refused
        _log(project, done)
        return done
    raise Conflict(f"the schedules of project {project} keep changing, try again")


def _checked(wanted: Sequence[Definition]) -> tuple[list[tuple[Definition, Plan]], dict[str, str]]:
    """Check definitions as a registration does; returns those that are right."""
    now, plans, refused = database_now(), [], {}
    for definition in wanted:
        try:
            job = definition.check(now, limits())
            require_accepted([job], SYSTEM)
            require_runnable(job, SYSTEM, None)
            plans.append((definition, upcoming(definition, now)))
        except OJSError as problem:
            refused[definition.name] = problem.message
    return plans, refused


def _reconcile(
    project: str, plans: Sequence[tuple[Definition, Plan]], kept: Collection[str]
) -> Reconciliation:
    done = Reconciliation()
    names = {definition.name for definition, _ in plans}
    with atomic():
        configuration.hold()
        found = CronEntry.objects.annotate(**WITH_NOW).filter(tenant=None)
        own = found.filter(project=project) | found.filter(name__in=names)
        entries = {entry.name: entry for entry in own.select_for_update().order_by("id")}
        for definition, coming in plans:
            with _recorded(project, definition.name, "cron.stored"):
                _put(project, definition, coming, entries.get(definition.name), done)
        gone = [
            entry
            for name, entry in entries.items()
            if entry.project == project and name not in names and name not in kept
        ]
        for entry in gone:
            with _recorded(project, entry.name, "cron.deleted"):
                CronEntry.objects.filter(pk=entry.pk).delete()
        done.removed = [entry.name for entry in gone]
    return done


def _recorded(project: str, name: str, action: str) -> AbstractContextManager[None]:
    """Keep the change of a schedule by the code of a project, which no operator can undo."""
    return recorded(Caller(f"project:{project}"), subject(name, None), action, can_undo=False)


def _put(
    project: str,
    definition: Definition,
    coming: Plan,
    entry: CronEntry | None,
    done: Reconciliation,
) -> None:
    if entry is None:
        new_entry(definition, None, database_now(), coming, project)
        done.added.append(definition.name)
    elif entry.project != project:
        owner = "the API or the console" if entry.project is None else f"project {entry.project}"
        done.refused[definition.name] = f"the name is taken by a schedule of {owner}"
    else:
        definition = replace(definition, enabled=entry.enabled)
        if _compared(definition) != _compared(definition_of(entry)):
            store(entry, definition)
            done.changed.append(definition.name)


def _compared(definition: Definition) -> Definition:
    return replace(definition, template=dict(compared(definition.template)))


def _log(project: str, done: Reconciliation) -> None:
    if done.added or done.changed or done.removed:
        facts = {"added": done.added, "changed": done.changed, "removed": done.removed}
        logger.info("schedules.reconciled", extra={"project": project, **facts})
    for name, reason in done.refused.items():
        told = {"project": project, "schedule": name, "reason": reason}
        logger.error("schedule.refused", extra=told)
