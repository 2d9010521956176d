"""The framework's names for these tests: `django.tasks`, or its backport."""

from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

IS_DJANGO_6: Final = find_spec("django.tasks") is not None
NAME: Final = "django.tasks" if IS_DJANGO_6 else "django_tasks"  # of the package and its logger

if TYPE_CHECKING or IS_DJANGO_6:
    from django.tasks import task, task_backends
    from django.tasks.base import Task, TaskContext, TaskResultStatus
    from django.tasks.exceptions import InvalidTask, TaskResultDoesNotExist, TaskResultMismatch
    from django.tasks.signals import task_enqueued, task_finished, task_started
else:
    from django_tasks import task, task_backends
    from django_tasks.base import Task, TaskContext, TaskResultStatus
    from django_tasks.exceptions import (
        InvalidTaskError as InvalidTask,
    )
    from django_tasks.exceptions import TaskResultDoesNotExist, TaskResultMismatch
    from django_tasks.signals import task_enqueued, task_finished, task_started

__all__ = [
    "InvalidTask", "Task", "TaskContext", "TaskResultDoesNotExist", "TaskResultMismatch",
    "TaskResultStatus", "task", "task_backends", "task_enqueued", "task_finished", "task_started",
]  # fmt: skip
