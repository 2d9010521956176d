"""Operator tasks, run by `manage.py qcluster`: whether they will start, and how the latest went.

Operations on many jobs have rows of their own: see console/operations.py.
"""

from dataclasses import dataclass

from django_q.models import OrmQ, Task
from django_q.status import Stat

SHOWN = 5
GROUP = "console"


@dataclass(frozen=True, slots=True)
class Operations:
    """What the pages tell about operator tasks."""

    is_served: bool  # a cluster is running
    waiting: int
    latest: list[Task]  # one of each operation


def is_served() -> bool:
    """Tell whether a cluster is running."""
    return bool(Stat.get_all())


def operations() -> Operations:
    """Tell whether operator tasks will start, how many wait and how the latest went."""
    latest: dict[str, Task] = {}
    # an operation has a task for every few thousand jobs: the newest of each counts
    for task in Task.objects.filter(group__startswith=GROUP).order_by("-stopped")[: SHOWN * 20]:
        latest.setdefault(task.group, task)
    return Operations(is_served(), OrmQ.objects.count(), list(latest.values())[:SHOWN])
