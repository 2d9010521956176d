"""Process occurrences of schedules: decide, enqueue, record. Spec: contract 7.3, 7.4.

All functions run in a transaction that holds the rows of the schedules. Locks, in order: rows of
schedules; overlap slots, by schedule; rows of cancelled jobs; the locks of an enqueue. A
transaction that cancels a run fires one schedule alone, because no transaction may wait for a job's
row after an enqueue.
"""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any

from jobs.database import on_commit
from jobs.domain.access.caller import Caller
from jobs.domain.enqueue.draft import JobDraft
from jobs.domain.errors import Conflict, NotFound
from jobs.domain.job import Job
from jobs.domain.record.events import Kind
from jobs.domain.wire.times import format_time
from jobs.models import DEFAULT_TENANT
from jobs.services.enqueue.enqueue import enqueue
from jobs.services.lanes.envelopes import stored_limits
from jobs.services.outcome.cancel import cancel
from jobs.services.read.show import live
from jobs.services.record.emit import NewEvent, emit
from scheduling import queries
from scheduling.domain.definition import draft
from scheduling.domain.overlap import MAX_WAITING, Overlap, Reason
from scheduling.models import KEPT, CronEntry, CronTurn
from scheduling.services.cron_slots import pass_slot

ACTOR = "cron"


@dataclass(slots=True)
class Firing:
    """One occurrence of a locked schedule and its outcome: a job, or a reason for none."""

    entry: CronEntry
    at: datetime  # the nominal time
    manual: bool = False
    waits: bool = False  # for the run that holds the slot
    cancels: str | None = None  # the previous run
    job: Job | None = None
    reason: str | None = None
    detail: str | None = None
    existing: str | None = None  # the job that prevents a new one

    def skip(self, reason: str, existing: str | None = None, detail: str | None = None) -> None:
        """Record that no job is made, and the reason."""
        self.reason, self.existing, self.detail = reason, existing, detail


@dataclass(slots=True)
class Overlaps:
    """Live runs and overlap slots of some schedules, as of now."""

    running: set[str]
    slots: dict[int, CronTurn]

    @classmethod
    def of(cls, firings: Sequence[Firing]) -> "Overlaps":
        """Read them; at most two statements."""
        entries = [one.entry for one in firings if one.entry.overlap_policy != Overlap.ALLOW]
        waiting = [entry.id for entry in entries if entry.overlap_policy == Overlap.ENQUEUE]
        slots = CronTurn.objects.select_for_update().filter(pk__in=waiting).order_by("pk")
        held = {slot.entry_id: slot for slot in slots} if waiting else {}
        ids = {str(entry.last_job_id) for entry in entries if entry.last_job_id}
        ids |= {str(slot.holder) for slot in held.values()}
        return cls(live(ids) if ids else set(), held)

    def decide(self, firing: Firing) -> None:
        """Apply the schedule's policy."""
        entry = firing.entry
        latest = str(entry.last_job_id) if str(entry.last_job_id) in self.running else None
        match entry.overlap_policy:
            case Overlap.SKIP if latest:
                firing.skip(Reason.OVERLAP, latest)
            case Overlap.CANCEL_PREVIOUS:
                firing.cancels = latest
            case Overlap.ENQUEUE:
                self._line_up(firing, latest)

    def _line_up(self, firing: Firing, latest: str | None) -> None:
        entry = firing.entry
        slot = self.slots.get(entry.id)
        if slot is None and latest:  # it was live when the policy became `enqueue`
            slot = self.slots[entry.id] = CronTurn(entry_id=entry.id, holder=latest)
        if slot is None or not (slot.waiting or str(slot.holder) in self.running):
            return
        if len(slot.waiting) >= MAX_WAITING:
            firing.skip(Reason.OVERLAP, str(slot.holder))
        firing.waits = firing.reason is None


def make(firings: Sequence[Firing], caller: Caller) -> None:
    """Decide about overlaps and enqueue the jobs, all or none; records nothing.

    The jobs belong to the schedules' tenants. The caller must have no tenant and must not wait for
    backpressure. Raises as `enqueue`.
    """
    overlaps = Overlaps.of(firings)
    for firing in firings:
        overlaps.decide(firing)
    for firing in firings:
        if firing.cancels:
            with suppress(Conflict, NotFound):  # it has just ended
                cancel(firing.cancels, ACTOR, f"the next run of cron {firing.entry.name} is due")
    _enqueue([firing for firing in firings if firing.reason is None], caller)
    _store_slots(firings, overlaps)


def _enqueue(firings: Sequence[Firing], caller: Caller) -> None:
    """Enqueue in one call, since several calls would lock the queues' gates in no fixed order."""
    drafts = [_draft(firing) for firing in firings]
    for firing, sent, job in zip(firings, drafts, enqueue(drafts, caller), strict=True):
        if job is None:
            firing.skip(Reason.DROPPED)
        elif job.id != sent.id:  # a unique policy that ignores duplicates
            firing.skip(Reason.DUPLICATE, job.id)
        else:
            firing.job = job


def _draft(firing: Firing) -> JobDraft:
    entry = firing.entry
    made = of_tenant(draft(entry.name, entry.template, firing.at, stored_limits()), entry.tenant)
    if entry.overlap_policy == Overlap.ENQUEUE:
        return replace(made, watched=True, pending=made.pending or firing.waits)
    return made


def of_tenant(job: JobDraft, tenant: str | None) -> JobDraft:
    """Return the job with the schedule's tenant; null keeps the tenant that the job names."""
    if tenant is None:
        return job
    return replace(job, tenant=tenant, meta={**job.meta, "tenant_id": tenant})


def _store_slots(firings: Iterable[Firing], overlaps: Overlaps) -> None:
    for firing in firings:
        if firing.entry.overlap_policy != Overlap.ENQUEUE or firing.job is None:
            continue
        entry_id = firing.entry.id
        slot = overlaps.slots.get(entry_id) or CronTurn(entry_id=entry_id)
        if firing.waits:
            slot.waiting = [*slot.waiting, firing.job.id]
            # the holder may have ended before this row was visible
            on_commit(partial(pass_slot, entry_id), robust=True)
        else:
            slot.holder = firing.job.id
        slot.save()


def note(firings: Sequence[Firing]) -> None:
    """Store the schedules, the history and the events of occurrences; two statements."""
    rows: dict[tuple[int, int], dict[str, Any]] = {}
    for firing in firings:
        entry = firing.entry
        if firing.job is not None:
            entry.run_count += 1
            entry.last_job_id, entry.last_run_at = firing.job.id, entry.now
        if not firing.manual and firing.reason != Reason.CLOCKS:
            entry.apart = firing.reason not in {None, Reason.OVERLAP}
        slot = entry.noted % KEPT
        rows[entry.id, slot] = {
            "entry_id": entry.id, "slot": slot, "number": entry.noted,
            "scheduled_at": firing.at, "job_id": firing.job.id if firing.job else None,
            "reason": firing.reason, "detail": firing.detail, "manual": firing.manual,
        }  # fmt: skip
        entry.noted += 1
    changed = {firing.entry.id: firing.entry for firing in firings}
    queries.advance([_row(entry) for entry in changed.values()], list(rows.values()))
    emit([_event(firing) for firing in firings])


def _row(entry: CronEntry) -> dict[str, Any]:
    return {
        "id": entry.id, "enabled": entry.enabled, "due_at": entry.due_at,
        "next_run_at": entry.next_run_at, "last_run_at": entry.last_run_at,
        "last_job_id": entry.last_job_id and str(entry.last_job_id),
        "run_count": entry.run_count, "noted": entry.noted, "apart": entry.apart,
    }  # fmt: skip


def _event(firing: Firing) -> NewEvent:
    entry, job = firing.entry, firing.job
    options = entry.template.get("options") or {}
    kind = str(entry.template["type"])
    data: dict[str, Any] = {
        "cron_name": entry.name,
        "cron_expr": entry.expression,
        "cron_expression": entry.expression,
        "timezone": entry.timezone,
        "job_type": kind,
        "scheduled_at": format_time(firing.at),
    }
    if firing.manual:
        data["manual"] = True
    if job is not None:
        data |= {"job_id": job.id, "run_count": entry.run_count}
        return NewEvent(Kind.CRON_TRIGGERED, job.id, job.queue, job.type, job.tenant, data)
    data["reason"] = firing.reason
    data |= {"existing_job_id": firing.existing} if firing.existing else {}
    data |= {"detail": firing.detail} if firing.detail else {}
    tenant = entry.tenant or DEFAULT_TENANT
    queue = options.get("queue") or entry.template.get("queue") or "default"
    return NewEvent(Kind.CRON_SKIPPED, None, queue, kind, tenant, data)
