"""Change one or many jobs for operators and clients, each with its entry in the audit log.

Spec: contract 11.2, 24.1, 31.5.
"""

from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

from jobs import queries
from jobs.database import atomic
from jobs.domain.access.caller import Caller
from jobs.domain.errors import NotFound
from jobs.domain.job import Job
from jobs.domain.outcome.bulk import ALLOWED, DONE, REVIVED, JobFilter, Verb
from jobs.domain.states import CODES, State
from jobs.domain.wire.ids import is_id
from jobs.domain.wire.times import format_time
from jobs.services.audit.audit import audited, record
from jobs.services.audit.undo_log import undoable, undoable_steps
from jobs.services.operate import bulk
from jobs.services.operate.reprioritize import reprioritize
from jobs.services.outcome import dead_letter
from jobs.services.outcome.cancel import cancel
from jobs.services.outcome.revive import Override, refusal, revive_one
from jobs.services.read.show import show


def retry_job(job_id: str, override: Override | None, caller: Caller) -> Job:
    """Make a discarded or cancelled job available again. Raises NotFound, Conflict."""
    with _undoable(caller, "job.retried", job_id) as data:
        data.update(changes(override))
        return revive_one(job_id, REVIVED, override)


def retry_dead_letter(job_id: str, override: Override | None, caller: Caller) -> Job:
    """Make a discarded job available again. Raises NotFound, Conflict."""
    with _undoable(caller, "dead_letter.retried", job_id) as data:
        data.update(changes(override))
        return dead_letter.retry(job_id, override)


def changes(override: Override | None) -> Mapping[str, Any]:
    """Name the changes of a retry; contents of jobs are not logged."""
    names = ("queue", "args", "meta", "priority", "retry")
    changed = [name for name in names if override and getattr(override, name) is not None]
    found: dict[str, Any] = {"override": changed} if changed else {}
    if override and override.clear_checkpoint:
        found["clear_checkpoint"] = True
    return found


def cancel_job(job_id: str, caller: Caller, reason: str | None = None) -> tuple[Job, State]:
    """Cancel a live job; returns it and the state it left. Raises NotFound, Conflict."""
    with _undoable(caller, "job.cancelled", job_id, reason=reason):
        return cancel(job_id, caller.name, reason)


def change_priority(job_id: str, priority: int, caller: Caller) -> Job:
    """Change the priority of a waiting job. Raises NotFound, Conflict."""
    with _undoable(caller, "job.priority_changed", job_id) as data:
        data["priority"] = priority
        return reprioritize(job_id, priority, caller.name)


def delete_job(job_id: str, caller: Caller) -> None:
    """Remove an ended job for good. Raises NotFound, or Conflict for a live job."""
    show(job_id)
    with _undoable(caller, "job.deleted", job_id):
        if not queries.remove([job_id], [CODES[state] for state in ALLOWED[Verb.DELETE]]):
            raise refusal(job_id, "deleted", ALLOWED[Verb.DELETE])


def delete_dead_letter(job_id: str, caller: Caller) -> None:
    """Remove a discarded job for good. Raises NotFound."""
    with _undoable(caller, "dead_letter.deleted", job_id):
        dead_letter.delete(job_id)


def _undoable(
    caller: Caller, action: str, job_id: str, *, reason: str | None = None
) -> AbstractContextManager[dict[str, Any]]:
    """Run the block as `undoable` does, for one job. Raises NotFound.

    An operation stores its target first, and text that is not an id may not be storable.
    """
    if not is_id(job_id):
        raise NotFound.of("job", job_id)
    return undoable(caller, action, job_id, reason=reason)


def retry_dead_letters(wanted: dead_letter.DeadLetterFilter, caller: Caller) -> dead_letter.Swept:
    """Retry the matching dead letter jobs, in slices; the entry is added at the end."""
    with undoable_steps(caller, "dead_letter.bulk_retried", "dead-letter"):
        swept = dead_letter.retry_all(wanted)
    with audited(caller, "dead_letter.bulk_retried", "dead-letter") as data:
        data.update(matched=swept.matched, succeeded=swept.succeeded, **_shown(wanted))
    return swept


def purge_dead_letters(wanted: dead_letter.DeadLetterFilter, caller: Caller) -> dead_letter.Swept:
    """Delete the matching dead letter jobs for good, in slices; the entry is added at the end."""
    with undoable_steps(caller, "dead_letter.purged", "dead-letter"):
        swept = dead_letter.delete_all(wanted)
    with audited(caller, "dead_letter.purged", "dead-letter") as data:
        data.update(matched=swept.matched, succeeded=swept.succeeded, **_shown(wanted))
    return swept


def many(
    verb: Verb, ids: Sequence[str], caller: Caller, *, states: Collection[State] | None = None
) -> tuple[bulk.Report, dict[str, str]]:
    """Do `verb` to these jobs of the caller's tenant: see `bulk.by_id`; one entry for all."""
    with undoable_steps(caller, f"jobs.bulk_{DONE[verb]}", "jobs"):
        report, why = bulk.by_id(verb, ids, caller.name, tenant=caller.tenant, states=states)
    note(verb, {"ids": len(ids)}, caller, matched=report.matched, done=len(report.done))
    return report, why


def some(verb: Verb, ids: Sequence[str], caller: Caller) -> tuple[list[str], dict[str, str]]:
    """Do `verb` to a few jobs in one transaction, each with an entry of its own.

    Returns the ids of changed jobs, and the reason for each other job: its state or `not_found`.
    """
    with atomic(), undoable_steps(caller, f"jobs.chosen_{DONE[verb]}", "jobs"):
        report, why = bulk.by_id(verb, ids, caller.name, tenant=caller.tenant)
        for job_id in report.done:
            record(caller, f"job.{DONE[verb]}", job_id, data={"chosen": len(ids)})
    return report.done, why


def matching(verb: Verb, wanted: JobFilter, caller: Caller, *, most: int) -> bulk.Report:
    """Do `verb` to the matching jobs, at most `most`; one entry, also of a failed walk."""
    report = bulk.Report()
    try:
        with undoable_steps(caller, f"jobs.bulk_{DONE[verb]}", "jobs"):
            bulk.run(verb, wanted, caller.name, most=most, report=report)
    finally:
        about = {"filter": shown(wanted)}
        note(verb, about, caller, matched=report.matched, done=len(report.done))
    return report


def note(verb: Verb, about: Mapping[str, Any], caller: Caller, *, matched: int, done: int) -> None:
    """Record one operation on many jobs."""
    data = {**about, "matched": matched, DONE[verb]: done}
    record(caller, f"jobs.bulk_{DONE[verb]}", "jobs", data=data)


def shown(wanted: JobFilter) -> dict[str, Any]:
    """Return a filter as the audit log has it; of `meta` the names alone."""
    plain = ("queue", "type", "tenant", "error_type", "priority", "older_than_ms")
    found: dict[str, Any] = {name: getattr(wanted, name) for name in plain}
    found["states"] = [state.value for state in wanted.states]
    found["meta"] = sorted(wanted.meta)
    found["since"] = wanted.since and format_time(wanted.since)
    found["until"] = wanted.until and format_time(wanted.until)
    found["dead"] = wanted.dead
    return {name: value for name, value in found.items() if value not in (None, [], False)}


def _shown(wanted: dead_letter.DeadLetterFilter) -> Mapping[str, Any]:
    names = ("queue", "type", "error_type", "tenant", "text")
    found = {name: getattr(wanted, name) for name in names if getattr(wanted, name)}
    return {"filter": found} if found else {}
