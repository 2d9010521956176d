"""The server's shortened request handler answers in the same way as Django's handler."""

from typing import Any

import pytest
from django.core.handlers.wsgi import WSGIHandler
from django.test import RequestFactory

from jobs.fastpath.handler import KEPT, Handler, _route

pytestmark = pytest.mark.usefixtures("store")

ASKED = [
    ("GET", "/"),
    ("GET", "/livez"),
    ("HEAD", "/livez"),
    ("GET", "/ojs/manifest"),
    ("GET", "/ojs/v1/jobs"),
    ("POST", "/ojs/v1/jobs"),
    ("PUT", "/ojs/v1/jobs"),
    ("OPTIONS", "/ojs/v1/jobs"),
    ("GET", "/ojs/v1/jobs/0190a5b0-0000-7000-8000-000000000000"),
    ("GET", "/ojs/v1/no-such-path"),
    ("GET", "/console/"),
    ("GET", "/console/login/"),
    ("GET", "/static/ojs/no-such-file"),
]


def answered(handler: Any, method: str, path: str) -> tuple[str, dict[str, str], int]:
    """Return status, headers and body size; bodies differ by their tokens.

    Headers that change with time are compared by presence only.
    """
    environ = RequestFactory().generic(method, path, headers={"X-Request-Id": "one"}).environ
    said: list[Any] = []
    response = handler(environ, lambda status, headers: said.extend((status, dict(headers))))
    status, headers = said
    headers |= dict.fromkeys({"Set-Cookie", "X-RateLimit-Reset", "Expires"} & headers.keys(), "")
    return status, headers, len(b"".join(response))


@pytest.mark.parametrize(("method", "path"), ASKED)
def test_answers_are_those_of_djangos_handler(method: str, path: str) -> None:
    expected = answered(WSGIHandler(), method, path)

    first, again = (answered(Handler(), method, path) for _ in range(2))

    assert first == again == expected


def test_routes_are_remembered_up_to_a_bound() -> None:
    _route.cache_clear()
    for n in range(KEPT + 10):
        answered(Handler(), "GET", f"/ojs/v1/jobs/{n}")

    assert _route.cache_info().currsize == KEPT
    assert _route("/ojs/v1/jobs/7").kwargs == {"job_id": "7"}
