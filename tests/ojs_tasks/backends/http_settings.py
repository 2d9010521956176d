"""A host project with `ojs_tasks` alone; only its backend names the server, by `HOST_SERVER`."""

import os

SECRET_KEY = "x" * 50
INSTALLED_APPS = ["ojs_tasks", "tests.ojs_tasks.backends"]
USE_TZ = True
TASKS = {
    "default": {
        "BACKEND": "ojs_tasks.backends.HTTPBackend",
        "QUEUES": ["default", "urgent"],
        "OPTIONS": {"url": os.environ["HOST_SERVER"]},
    },
}
