"""Operations on each job that a filter finds, run by `manage.py qcluster` in slices.

A slice is one transaction. It handles a few hundred jobs at most, and stores their outcome and the
start of the next slice. A crash undoes only the slice that ran. A task runs slices for a while and
queues the next task. It names its first slice; a duplicate or late task finds that the number has
moved, and does nothing. If a process is killed, `tend` continues its operations a minute later. See
docs/console.md.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import timedelta
from threading import Event
from time import monotonic
from typing import Any, Final

from django.db import DatabaseError
from django.db.models import F
from django.utils import timezone
from django_q.tasks import async_task

from console import exports, queries
from console.columns import USUAL, Column, chosen
from console.filters import JobFilter
from console.models import ExportPart, Operation
from console.search import TookTooLong
from console.walk import EXPORT, pick, preview, states_of
from jobs.database import atomic
from jobs.domain.access.caller import SYSTEM, Caller
from jobs.domain.errors import Conflict, InvalidRequest, NotFound, OJSError
from jobs.domain.job import Job
from jobs.domain.outcome.bulk import DONE, LEAST_RATE, MOST_RATE, Verb
from jobs.domain.states import State
from jobs.services.audit import undo_log
from jobs.services.audit.audit import audited, record
from jobs.services.operate import bulk
from jobs.services.read import replica
from jobs.services.read.show import show_many

logger = logging.getLogger("ojs.console")
ADOPT, FORGET = "adopt", "forget"  # operations on copies of a region: console/region_operations.py
OF_REGIONS: Final = {ADOPT: "adopted", FORGET: "forgotten"}
VERBS: Final = (*Verb, EXPORT)
TASK_S = 5.0  # time of a task; far below the timeout of the cluster
LONGEST_PAUSE_S = 30.0  # of a slice; below STALE_S
STALE_S = 60  # without a slice for so long, an operation is abandoned
TRIES = 5  # of a slice that the database refused, one task each
KEPT_DAYS, EXPORT_KEPT_HOURS = 90, 24
MOST_EXPORTED = 250_000
RATE: Final = 2_000  # jobs a second: fresh work comes first
MORE: Final = 0.1  # part by which the number of jobs may grow after its preview
LOCK: Final = 20266620  # advisory lock, with the operation's id, of a running slice; tried


@dataclass(frozen=True, slots=True)
class Request:
    """A requested operation; `columns` and `format` belong to exports."""

    verb: str
    asked: JobFilter
    reason: str | None = None
    format: exports.Format = exports.Format.CSV
    columns: Sequence[Column] = ()
    rate: int = RATE
    expected: int | None = None  # number of jobs in the preview that the operator saw


def start(request: Request, who: Caller) -> Operation:
    """Begin an operation on the present jobs. Raises InvalidRequest, Conflict.

    The audit entry, the operation and its first task are one transaction.
    """
    asked = request.asked
    if who.tenant is not None:
        asked = replace(asked, tenant=who.tenant)
    if problems := asked.problems:
        field, problem = next(iter(problems.items()))
        raise InvalidRequest.field(field, problem, getattr(asked, field))
    states = states_of(request.verb, asked)
    if not states:
        raise Conflict(f"no {asked.state or 'dead'} job can be {_done(request.verb)}")
    seen = preview(request.verb, asked)
    _check_grown(request.expected, seen.total.jobs)
    return begin(
        Operation(
            verb=request.verb,
            wanted=replace(asked.frozen(timezone.now()), after="").chosen(),
            actor=who.name,
            address=who.address,
            tenant=who.tenant,
            reason=request.reason,
            estimate=seen.total.jobs,
            is_exact=seen.total.is_exact,
            place=asdict(bulk.begin()),
            options=_options(request),
            rate=checked_rate(request.rate),
        )
    )


def _check_grown(expected: int | None, now: int) -> None:
    """Refuse an operation on clearly more jobs than its preview had."""
    if expected is not None and now > expected * (1 + MORE) + 10:
        raise Conflict(
            f"{now} jobs match now, the preview had {expected}: start again if this is right",
            details={"expected": expected, "matched": now},
        )


def checked_rate(rate: int) -> int:
    """Return a rate. Raises InvalidRequest beyond the bounds."""
    if not LEAST_RATE <= rate <= MOST_RATE:
        raise InvalidRequest.field("rate", f"must be from {LEAST_RATE} to {MOST_RATE}", rate)
    return rate


def begin(operation: Operation) -> Operation:
    """Store a new operation with its audit entry and its first task."""
    with atomic():
        if operation.verb in list(Verb):
            who = Caller(operation.actor, operation.tenant, reason=operation.reason)
            action = f"jobs.bulk_{_done(operation.verb)}"
            operation.undo_id = undo_log.begin(who, action, "jobs")
        operation.save(force_insert=True)
        _note(
            operation,
            f"{_prefix(operation.verb)}_{operation.verb}_started",
            estimate=operation.estimate,
        )
        _queue(operation)
    return operation


def _options(request: Request) -> dict[str, Any]:
    if request.verb != EXPORT:
        return {}
    return {
        "format": request.format.value,
        "columns": [column.name for column in request.columns] or list(USUAL),
    }


def stop(operation_id: int, who: Caller) -> Operation:
    """Stop an operation, at once or after the current slice. Raises NotFound, Conflict."""
    with audited(who, "jobs.bulk_stop_asked", f"operation {operation_id}"):
        operation = get(operation_id, who.tenant)
        if operation.state != "running":
            raise Conflict(f"operation {operation_id} is {operation.state}")
        Operation.objects.filter(pk=operation_id).update(is_stopping=True)
        if _is_ours(operation_id):  # no slice runs, and none begins before the commit
            _end(operation, "stopped")
    operation.refresh_from_db()
    return operation


def set_rate(operation_id: int, who: Caller, *, rate: int) -> Operation:
    """Change the rate of an operation, from its next slice on. Raises NotFound, InvalidRequest."""
    with audited(who, "jobs.bulk_rate_changed", f"operation {operation_id}") as data:
        operation = get(operation_id, who.tenant)
        data["rate"] = operation.rate = checked_rate(rate)
        operation.save(update_fields=["rate"])
    return operation


def resume(operation_id: int, who: Caller) -> Operation:
    """Continue a stopped or failed operation at its position. Raises NotFound, Conflict."""
    with audited(who, "jobs.bulk_resumed", f"operation {operation_id}"):
        operation = get(operation_id, who.tenant)
        ended = Operation.objects.filter(pk=operation_id, state__in=("stopped", "failed"))
        if operation.bytes and operation.verb == EXPORT and not operation.exportpart_set.exists():
            raise Conflict(
                "the server has deleted the stored part of the export; start a new export"
            )
        if not ended.update(
            state="running", is_stopping=False, problem=None, ended_at=None, moved_at=timezone.now()
        ):
            raise Conflict(f"operation {operation_id} is {operation.state}")
        operation.refresh_from_db()
        _queue(operation)
    return operation


def get(operation_id: int, tenant: str | None) -> Operation:
    """Return an operation, with a tenant only of this tenant. Raises NotFound."""
    found = Operation.objects.filter(pk=operation_id)
    if tenant is not None:
        found = found.filter(tenant=tenant)
    operation = found.first()
    if operation is None:
        raise NotFound.of("operation", str(operation_id))
    return operation


def latest(tenant: str | None, limit: int) -> list[Operation]:
    """Return the latest operations, newest first."""
    found = Operation.objects.all() if tenant is None else Operation.objects.filter(tenant=tenant)
    return list(found.order_by("-pk")[:limit])


def go_on(operation_id: int, number: int, tries: int = 0) -> str:
    """Run slices for TASK_S seconds from slice `number` on, and queue the rest. A task."""
    end = monotonic() + TASK_S
    while monotonic() < end:
        try:
            began = monotonic()
            following, pause_s = _slice(operation_id, number)
            Event().wait(max(0.0, min(pause_s - (monotonic() - began), LONGEST_PAUSE_S)))
        except (DatabaseError, TookTooLong) as problem:
            return _try_again(operation_id, number, tries, problem)
        except OJSError as problem:  # a later try would be refused, too
            return _fail(operation_id, number, str(problem))
        if following is None:
            return "complete"
        number, tries = following, 0
    _go_later(operation_id, number)
    return f"{number} batches so far"


def _slice(operation_id: int, number: int) -> tuple[int | None, float]:
    """Run one slice; return the number of the next slice, None if this task has none to run.

    The second value is the least time of the slice in seconds, by the rate of the operation.

    The task holds the lock until the commit, so two tasks never read the same position. `stop` may
    write `is_stopping` meanwhile; this function writes other columns.
    """
    with atomic():
        if not _is_ours(operation_id):
            return None, 0.0
        operation = Operation.objects.filter(pk=operation_id).first()
        if operation is None or operation.state != "running" or operation.slices != number:
            return None, 0.0
        if operation.is_stopping:
            _end(operation, "stopped")
            return None, 0.0
        taken = _work(operation.verb)(operation)
        Operation.objects.filter(pk=operation_id).update(
            place=asdict(taken.place) if taken.place else operation.place,
            slices=number + 1,
            matched=F("matched") + taken.matched,
            done=F("done") + taken.done,
            bytes=F("bytes") + taken.bytes,
            is_cut=taken.is_cut,
            options=operation.options if taken.options is None else taken.options,
            moved_at=timezone.now(),
        )
        if taken.place is not None:
            return number + 1, taken.matched / operation.rate
        operation.refresh_from_db()
        _end(operation, "done")
    return None, 0.0


@dataclass(frozen=True, slots=True)
class Taken:
    """The outcome of a slice, and the position of the next slice."""

    matched: int
    done: int
    place: bulk.Place | None  # None: the last slice
    bytes: int = 0
    is_cut: bool = False
    options: dict[str, Any] | None = None  # None: unchanged


def _work(verb: str) -> Callable[[Operation], Taken]:
    if verb in OF_REGIONS:
        from console import region_operations  # noqa: PLC0415 - the app may be absent

        return region_operations.go
    return _export if verb == EXPORT else _act


def _act(operation: Operation) -> Taken:
    verb, asked = Verb(operation.verb), JobFilter.read(operation.wanted)
    states, place = states_of(verb, asked), bulk.Place(**operation.place)
    state = states[place.source] or State.DISCARDED  # the states of a verb are not None
    found, following = pick(asked, states, place)
    taken = bulk.taken(verb, state, {one for one in states if one})
    with undo_log.resumed(operation.undo_id):
        done = bulk.act_on(verb, found.ids, operation.actor, taken) if found.ids else set()
    return Taken(len(found.ids), len(done), following)


def _export(operation: Operation) -> Taken:
    asked, place = JobFilter.read(operation.wanted), bulk.Place(**operation.place)
    shown = chosen(operation.options["columns"])
    form = exports.Format(operation.options["format"])

    def picked() -> tuple[Any, bulk.Place | None, Sequence[Job]]:
        found, following = pick(asked, states_of(EXPORT, asked), place)
        return found, following, show_many(found.ids[: MOST_EXPORTED - operation.matched])

    found, following, listed = replica.read(picked)
    content = exports.lines(form, shown, listed)
    if not operation.slices and form is exports.Format.CSV:
        content = exports.head(shown) + content
    is_cut = operation.matched + len(found.ids) > MOST_EXPORTED
    written = exports.keep(operation, content)
    return Taken(len(listed), len(listed), None if is_cut else following, written, is_cut)


def _is_ours(operation_id: int) -> bool:
    return queries.lock_operation(LOCK, operation_id % 2**31)


def _try_again(operation_id: int, number: int, tries: int, problem: Exception) -> str:
    logger.warning("operation.refused", extra={"operation": operation_id}, exc_info=problem)
    if tries + 1 < TRIES:
        _go_later(operation_id, number, tries + 1)
        return f"batch {number} is retried: {problem}"
    text = "it took too long" if isinstance(problem, TookTooLong) else str(problem)
    return _fail(operation_id, number, text)


def _fail(operation_id: int, number: int, why: str) -> str:
    """End an operation that cannot continue; an operator may resume it after a repair."""
    with atomic():
        operation = Operation.objects.filter(pk=operation_id, state="running").first()
        if operation is not None:
            operation.problem = why.strip().splitlines()[0][:500] if why.strip() else "unknown"
            _end(operation, "failed")
    return f"batch {number} failed: {why}"


def _end(operation: Operation, state: str) -> None:
    """End an operation with its audit entry, in the caller's transaction."""
    ended = Operation.objects.filter(pk=operation.pk, state="running").update(
        state=state, ended_at=timezone.now(), problem=operation.problem
    )
    if ended and operation.undo_id is not None and state == "done":
        undo_log.finish(operation.undo_id, SYSTEM)
    if ended:
        done = _done(operation.verb)
        action = f"{_prefix(operation.verb)}_{done if state == 'done' else state}"
        facts = {"matched": operation.matched, done: operation.done}
        _note(operation, action, **facts, problem=operation.problem)


def _prefix(verb: str) -> str:
    """Return the prefix of the operation's actions in the audit log."""
    return "federation.region" if verb in OF_REGIONS else "jobs.bulk"


def _done(verb: str) -> str:
    if verb in OF_REGIONS:
        return OF_REGIONS[verb]
    return "exported" if verb == EXPORT else DONE[Verb(verb)]


def _note(operation: Operation, action: str, **facts: Any) -> None:
    data = {"filter": operation.wanted, **facts}
    record(
        Caller(operation.actor, tenant=operation.tenant, address=operation.address),
        action,
        f"operation {operation.pk}",
        reason=operation.reason,
        data={name: value for name, value in data.items() if value is not None},
    )


def _go_later(operation_id: int, number: int, tries: int = 0) -> None:
    async_task(
        "console.operations.go_on", operation_id, number, tries,
        task_name=f"operation {operation_id}", save=False,
    )  # fmt: skip


def _queue(operation: Operation) -> None:
    _go_later(operation.pk, operation.slices)


def tend() -> str:
    """Continue abandoned operations and remove old operations. A task of each minute."""
    now = timezone.now()
    late = Operation.objects.filter(state="running", moved_at__lt=now - timedelta(seconds=STALE_S))
    found = list(late)
    for operation in found:
        with atomic():
            if late.filter(pk=operation.pk).update(moved_at=now):  # parallel runs queue it once
                _queue(operation)
    exported = Operation.objects.filter(
        verb=EXPORT, ended_at__lt=now - timedelta(hours=EXPORT_KEPT_HOURS)
    )
    removed, _ = ExportPart.objects.filter(operation__in=exported).delete()
    Operation.objects.filter(ended_at__lt=now - timedelta(days=KEPT_DAYS)).delete()
    return f"{len(found)} operations driven, {removed} parts of files removed"
