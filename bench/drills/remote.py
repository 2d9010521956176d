"""Settings of a worker that knows only the server's address."""

from bench.drills.fleet import SERVER
from ojs_project import env

SECRET_KEY = "of no use: this project serves no requests"  # noqa: S105
INSTALLED_APPS = ["ojs_tasks", "bench.drills.handlers"]
DATABASES: dict[str, object] = {}
USE_TZ = True
OJS = {"SERVER": env.text(SERVER)}
