"""The undo log: keep jobs as they were before an operator changed them, for a day.

Every operator's change of jobs runs in `undoable` or `undoable_steps`. The statements in the block
store the records in the transaction of the change: see `queries.run_kept`. docs/undo.md.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from datetime import timedelta
from typing import Any, Final, TypeVar

from django.db.models import Sum
from django.utils import timezone

from jobs import queries
from jobs.conf import conf
from jobs.database import atomic
from jobs.domain.access.caller import SYSTEM, Caller
from jobs.domain.errors import Conflict
from jobs.models import Undo
from jobs.repeat import repeated
from jobs.services.audit.audit import audited

T = TypeVar("T")
HEADER: Final = "X-OJS-Operation"  # of an answer: the operation that can be undone
KEPT: Final = timedelta(hours=24)


@contextmanager
def undoable(
    caller: Caller, action: str, target: str, *, reason: str | None = None
) -> Iterator[dict[str, Any]]:
    """Run the block as one audited transaction that can be undone; as `audited` otherwise."""
    with audited(caller, action, target, reason=reason) as data:
        operation = begin(caller, action, target, reason=reason)
        with queries.keeping(None if _is_full() else operation):
            yield data
        finish(operation, caller)


@contextmanager
def undoable_steps(
    caller: Caller, action: str, target: str, *, reason: str | None = None
) -> Iterator[int]:
    """Run the block as an operation of many transactions that can be undone, each by `in_step`."""
    operation = begin(caller, action, target, reason=reason)
    try:
        with queries.keeping(operation):
            yield operation
    finally:
        finish(operation, caller)


def resumed(operation: int | None) -> AbstractContextManager[None]:
    """Go on with an operation in another process or request; None: keep no records."""
    return queries.keeping(operation)


def in_step(run: Callable[[], T]) -> T:
    """Run one transaction of the present operation; without an operation, `run` as it is.

    Raises Conflict if the operation is being undone: it must change no more jobs.
    """
    operation = queries.kept()
    if operation is None:
        return run()
    return repeated(lambda: _step(operation, run))


def _step(operation: int, run: Callable[[], T]) -> T:
    chosen = conf()
    with atomic():
        found = queries.undo_lock(
            operation, most_jobs=chosen.undo_jobs, most_bytes=chosen.undo_bytes
        )
        if found is None or found[0] != "running":
            raise Conflict("the operation is being undone", details={"operation": operation})
        if found[1]:
            Undo.objects.filter(pk=operation, is_cut=False).update(is_cut=True)
        with queries.keeping(None if found[1] else operation):
            return run()


def begin(
    caller: Caller,
    action: str,
    target: str,
    *,
    reason: str | None = None,
    before: Mapping[str, Any] | None = None,
) -> int:
    """Store a new operation without jobs; returns its id. `before`: what else it changes."""
    return Undo.objects.create(
        until=timezone.now() + KEPT,
        actor=caller.name,
        tenant=caller.tenant,
        action=action,
        target=target,
        reason=reason or caller.reason,
        before=before,
    ).pk


def finish(operation: int, caller: Caller) -> None:
    """End an operation that runs; an operation that changed no job is forgotten."""
    running = Undo.objects.filter(pk=operation, state="running")
    if running.filter(jobs=0, before__isnull=True).delete()[0]:
        return
    if running.update(state="done"):
        name_to(caller, operation)


def name_to(caller: Caller, operation: int) -> None:
    """Name an operation in the answer to its caller."""
    if caller is not SYSTEM:
        caller.answer_headers[HEADER] = str(operation)


def _is_full() -> bool:
    kept = Undo.objects.aggregate(kept=Sum("bytes"))["kept"]
    return (kept or 0) >= conf().undo_bytes
