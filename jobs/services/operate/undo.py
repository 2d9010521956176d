"""Undo an operation: give its jobs back what they were, except jobs that have gone on since.

An undo works through the records of the operation in steps. Each step is a transaction that changes
jobs and stores the outcomes of their records. After a crash the loop `undo` continues with the
records that have no outcome.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from time import monotonic
from typing import Final

from django.utils import timezone

from jobs import queries
from jobs.database import atomic
from jobs.domain.access.caller import Caller
from jobs.domain.dispatch.claim import LaneKey
from jobs.domain.errors import Conflict, NotFound
from jobs.domain.outcome.transition import Transition
from jobs.domain.outcome.undo import Outcome, Way, reason, way_back
from jobs.domain.states import CODES, State
from jobs.models import LaneKey as Lane
from jobs.models import Undo, UndoJob
from jobs.queries import Kept
from jobs.repeat import repeated
from jobs.services.audit.audit import audited, record
from jobs.services.audit.config_log import of_undo
from jobs.services.audit.undo_log import KEPT
from jobs.services.lanes import lanes
from jobs.services.operate.history import get as change_of
from jobs.services.operate.history import kinds, take_back
from jobs.services.operate.queue_removal import DELETED, bring_back
from jobs.services.outcome.follow import follow

SLICE: Final = 200
REQUEST_S: Final = 2.0  # of a request; the loop goes on
MOST_STEPS: Final = 5_000
PENDING: Final = CODES[State.PENDING]
BATCH: Final = 5_000  # records that one run of the loop `forget_undos` deletes


def latest(tenant: str | None, *, limit: int, offset: int = 0) -> tuple[list[Undo], int]:
    """List the operations that can be undone, newest first, and how many there are."""
    found = Undo.objects.filter(until__gt=timezone.now())
    if tenant is not None:
        found = found.filter(tenant=tenant)
    return list(found.order_by("-pk")[offset : offset + limit]), found.count()


def get(operation: int, tenant: str | None) -> Undo:
    """Return an operation, with a tenant only of this tenant. Raises NotFound."""
    found = Undo.objects.filter(pk=operation, until__gt=timezone.now())
    row = (found if tenant is None else found.filter(tenant=tenant)).first()
    if row is None:
        raise NotFound.of("operation", str(operation))
    return row


def left_out(operation: int, *, limit: int) -> list[tuple[str, Outcome]]:
    """List jobs that an undo could not restore, with the reason."""
    found = UndoJob.objects.filter(undo_id=operation, outcome__isnull=False)
    rows = found.exclude(outcome=Outcome.RESTORED).order_by("job_id")
    return [(str(i), Outcome(str(w))) for i, w in rows.values_list("job_id", "outcome")[:limit]]


def queues_of(operation: int) -> list[str]:
    """Return the queues of the jobs of an operation."""
    return list(
        UndoJob.objects.filter(undo_id=operation).values_list("queue", flat=True).distinct()
    )


def permit_of(row: Undo) -> str | None:
    """Return the name of the permit that the undo of a configuration needs; None: only `undo.run`.

    Raises NotFound if the history has no longer the change.
    """
    change = of_undo(row.before)
    if change is None:
        return None
    found = change_of(change)
    return kinds()[found.kind].permit(found.before)


def undo(operation: int, caller: Caller, reason: str | None = None) -> Undo:
    """Begin to undo an operation, and go on for a moment. Raises NotFound, Conflict.

    The undo of a configuration is complete at once; it raises as the service of the kind.

    If it takes longer, the loop `undo` does the rest. An operation that still runs is stopped.
    """
    row = get(operation, caller.tenant)
    target = f"operation {row.pk}"
    with audited(caller, "operation.undo_started", target, reason=reason) as data:
        data.update(action=row.action, target=row.target, jobs=row.jobs)
        begun = Undo.objects.filter(pk=row.pk, state__in=("running", "done")).update(
            state="undoing", undone_by=caller.name, undone_at=timezone.now()
        )
        if not begun:
            raise Conflict(
                "the operation is undone already",
                details={"operation": row.pk, "state": Undo.objects.get(pk=row.pk).state},
            )
        change = of_undo(row.before)
        if change is not None:
            take_back(change, caller)
        elif row.action == DELETED and row.before is not None:
            bring_back(row.target, row.before, caller)
    end = monotonic() + REQUEST_S
    for _ in range(MOST_STEPS):
        if not go_on(row.pk) or monotonic() > end:
            break
    row.refresh_from_db()
    return row


def undo_some() -> int:
    """Do a step of each undo that is not complete; returns how many records have an outcome now."""
    begun = Undo.objects.filter(state="undoing").order_by("pk").values_list("pk", flat=True)
    return sum(go_on(operation) for operation in begun)


def forget_undos() -> int:
    """Delete records whose day is over; returns how many rows are gone."""
    return queries.undo_forget(BATCH)


def go_on(operation: int) -> int:
    """Do one step of an undo; returns how many records it handled, 0 at the end."""
    return repeated(lambda: _step(operation))


def _step(operation: int) -> int:
    with atomic():
        found = queries.undo_lock(operation, most_jobs=0, most_bytes=0)
        if found is None or found[0] != "undoing":
            return 0
        records = queries.undo_next(operation, SLICE)
        if not records:
            _end(operation)
            return 0
        step = _Step(operation, f"undo of operation {operation}")
        if gone := [one.job_id for one in records if one.left_state is None]:
            back = queries.undo_remove(operation, gone)
            step.null_results(back)
            records = [
                *(one for one in records if one.left_state is not None),
                *(one for one in queries.undo_next(operation, SLICE) if one.job_id in set(back)),
                *(one for one in records if one.job_id in set(gone) - set(back)),
            ]
        step.run(records)
        queries.undo_mark(operation, step.outcomes)
        follow(step.transitions)
    return len(records)


def _end(operation: int) -> None:
    """End an undo with its audit entry; its outcome is kept for another day."""
    row = Undo.objects.get(pk=operation)
    Undo.objects.filter(pk=operation).update(state="undone", until=timezone.now() + KEPT)
    facts = {"action": row.action, "restored": row.restored, "left_out": row.left_out}
    who = Caller(row.undone_by or "system", tenant=row.tenant)
    record(who, "operation.undone", f"operation {operation}", data=facts)


@dataclass(slots=True)
class _Step:
    """The outcomes of a step, and the transitions of watched jobs."""

    operation: int
    actor: str
    outcomes: dict[str, str] = field(default_factory=dict)
    transitions: list[Transition] = field(default_factory=list)

    def run(self, records: Sequence[Kept]) -> None:
        """Take back each kind of change, and note why the other jobs stay as they are."""
        ways: dict[Way, list[Kept]] = {}
        for one in records:
            way = way_back(one.was, one.left_state)
            if isinstance(way, Outcome):
                self.outcomes[one.job_id] = way
            else:
                ways.setdefault(way, []).append(one)
        if Way.CANCEL in ways:
            ways[Way.CANCEL] = self._without_refused(ways[Way.CANCEL])
        for way, found in ways.items():
            if found:
                self._take_back(way, found)

    def null_results(self, ids: Sequence[str]) -> None:
        """Give restored jobs the result null where they had it."""
        if ids:
            queries.undo_null_results(self.operation, ids)

    def _without_refused(self, records: Sequence[Kept]) -> list[Kept]:
        """Leave out jobs that may not wait again: expired, held by a schedule, or duplicates."""
        now = timezone.now()
        keys = [one.fingerprint for one in records if one.fingerprint]
        live = queries.undo_duplicates(keys)
        for one in records:
            if one.expires_at is not None and one.expires_at <= now:
                self.outcomes[one.job_id] = Outcome.EXPIRED
            elif one.watched and one.was == PENDING:
                self.outcomes[one.job_id] = Outcome.HELD
            elif live.get(one.fingerprint or "", set()) - {one.job_id}:
                self.outcomes[one.job_id] = Outcome.DUPLICATE
        return [one for one in records if one.job_id not in self.outcomes]

    def _take_back(self, way: Way, records: Sequence[Kept]) -> None:
        done: set[str] = set()
        if way is Way.REVIVE:
            done = set(queries.undo_revive(self.operation, [one.job_id for one in records]))
            self.null_results(sorted(done))
        elif way is not Way.REMOVE:
            done = self._put_back(way, records)
        for one in records:
            is_done = one.job_id in done
            self.outcomes[one.job_id] = Outcome.RESTORED if is_done else _reason(way, one)
            if is_done and one.watched and one.left_state is not None and way is not Way.PLACE:
                self.transitions.append(
                    Transition(one.job_id, one.queue, one.type or "", one.tenant or "",
                               one.left_state, one.was, one.attempt or 0)
                )  # fmt: skip

    def _put_back(self, way: Way, records: Sequence[Kept]) -> set[str]:
        """Move jobs to the lanes where they waited; a lane that was deleted is made again."""
        queries.make_queues(sorted({one.queue for one in records}))
        stored = {row.id: row for row in Lane.objects.filter(id__in={r.lane_id for r in records})}
        keys: dict[str, LaneKey] = {}
        for one in records:
            row = stored.get(one.lane_id)
            keys[one.job_id] = (
                LaneKey(row.queue, row.priority, row.tenant, row.route, tuple(row.limits))
                if row
                else LaneKey(one.queue, one.priority, one.tenant or "")
            )

        def run(lane_ids: Mapping[LaneKey, int]) -> set[str]:
            placed = {job_id: lane_ids[key] for job_id, key in keys.items()}
            if way is Way.CANCEL:
                return set(queries.undo_cancel(self.operation, placed))
            if way is Way.HASTEN:
                return set(queries.undo_hasten(self.operation, placed))
            return set(queries.undo_place(self.operation, placed, self.actor))

        return lanes.placed(keys.values(), run)


def _reason(way: Way, one: Kept) -> Outcome:
    is_same = one.state == one.left_state
    return reason(way, one.state, ran=one.ran, attempt=one.attempt or 0, is_same=is_same)
