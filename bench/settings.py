"""The project's settings and the app of the handlers for the worker paths."""

from bench.names import ENGINE
from ojs_project import env
from ojs_project.settings import *  # noqa: F403 - a settings module is the sum of another
from ojs_project.settings import DATABASES
from ojs_project.settings import INSTALLED_APPS as STANDARD_APPS

INSTALLED_APPS = [*STANDARD_APPS, "bench"]
if engine := env.text(ENGINE):
    for _database in DATABASES.values():
        _database["ENGINE"] = engine
