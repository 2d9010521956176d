"""The host names that the server answers for, API and pages alike: OJS_ALLOWED_HOSTS."""

from pathlib import Path

import pytest
from django.conf import LazySettings
from django.test import Client

from ojs_project.quickstart import environment

pytestmark = pytest.mark.usefixtures("store")

JOB = {"type": "a.b", "args": []}


@pytest.fixture(autouse=True)
def _served(settings: LazySettings) -> None:
    settings.ALLOWED_HOSTS = ["jobs.example.org", ".example.net", "[::1]"]


def asked(path: str, host: str) -> int:
    return int(Client().get(path, HTTP_HOST=host).status_code)


@pytest.mark.parametrize(
    "host", ["jobs.example.org", "JOBS.example.org:8000", "a.example.net", "[::1]:8000"]
)
def test_a_name_that_is_served_is_answered(host: str) -> None:
    assert asked("/ojs/v1/jobs", host) == 200


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:8000", "jobs.example.org.evil.example", "127.0.0.1", "a b", "ü"],
)
@pytest.mark.parametrize("path", ["/ojs/v1/jobs", "/ojs/manifest", "/no/such/path", "/console/"])
def test_another_name_is_not(path: str, host: str) -> None:
    assert asked(path, host) == 400


def test_a_refusal_names_the_header_and_stores_nothing() -> None:
    client = Client(HTTP_HOST="evil.example")
    answer = client.post("/ojs/v1/jobs", JOB, content_type="application/json")

    problem = answer.json()["error"]
    assert (answer.status_code, problem["code"]) == (400, "invalid_request")
    assert problem["details"]["field"] == "Host"
    assert problem["details"]["received"] == "evil.example"
    assert Client(HTTP_HOST="[::1]").get("/ojs/v1/jobs").json()["total"] == 0


@pytest.mark.parametrize("path", ["/livez", "/readyz", "/ojs/v1/health", "/metrics"])
def test_probes_and_scrapers_come_by_any_name(path: str) -> None:
    assert asked(path, "10.0.0.7:8000") == 200


@pytest.mark.parametrize(
    ("auth", "host", "served"),
    [
        ("off", "127.0.0.2", {"localhost", "127.0.0.1", "127.0.0.2", "[::1]"}),
        ("off", "::1", {"localhost", "127.0.0.1", "[::1]"}),
        ("on", "0.0.0.0", {"*"}),  # noqa: S104
    ],
)
def test_a_quickstart_serves_the_address_that_it_listens_at(
    auth: str, host: str, served: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OJS_ALLOWED_HOSTS", raising=False)

    found = environment(None, {"auth": auth, "host": host, "demo": False, "folder": tmp_path})

    assert set(found["OJS_ALLOWED_HOSTS"].split(",")) == served
