"""The official admin UI, served from a directory. Spec: contract 24.5."""

import base64
import hashlib
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from tests.spec import spec

INDEX = b"<!doctype html><script>start()</script><script type=module src=./assets/app.js></script>"


@pytest.fixture
def ui(api: Client, settings: Any, tmp_path: Path) -> Path:
    """Install a UI of two files, next to a file outside of its folder."""
    folder = tmp_path / "ui"
    (folder / "assets").mkdir(parents=True)
    (folder / "index.html").write_bytes(INDEX)
    (folder / "assets" / "app.js").write_text("start()")
    (tmp_path / "secret.txt").write_text("hidden")
    (folder / "assets" / "link.txt").symlink_to(tmp_path / "secret.txt")
    settings.OJS = {**settings.OJS, "ADMIN_UI_DIR": str(folder)}
    return folder


@pytest.mark.parametrize("path", ["", "/", "/jobs", "/workflows/builder", "/index.html"])
@spec("contract 24.5")
def test_every_path_is_the_index(api: Client, ui: Path, path: str) -> None:
    answer = api.get(f"/ojs/admin{path}")

    assert (answer.status_code, answer.content) == (200, INDEX)
    digest = base64.b64encode(hashlib.sha256(b"start()").digest()).decode()
    assert f"'sha256-{digest}'" in answer["Content-Security-Policy"]
    assert answer["Cache-Control"] == "no-cache"


@pytest.mark.parametrize("path", ["assets/app.js", "workflows/assets/app.js"])
@spec("contract 24.5")
def test_assets_are_found_one_level_deeper_too(api: Client, ui: Path, path: str) -> None:
    answer = api.get(f"/ojs/admin/{path}")

    assert answer.content == b"start()"
    assert answer["Content-Type"] in {"text/javascript", "application/javascript"}
    assert "immutable" in answer["Cache-Control"]


@pytest.mark.parametrize(
    "path",
    ["assets/none.js", "assets/../../secret.txt", "assets/link.txt", "assets/"],
)
@spec("contract 24.5")
def test_nothing_outside_is_served(api: Client, ui: Path, path: str) -> None:
    answer = api.get(f"/ojs/admin/{path}")

    assert answer.status_code == 404
    assert b"hidden" not in answer.content


@spec("contract 24.5")
def test_without_files_the_page_says_how(api: Client) -> None:
    answer = api.get("/ojs/admin/")

    assert answer.status_code == 200
    assert b"OJS_ADMIN_UI_DIR" in answer.content


@spec("contract 24.5")
def test_stranger_is_sent_to_the_login_and_staff_see_it(
    api: Client, ui: Path, with_keys: None
) -> None:
    stranger = api.get("/ojs/admin/jobs")
    api.force_login(User.objects.create_superuser("root"))

    known = api.get("/ojs/admin/jobs")
    User.objects.all().delete()

    assert stranger["Location"] == "/console/login/?next=/ojs/admin/jobs"
    assert known.status_code == 200


@spec("contract 24.5")
def test_only_reading_is_possible(api: Client, ui: Path) -> None:
    assert api.post("/ojs/admin/").status_code == 405
