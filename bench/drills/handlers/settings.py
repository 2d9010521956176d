"""The settings of either release, with the handler of the drill."""

from ojs_project.settings import *  # noqa: F403 - a settings module is the sum of another
from ojs_project.settings import INSTALLED_APPS as STANDARD_APPS

INSTALLED_APPS = [*STANDARD_APPS, "bench.drills.handlers"]
