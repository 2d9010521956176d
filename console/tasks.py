"""Operator actions on many jobs, run by `manage.py qcluster`; nothing here moves a job by itself.

A task goes a few steps of a walk and queues the next one, so that it stays far below the cluster's
timeout and a crash repeats at most a few steps; every step is guarded by the state it leaves.
"""

from dataclasses import dataclass
from uuid import uuid4

from django_q.models import OrmQ, Task
from django_q.status import Stat
from django_q.tasks import async_task

from jobs.domain.bulk import DONE, JobFilter, Verb
from jobs.domain.caller import Caller
from jobs.services import operate
from jobs.services.bulk import Place, begin, step

STEPS = 10  # of a task: a few thousand jobs, or a search through more
SHOWN = 5
GROUP = "console"


@dataclass(frozen=True, slots=True)
class Walk:
    """One operation: what is done to which jobs, for whom, and how far it is."""

    name: str  # of its group of tasks
    verb: Verb
    wanted: JobFilter
    who: str
    place: Place
    done: int = 0
    matched: int = 0


def start(verb: Verb, wanted: JobFilter, who: str) -> str:
    """Queue an action on the jobs as they are now; returns the first task's id."""
    return _queue(Walk(f"{GROUP} {uuid4()}", verb, wanted, who, begin()))


def go_on(walk: Walk) -> str:
    """Go a few steps; tells how many jobs were moved so far. The last one leaves an audit entry."""
    place, done, matched = walk.place, walk.done, walk.matched
    who = Caller(f"console:{walk.who}")
    for _ in range(STEPS):
        taken = step(walk.verb, walk.wanted, place, who.name)
        done += len(taken.done)
        matched += len(taken.matched)
        if taken.place is None:
            about = {"filter": operate.shown(walk.wanted)}
            operate.note(walk.verb, about, who, matched=matched, done=done)
            return f"{done} jobs {DONE[walk.verb]}"
        place = taken.place
    _queue(Walk(walk.name, walk.verb, walk.wanted, walk.who, place, done, matched))
    return f"{done} jobs {DONE[walk.verb]} so far"


def _queue(walk: Walk) -> str:
    title = f"{walk.verb} {_spelled(walk.wanted)} ({walk.who})"
    return str(async_task("console.tasks.go_on", walk, task_name=title[:100], group=walk.name))


def _spelled(wanted: JobFilter) -> str:
    parts = ["dead letter"] if wanted.dead else [state.value for state in wanted.states]
    parts += [
        f"{name} {value}"
        for name in ("queue", "type", "tenant", "error_type")
        if (value := getattr(wanted, name))
    ]
    return ", ".join(parts) or "jobs"


@dataclass(frozen=True, slots=True)
class Operations:
    """What the pages tell about operator tasks."""

    is_served: bool  # a cluster is running
    waiting: int
    latest: list[Task]  # one of each operation


def operations() -> Operations:
    """Tell whether operator tasks will start, how many wait and how the latest went."""
    latest: dict[str, Task] = {}
    # an operation has a task for every few thousand jobs: the newest of each counts
    for task in Task.objects.filter(group__startswith=GROUP).order_by("-stopped")[: SHOWN * 20]:
        latest.setdefault(task.group, task)
    return Operations(
        is_served=bool(Stat.get_all()),
        waiting=OrmQ.objects.count(),
        latest=list(latest.values())[:SHOWN],
    )
