"""Empty a queue in the background, run by `manage.py qcluster`; see console/tasks.py."""

from dataclasses import dataclass, replace
from uuid import uuid4

from django_q.tasks import async_task

from console.tasks import GROUP
from jobs.domain.access.caller import Caller
from jobs.domain.states import State
from jobs.services.audit import undo_log
from jobs.services.audit.audit import record
from jobs.services.operate.queue_removal import purge


@dataclass(frozen=True, slots=True)
class Purge:
    """A purge: the queue and states of the jobs, the caller, and the number of deleted jobs."""

    name: str  # of its group of tasks
    queue: str
    states: tuple[State, ...]
    who: Caller
    operation: int  # for the undo
    gone: int = 0


def start(queue: str, states: tuple[State, ...], who: Caller) -> str:
    """Queue a purge; return the first task's id. It may delete jobs enqueued meanwhile, too."""
    operation = undo_log.begin(who, "queue.purged", queue)
    return _queue(Purge(f"{GROUP} {uuid4()}", queue, states, who, operation))


def go_on(one: Purge) -> str:
    """Delete as many jobs as one request may; the last task writes the audit entry."""
    with undo_log.resumed(one.operation):
        gone, is_truncated = purge(one.queue, one.states, one.who.name)
    one = replace(one, gone=one.gone + gone)
    if is_truncated and gone:
        _queue(one)
        return f"{one.gone} jobs deleted so far"
    undo_log.finish(one.operation, one.who)
    facts = {"states": [state.value for state in one.states], "purged_count": one.gone}
    record(one.who, "queue.purged", one.queue, data=facts)
    return f"{one.gone} jobs deleted"


def _queue(one: Purge) -> str:
    title = f"purge {one.queue} ({one.who.name})"
    return str(async_task("console.purges.go_on", one, task_name=title[:100], group=one.name))
