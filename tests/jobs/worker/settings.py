"""The server's settings with the handlers of these tests."""

from ojs_project.settings import *  # noqa: F403
from ojs_project.settings import DATABASES, INSTALLED_APPS

INSTALLED_APPS = [*INSTALLED_APPS, "tests.jobs.worker"]

DATABASES["default"]["OPTIONS"]["application_name"] = "ojs-worker-tests"
