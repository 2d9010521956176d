"""The settings of the soak's worker that reaches the server over HTTP."""

from bench.soak.names import SERVER
from ojs_project import env

SECRET_KEY = "x" * 50
INSTALLED_APPS = ["ojs_tasks", "bench.soak"]
USE_TZ = True
OJS = {"SERVER": env.text(SERVER), "SHUTDOWN_GRACE_MS": 1000}
