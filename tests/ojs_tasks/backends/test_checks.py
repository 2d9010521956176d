"""System checks of the settings of a backend."""

from typing import Any

import pytest
from django.test import override_settings

from ojs_tasks.backends import DatabaseBackend, HTTPBackend

URL = "https://jobs.example.org"


def problems(backend: Any) -> list[tuple[str, str]]:
    """Return the ids and texts of the problems that the checks report."""
    return [(str(one.id), f"{one.msg} {one.hint}") for one in backend.check()]


@pytest.mark.parametrize(
    ("params", "code", "text"),
    [
        ({"QUEUES": ["Mail"]}, "E101", "'Mail'"),
        ({"OPTIONS": {"retyr": {}}}, "E102", "'retyr'. Did you mean 'retry'?"),
        ({"OPTIONS": {"url": URL}}, "E102", "'url'"),
        ({"OPTIONS": {"retry": {"max_attempts": "3"}}}, "E103", "max_attempts"),
        ({"OPTIONS": {"retry": {"max_attempts": -3}}}, "E103", "max_attempts"),
        ({"QUEUE": ["mail"]}, "E106", "'QUEUE'. Did you mean 'QUEUES'?"),
        ({"OPTIONS": {"queue": "mail"}}, "E103", "queue_name"),
    ],
)
def test_wrong_settings_are_reported(params: dict[str, Any], code: str, text: str) -> None:
    ((found, message),) = problems(DatabaseBackend("default", params))
    assert found == f"ojs_tasks.{code}"
    assert text in message


def test_the_server_of_an_http_backend_has_an_address() -> None:
    ((found, message),) = problems(HTTPBackend("far", {"OPTIONS": {"key": "k"}}))
    assert found == "ojs_tasks.E105"
    assert "url" in message
    ((found, message),) = problems(HTTPBackend("far", {"OPTIONS": {"ulr": URL, "url": URL}}))
    assert found == "ojs_tasks.E102"
    assert "Did you mean 'url'?" in message


def test_an_address_that_would_show_the_key_is_reported() -> None:
    options = {"url": "http://jobs.example.org", "key": "k"}
    ((found, message),) = problems(HTTPBackend("far", {"OPTIONS": options}))
    assert found == "ojs_tasks.E107"
    assert "allow_http is OJS['ALLOW_HTTP']" in message
    assert problems(HTTPBackend("far", {"OPTIONS": {**options, "allow_http": True}})) == []


def test_right_settings_have_no_problems() -> None:
    given = {"retry": {"max_attempts": 3}, "timeout": 60, "tenant": "north"}
    assert problems(DatabaseBackend("default", {"OPTIONS": given, "QUEUES": []})) == []
    far = {**given, "url": URL, "key": "k"}
    assert problems(HTTPBackend("far", {"OPTIONS": far})) == []


def test_a_database_backend_needs_the_apps_of_the_server() -> None:
    with override_settings(INSTALLED_APPS=["ojs_tasks"]):
        ((found, message),) = problems(DatabaseBackend("default", {}))
    assert found == "ojs_tasks.E104"
    assert "HTTPBackend" in message
