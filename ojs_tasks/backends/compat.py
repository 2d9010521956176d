"""Django's Tasks framework: `django.tasks` of Django 6, or its backport `django_tasks`.

Type checkers see Django 6. At run time the classes of both have no type parameters here.
"""

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TypeAlias

from django.dispatch import Signal  # noqa: TID251 - the framework reports by signals

if TYPE_CHECKING or find_spec("django.tasks") is not None:
    from django.tasks.backends.base import BaseTaskBackend
    from django.tasks.base import Task, TaskContext, TaskError, TaskResult, TaskResultStatus
    from django.tasks.exceptions import TaskException, TaskResultDoesNotExist
    from django.tasks.signals import task_enqueued, task_finished, task_started
    from django.utils.json import normalize_json
else:
    from django_tasks.backends.base import BaseTaskBackend
    from django_tasks.base import Task, TaskContext, TaskError, TaskResult, TaskResultStatus
    from django_tasks.exceptions import TaskException, TaskResultDoesNotExist
    from django_tasks.signals import task_enqueued, task_finished, task_started
    from django_tasks.utils import normalize_json

if TYPE_CHECKING:
    AnyTask: TypeAlias = Task[..., Any]
    AnyResult: TypeAlias = TaskResult[..., Any]
else:
    AnyTask, AnyResult = Task, TaskResult

__all__ = [
    "AnyResult", "AnyTask", "BaseTaskBackend", "Signal", "Task", "TaskContext", "TaskError",
    "TaskException", "TaskResult", "TaskResultDoesNotExist", "TaskResultStatus", "normalize_json",
    "task_enqueued", "task_finished", "task_started",
]  # fmt: skip
