"""The project's settings and one more app: the no-op handlers that the worker paths run."""

from ojs_project.settings import *  # noqa: F403 - a settings module is the sum of another
from ojs_project.settings import INSTALLED_APPS as STANDARD_APPS

INSTALLED_APPS = [*STANDARD_APPS, "bench"]
