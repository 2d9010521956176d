"""The server's settings with the tasks of these tests."""

from typing import Any

from ojs_project.settings import *  # noqa: F403
from ojs_project.settings import DATABASES, INSTALLED_APPS

INSTALLED_APPS = [*INSTALLED_APPS, "tests.ojs_tasks.backends"]

TASKS: dict[str, dict[str, Any]] = {
    "default": {
        "BACKEND": "ojs_tasks.backends.DatabaseBackend",
        "QUEUES": ["default", "urgent"],
    },
}

DATABASES["default"]["OPTIONS"]["application_name"] = "ojs-worker-tests"
