"""Operator tasks, run by `manage.py qcluster`: whether a cluster runs, and the latest results.

Operations on many jobs have rows of their own: see console/operations.py.
"""

from dataclasses import dataclass

from django_q.models import OrmQ, Task
from django_q.status import Stat

SHOWN = 5
GROUP = "console"


@dataclass(frozen=True, slots=True)
class Operations:
    """The state of operator tasks on the pages."""

    is_served: bool  # a cluster is running
    waiting: int
    latest: list[Task]  # one task of each operation


def is_served() -> bool:
    """Return whether a cluster is running."""
    return bool(Stat.get_all())


def operations() -> Operations:
    """Return whether a cluster runs, the number of waiting tasks, and the latest results."""
    latest: dict[str, Task] = {}
    # an operation has a task for every few thousand jobs; only its newest task counts
    for task in Task.objects.filter(group__startswith=GROUP).order_by("-stopped")[: SHOWN * 20]:
        latest.setdefault(task.group, task)
    return Operations(is_served(), OrmQ.objects.count(), list(latest.values())[:SHOWN])
