"""Remote mode works beside packages with the names of the server's apps."""

import json

from tests.ojs_tasks.remote.project import OURS, Project

EVERYTHING = f"""
import json, pkgutil, sys
import django; django.setup()
import ojs_tasks
for found in pkgutil.walk_packages(ojs_tasks.__path__, "ojs_tasks."):
    if not found.name.startswith("ojs_tasks.local"):
        __import__(found.name)
from shop.ojs_jobs import add
handle = add.enqueue(1, b=2)
print(json.dumps({{"id": handle.id, "state": handle.state,
                   "ours": sorted(set({OURS!r}).intersection(sys.modules))}}))
"""
WITHOUT_DJANGO = """
import sys
sys.modules["django"] = None
from ojs_tasks import get
from ojs_tasks.remote.server import RemoteServer
from ojs_tasks.server import use
import os
from pathlib import Path
key = Path(os.environ["HOST_KEY_FILE"])
use(RemoteServer({"SERVER": os.environ["HOST_SERVER"], "API_KEY": key}))
print(get(sys.argv[1]).state)
"""
WITHOUT_HTTPX = """
import sys
sys.modules["httpx"] = None
from shop.ojs_jobs import add
add.enqueue(1)
"""


def test_no_package_of_the_server_is_imported_and_django_is_optional(host: Project) -> None:
    found = json.loads(host.run("-c", EVERYTHING))

    assert (found["state"], found["ours"]) == ("available", [])
    assert host.run("-c", WITHOUT_DJANGO, found["id"]) == "available\n"


def test_without_httpx_one_line_names_the_extra(host: Project) -> None:
    process = host.start("-c", f"import django; django.setup()\n{WITHOUT_HTTPX}")
    _, errors = process.communicate()

    assert errors.strip().splitlines()[-1] == (
        "ojs_tasks.exceptions.NoServer: remote mode needs httpx: pip install ojs-django"
    )
