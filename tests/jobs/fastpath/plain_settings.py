"""The server's settings with Django's own database engine and without prepared statements."""

from ojs_project.settings import *  # noqa: F403
from ojs_project.settings import DATABASES

for database in DATABASES.values():
    database["ENGINE"] = "django.db.backends.postgresql"
    database["OPTIONS"].pop("prepare_threshold", None)
