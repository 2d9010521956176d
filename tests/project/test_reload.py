"""`quickstart --reload`: the processes run the code as it is now."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from ojs_project.sources import Sources
from tests.processes import DEADLINE_S, until
from tests.project.conftest import Quickstart, Start

pytestmark = pytest.mark.xdist_group("reload")

SETTINGS = """
from ojs_project.settings import *
INSTALLED_APPS = [*INSTALLED_APPS, "shop"]
ROOT_URLCONF = "shop.urls"
"""
URLS = """
from django.http import HttpResponse
from django.urls import path
from ojs_project.urls import urlpatterns as served
urlpatterns = [path("page", lambda request: HttpResponse("{answer}")), *served]
"""
HANDLER = """
from jobs.handlers import job

@job("shop.ask")
def ask() -> str:
    return "{answer}"
"""


def write(folder: Path, answer: str) -> None:
    """Write a project whose page and whose handler give this answer."""
    (folder / "shop").mkdir(exist_ok=True)
    (folder / "shop_settings.py").write_text(SETTINGS)
    (folder / "shop" / "__init__.py").write_text("")
    (folder / "shop" / "urls.py").write_text(URLS.format(answer=answer))
    (folder / "shop" / "ojs_jobs.py").write_text(HANDLER.format(answer=answer))


def page(server: Quickstart) -> str:
    """Return the page, or nothing while the server restarts."""
    try:
        return httpx.get(f"{server.url}/page", timeout=DEADLINE_S).text
    except httpx.HTTPError:
        return ""


def result(server: Quickstart) -> Any:
    """Enqueue a job and return its result."""
    jobs = f"{server.url}/ojs/v1/jobs"
    with httpx.Client(timeout=DEADLINE_S) as client:
        made = client.post(jobs, json={"type": "shop.ask", "args": []}).raise_for_status().json()
        url = f"{jobs}/{made['job']['id']}"
        until(lambda: bool(client.get(url).json()["job"]["state"] == "completed"))
        return client.get(url).json()["job"]["result"]


@pytest.mark.long
def test_the_server_and_its_worker_run_changed_code(
    start: Start, new_folder: Callable[[], Path], tmp_path: Path
) -> None:
    write(tmp_path, "before")
    server = start(
        new_folder(), "--reload", DJANGO_SETTINGS_MODULE="shop_settings", PYTHONPATH=str(tmp_path)
    ).wait_for_greeting()
    assert (page(server), result(server)) == ("before", "before")

    write(tmp_path, "afterwards")

    until(lambda: page(server) == "afterwards")
    assert result(server) == "afterwards"
    assert server.end() == 0


@pytest.fixture
def watched(tmp_path: Path) -> Sources:
    """Return the sources of a folder with a file `a.py`."""
    (tmp_path / "a.py").write_text("1")
    return Sources([tmp_path])


def test_files_that_stay_are_no_change(watched: Sources) -> None:
    assert not watched.have_changed()


def test_a_new_and_a_removed_file_are_one_change_each(watched: Sources, tmp_path: Path) -> None:
    (tmp_path / "b.sql").write_text("1")
    assert watched.have_changed()
    assert not watched.have_changed()

    (tmp_path / "a.py").unlink()
    assert watched.have_changed()


def test_files_of_other_kinds_do_not_count(watched: Sources, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("1")

    assert not watched.have_changed()
