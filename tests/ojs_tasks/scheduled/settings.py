"""The server's settings with the schedule of these tests."""

from ojs_project.settings import *  # noqa: F403
from ojs_project.settings import INSTALLED_APPS, OJS

INSTALLED_APPS = [*INSTALLED_APPS, "tests.ojs_tasks.scheduled"]
OJS = {**OJS, "PROJECT": "scheduled"}
