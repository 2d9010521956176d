"""Jobs that steps of other jobs started: their end wakes the parent. Spec: contract 34.2.

The meta of a child names its parent. It decides nothing alone: a parent wakes only if it waits for
this child, and a child is cancelled only if the parent's checkpoint names it, too; both belong to
one tenant.
"""

from collections.abc import Collection, Sequence

from durable import queries
from durable.domain.steps import cancelled_with
from durable.models import Wait
from jobs.database import on_commit
from jobs.domain.outcome.transition import Transition
from jobs.domain.states import CODES, State
from jobs.domain.wire import jsonio
from jobs.domain.wire.ids import is_id
from jobs.models import Job
from jobs.services.outcome.cancel import end
from jobs.services.outcome.suspend import promote_woken, wake
from ojs_tasks.children import CANCEL, ENDED, PARENT, WITH_PARENT


def follow_ended(ended: Sequence[Transition]) -> None:
    """Delete the checkpoints of jobs that ended, wake their parents, cancel their children.

    It takes one statement for jobs without parents and children.
    """
    changes = {change.job_id: change for change in ended}
    parents: dict[tuple[str, str], list[str]] = {}
    for job_id, state, parent in queries.drop(list(changes), ended=True):
        change = changes[job_id]
        if parent is not None and is_id(parent):
            parents.setdefault((parent, change.tenant), []).append(job_id)
        if state is not None and change.after == CODES[State.CANCELLED]:
            _cancel(job_id, change.tenant, cancelled_with(jsonio.loads(state.encode())))
    woken = [_wake(parent, tenant, parents[parent, tenant]) for parent, tenant in sorted(parents)]
    if any(woken):
        on_commit(promote_woken)


def has_ended(signals: Collection[str], tenant: str) -> bool:
    """Return whether one of the jobs has ended whose ends a suspension names.

    The caller has locked the parent: a child that ends later wakes it.
    """
    ids = [name.removeprefix(ENDED) for name in signals if name.startswith(ENDED)]
    found = [job_id for job_id in ids if is_id(job_id)]
    ended = Job.objects.filter(id__in=found, tenant=tenant, state__isnull=False)
    return bool(found) and ended.exists()


def _wake(parent: str, tenant: str, children: Sequence[str]) -> bool:
    """Make a parent due that waits for one of these jobs. Locks: its row, as a suspension does."""
    locked = queries.lock(parent)
    if locked is None or locked.state is not None or locked.tenant != tenant:
        return False
    names = [f"{ENDED}{job_id}" for job_id in children]
    waits = Wait.objects.filter(job_id=parent, signals__overlap=names)
    return bool(waits.update(is_woken=True)) and wake(parent)


def _cancel(parent: str, tenant: str, ids: Sequence[str]) -> None:
    meta = {PARENT: parent, CANCEL: WITH_PARENT}
    live = Job.objects.filter(id__in=ids, tenant=tenant, state__isnull=True, meta__contains=meta)
    if found := [str(job_id) for job_id in live.values_list("id", flat=True)]:
        end(found, "parent", f"job {parent} was cancelled")
