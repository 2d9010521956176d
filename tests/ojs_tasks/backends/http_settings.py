"""A host project with `ojs_tasks` alone, whose tasks are at a server; `HOST_SERVER` names it."""

import os

SECRET_KEY = "x" * 50
INSTALLED_APPS = ["ojs_tasks", "tests.ojs_tasks.backends"]
USE_TZ = True
OJS = {"SERVER": os.environ["HOST_SERVER"]}
TASKS = {
    "default": {"BACKEND": "ojs_tasks.backends.HTTPBackend", "QUEUES": ["default", "urgent"]},
}
