"""Jobs and workflows that steps of jobs started: their end wakes the parent. Spec: contract 34.2.

The meta of a child names its parent. It decides nothing alone: a parent wakes only if it waits for
this child, and a child is cancelled only if the parent's checkpoint names it, too; both belong to
one tenant. Workflows belong to another extension: see `jobs.extensions.children`.
"""

from collections.abc import Collection, Sequence

from durable import queries
from durable.domain.steps import Children, cancelled_with
from durable.models import Wait
from jobs.database import on_commit
from jobs.domain.outcome.transition import Transition
from jobs.domain.states import CODES, State
from jobs.domain.wire import jsonio
from jobs.domain.wire.ids import is_id
from jobs.extensions import children
from jobs.models import Job
from jobs.services.outcome.cancel import end
from jobs.services.outcome.suspend import promote_woken, wake
from ojs_tasks.children import CANCEL, ENDED, FLOW_ENDED, PARENT, WITH_PARENT


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
    for parent, tenant in sorted(parents):
        wake_parent(parent, tenant, [f"{ENDED}{one}" for one in parents[parent, tenant]])


def has_ended(signals: Collection[str], tenant: str) -> bool:
    """Return whether one of the jobs or workflows has ended whose ends a suspension names.

    The caller has locked the parent: a child that ends later wakes it.
    """
    if flows := [name for name in signals if name.startswith(FLOW_ENDED)]:
        return children.has_ended(flows, tenant) or _has_ended(signals, tenant)
    return _has_ended(signals, tenant)


def _has_ended(signals: Collection[str], tenant: str) -> bool:
    ids = [name.removeprefix(ENDED) for name in signals if name.startswith(ENDED)]
    found = [job_id for job_id in ids if is_id(job_id)]
    ended = Job.objects.filter(id__in=found, tenant=tenant, state__isnull=False)
    return bool(found) and ended.exists()


def wake_parent(parent: str, tenant: str, ended: Sequence[str]) -> None:
    """Make a parent due that waits for one of these ends, in the transaction of the end.

    Locks: the row of the parent, as a suspension does, after the rows of what has ended.
    """
    locked = queries.lock(parent)
    if locked is None or locked.state is not None or locked.tenant != tenant:
        return
    waits = Wait.objects.filter(job_id=parent, signals__overlap=list(ended))
    if waits.update(is_woken=True) and wake(parent):
        on_commit(promote_woken)


def _cancel(parent: str, tenant: str, named: Children) -> None:
    meta = {PARENT: parent, CANCEL: WITH_PARENT}
    live = Job.objects.filter(
        id__in=named.jobs, tenant=tenant, state__isnull=True, meta__contains=meta
    )
    if found := [str(job_id) for job_id in live.values_list("id", flat=True)]:
        end(found, "parent", f"job {parent} was cancelled")
    children.cancel_children(named.workflows, parent, tenant)
