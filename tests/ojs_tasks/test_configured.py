"""The settings of a project whose server is named by a backend of the Tasks framework only."""

from types import SimpleNamespace
from typing import Any

import pytest

from ojs_tasks import checks
from ojs_tasks.configured import settings_for, settings_of

URL = "https://jobs.example.org"


def http(url: str | None, **options: Any) -> dict[str, Any]:
    """Return the settings of an HTTPBackend."""
    named = {} if url is None else {"url": url}
    return {"BACKEND": "ojs_tasks.backends.HTTPBackend", "OPTIONS": {**named, **options}}


def project(*backends: dict[str, Any], apps: tuple[str, ...] = ("ojs_tasks",), **ojs: Any) -> Any:
    """Return the Django settings of a project."""
    return SimpleNamespace(
        INSTALLED_APPS=apps, OJS=ojs, TASKS={str(i): one for i, one in enumerate(backends)}
    )


def test_the_only_backend_with_a_url_names_the_server_and_its_key() -> None:
    found = project(http(URL, key="k", ca="/ca.pem"), http(None), TIMEOUT=3)
    assert settings_of(found) == {"SERVER": URL, "API_KEY": "k", "CA": "/ca.pem", "TIMEOUT": 3}


@pytest.mark.parametrize(
    "found",
    [
        project(http("https://a.example.org", key="k"), http("https://b.example.org", key="k")),
        project(http(URL, key="k"), apps=("jobs.apps.JobsConfig",)),
        project({"BACKEND": "shop.backends.Own", "OPTIONS": {"url": URL}}),
        project(http(None, key="k")),
    ],
    ids=["two servers", "the server's apps are here", "another backend", "no url"],
)
def test_other_projects_name_their_server_in_ojs(found: Any) -> None:
    assert settings_of(found) == {}


def test_the_setting_of_ojs_comes_before_that_of_a_backend() -> None:
    found = project(http(URL, key="of the backend"), SERVER="https://a.example.org", API_KEY="k")
    assert settings_of(found) == {"SERVER": "https://a.example.org", "API_KEY": "k"}


def test_a_worker_for_a_server_uses_the_key_of_its_backend() -> None:
    found = project(http(URL, key="k"), http("https://b.example.org", api_key="of b"), API_KEY="o")
    assert settings_for(f"{URL}/", found) == {"SERVER": f"{URL}/", "API_KEY": "k"}
    assert settings_for("https://b.example.org", found)["API_KEY"] == "of b"
    assert settings_for("https://c.example.org", found)["API_KEY"] == "o"


def test_a_process_without_django_settings_has_none() -> None:
    assert settings_of(None) == {}
    assert settings_for(URL, None) == {"SERVER": URL}


def test_a_project_whose_backend_names_the_server_passes_the_checks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(checks, "settings", project(http(URL, key="k")))
    assert [*checks.check_apps(), *checks.check_remote()] == []


def test_a_wrong_setting_of_such_a_backend_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "settings", project(http("ftp://jobs.example.org", key="k")))
    assert [one.id for one in checks.check_remote()] == ["ojs.E034"]
