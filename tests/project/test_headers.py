"""Security headers of responses, for browsers and caches. Spec: contract 31.4."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from ojs_project.middleware import CSP

ANSWERS = [
    "/ojs/manifest", "/ojs/v1/jobs", "/ojs/v1/jobs/unknown", "/ojs/v1/none", "/metrics", "/livez",
    "/ojs/v1/openapi.json", "/v1/queues", "/nowhere", "/ojs/v1/jobs/%00",
]  # fmt: skip
PAGES = [
    "/console/", "/console/login/", "/console/nowhere/", "/admin/", "/admin/login/",
    "/admin/auth/user/", "/console/jobs/%00/",
]  # fmt: skip


@pytest.fixture
def client(store: None) -> Any:
    """Return a superuser's client."""
    user = User.objects.create(username="root", is_staff=True, is_superuser=True)
    client = Client(raise_request_exception=False)
    client.force_login(user)
    yield client
    user.delete()


@pytest.mark.parametrize("path", ANSWERS)
def test_an_answer_of_the_api_is_neither_sniffed_nor_kept(client: Client, path: str) -> None:
    answer = client.get(path)

    assert answer["X-Content-Type-Options"] == "nosniff"
    assert answer["Cache-Control"] == "no-store"


@pytest.mark.parametrize("path", PAGES)
def test_a_page_is_neither_sniffed_nor_kept_nor_framed(client: Client, path: str) -> None:
    answer = client.get(path)

    assert answer["X-Content-Type-Options"] == "nosniff"
    assert "no-store" in answer["Cache-Control"]
    assert answer["Content-Security-Policy"] == CSP
    assert "frame-ancestors 'none'" in CSP
    assert answer["Referrer-Policy"] == "same-origin"


def test_a_file_of_the_server_may_be_kept(client: Client) -> None:
    answer = client.get("/static/ojs/console.css")
    answer.close()

    assert "no-store" not in answer["Cache-Control"]
    assert answer["X-Content-Type-Options"] == "nosniff"


def test_the_policy_of_pages_allows_nothing_inline_and_nobody_else() -> None:
    assert "unsafe" not in CSP
    for rule in ("object-src 'none'", "base-uri 'none'", "form-action 'self'"):
        assert rule in CSP


@pytest.mark.parametrize("path", ["/ojs/v1/docs", "/ojs/admin/"])
def test_a_page_outside_the_console_has_a_policy_of_its_own(client: Client, path: str) -> None:
    policy = client.get(path)["Content-Security-Policy"]

    for rule in ("default-src 'self'", "object-src 'none'", "base-uri 'none'", "frame-ancestors"):
        assert rule in policy
