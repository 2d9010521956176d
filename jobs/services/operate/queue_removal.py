"""Empty queues and delete them. Spec: contract 10.2, 10.4, 24.1.

A queue that is deleted while it has active jobs drains: it takes no new jobs, and its waiting and
returning jobs are cancelled or moved to another queue. The loop `drain` continues this and deletes
the queue with its last job. The chosen action is stored in the queue's row, so a crash loses
nothing.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from jobs import queries
from jobs.database import atomic, on_commit
from jobs.domain.access.caller import SYSTEM, Caller
from jobs.domain.errors import Conflict, InvalidRequest, NotFound, OJSError
from jobs.domain.outcome.bulk import JobFilter, Verb
from jobs.domain.states import CODES, TERMINAL, WAITING, State
from jobs.models import Queue, Undo
from jobs.services.audit import undo_log
from jobs.services.audit.config_log import recorded
from jobs.services.lanes import configuration, queue_config
from jobs.services.operate import bulk
from jobs.services.operate.queue_move import move_waiting

MOST = 10_000  # jobs of one request
DELETED: Final = "queue.deleted"  # action of the audit log and of the undo
STRATEGIES: Final = ("reject", "discard", "move")  # for the live jobs of a deleted queue
KEPT = "default"  # the queue of jobs that name none
LIVE = tuple(CODES[state] for state in (*WAITING, State.ACTIVE))


@dataclass(frozen=True, slots=True)
class Removed:
    """The result for a queue; `is_draining`: it is deleted when its active jobs have ended."""

    jobs_affected: int
    is_draining: bool


def purge(
    name: str, states: Sequence[State], actor: str, *, older_than_ms: int | None = None
) -> tuple[int, bool]:
    """Delete the jobs of a queue in these states; cancel waiting jobs first.

    At most MOST of each kind; returns how many are gone and whether there may be more. Raises
    NotFound.
    """
    if not Queue.objects.filter(name=name).exists():
        raise NotFound.of("queue", name)
    gone, is_truncated = 0, False
    for verb, kinds in ((Verb.CANCEL, WAITING), (Verb.DELETE, TERMINAL)):
        chosen = tuple(state for state in states if state in kinds)
        if not chosen:
            continue
        wanted = JobFilter(queue=name, states=chosen, older_than_ms=older_than_ms)
        report = bulk.run(verb, wanted, actor, most=MOST)
        done = set(report.done)
        for start in range(0, len(report.done) if verb is Verb.CANCEL else 0, bulk.SLICE):
            part = report.done[start : start + bulk.SLICE]
            done -= set(part) - bulk.act_on(Verb.DELETE, part, actor)
        gone += len(done)
        is_truncated = is_truncated or report.is_truncated
    return gone, is_truncated


def delete(name: str, strategy: str, actor: str, target: str | None = None) -> Removed:
    """Delete a queue; `reject` raises Conflict if it has live jobs.

    `discard` cancels the waiting jobs, `move` moves them to the queue `target`. Raises NotFound,
    InvalidRequest without a target, and Conflict.
    """
    if name == KEPT:
        raise Conflict(f"queue {KEPT} cannot be deleted", details={"queue": name})
    with atomic():
        queries.raise_config_version()  # later enqueues see that the queue drains
        if not Queue.objects.filter(name=name).exists():
            raise NotFound.of("queue", name)
        moves_to = _target(name, target) if strategy == "move" else None
        # under the lock of the configuration version, so that no target is deleted itself
        if other := Queue.objects.filter(moves_to=name).values_list("name", flat=True).first():
            raise Conflict(
                f"the jobs of queue {other} are being moved to queue {name}",
                details={"queue": name, "from": other},
            )
        if strategy == "reject" and (live := _live(name)):
            raise Conflict(
                f"queue {name} has {live} jobs that have not ended",
                details={"queue": name, "jobs": live},
            )
        Queue.objects.filter(name=name).update(draining=True, moves_to=moves_to)
    configuration.cache.clear()
    affected = _empty(name, moves_to, actor)
    return Removed(affected, is_draining=not _take_away(name, actor))


def delete_by(caller: Caller, name: str, strategy: str, target: str | None = None) -> Removed:
    """Delete a queue as `delete` does, so that it can be undone."""
    queue = Queue.objects.filter(name=name).first()
    before = {"config": queue.config, "is_paused": queue.paused_at is not None} if queue else None
    operation = undo_log.begin(caller, DELETED, name, before=before)
    try:
        with queries.keeping(operation):
            removed = delete(name, strategy, caller.name, target)
    except OJSError:
        Undo.objects.filter(pk=operation, jobs=0).delete()
        raise
    if removed.is_draining:
        undo_log.name_to(caller, operation)
    else:
        undo_log.finish(operation, caller)
    return removed


def bring_back(name: str, before: Mapping[str, Any], caller: Caller) -> None:
    """Stop the deletion of a queue, or make the queue again, in the caller's transaction."""
    configuration.hold()
    subject = queue_config.subject(name)
    with recorded(caller, subject, queue_config.RESTORED, can_undo=False):
        queries.make_queues([name])
        Queue.objects.filter(name=name).update(draining=False, moves_to=None)
        queue_config.configure(name, before["config"], is_whole=True)
    configuration.change()
    if before["is_paused"]:
        queries.pause(name, "system", paused=True)
    on_commit(configuration.cache.clear)


def _target(name: str, target: str | None) -> str:
    if target is None:
        raise InvalidRequest.field("target_queue", "is required to move the jobs of a queue")
    if target == name:
        raise InvalidRequest.field("target_queue", "must be another queue", target)
    row = Queue.objects.filter(name=target).first()
    if row is None:
        raise NotFound.of("queue", target)
    if row.draining:
        raise Conflict(f"queue {target} is being emptied itself", details={"queue": target})
    return target


def drain() -> int:
    """Continue with draining queues; returns how many are gone.

    Deleted queues that got a job meanwhile are made again.
    """
    queries.name_queues()
    return sum(_drain(name, target) for name, target in queries.draining())


def _drain(name: str, target: str | None) -> bool:
    deletions = Undo.objects.filter(action=DELETED, target=name, state="running")
    found = deletions.order_by("-pk").values_list("pk", "actor").first()
    operation, actor = found or (None, SYSTEM.name)
    with suppress(Conflict), queries.keeping(operation):  # a conflict: the deletion is being undone
        _empty(name, target, "system")
    is_gone = _take_away(name, actor)
    if is_gone and operation is not None:
        undo_log.finish(operation, SYSTEM)
    return is_gone


def _empty(name: str, target: str | None, actor: str) -> int:
    """Cancel or move waiting jobs, at most MOST; returns how many."""
    if target is not None:
        return move_waiting(name, target, most=MOST)
    wanted = JobFilter(queue=name, states=tuple(sorted(WAITING)))
    return len(bulk.run(Verb.CANCEL, wanted, actor, most=MOST).done)


def _live(name: str) -> int:
    counts = queries.depths([name]).get(name, {})
    return sum(counts.get(code, 0) for code in LIVE)


def _take_away(name: str, actor: str) -> bool:
    """Delete the row of a draining queue that has no live job; its ended jobs stay."""
    if _live(name):  # does not wait for changes of queues
        return False
    subject = queue_config.subject(name)
    with recorded(Caller(actor), subject, DELETED, can_undo=False):  # the deletion has its own undo
        if _live(name):
            return False
        gone, _ = Queue.objects.filter(name=name, draining=True).delete()
        if gone:
            configuration.change()
    configuration.cache.clear()
    return bool(gone)
