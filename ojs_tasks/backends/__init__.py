"""Backends of Django's Tasks framework, on Django 6 and on 5.2 with `django-tasks`.

    TASKS = {"default": {"BACKEND": "ojs_tasks.backends.DatabaseBackend"}}

See docs/django-tasks.md.
"""

from ojs_tasks.backends.base import TaskDropped
from ojs_tasks.backends.database import DatabaseBackend
from ojs_tasks.backends.http import HTTPBackend
from ojs_tasks.backends.options import options

__all__ = ["DatabaseBackend", "HTTPBackend", "TaskDropped", "options"]
