"""Paths with U+0000: the server refuses them on every route, as PostgreSQL text cannot hold it."""

from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver
from django.urls.resolvers import RoutePattern

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")


def paths(patterns: Iterable[Any] | None = None, prefix: str = "/") -> Iterator[str]:
    """Yield the path of every route with parameters, with U+0000 in each parameter."""
    for pattern in get_resolver().url_patterns if patterns is None else patterns:
        spelled = prefix + _spelled(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from paths(pattern.url_patterns, spelled)
        elif isinstance(pattern, URLPattern) and "%00" in spelled:
            yield spelled


def _spelled(pattern: Any) -> str:
    if not isinstance(pattern, RoutePattern):
        return "a%00b" if pattern.converters or "?P<" in str(pattern) else ""
    text = str(pattern)
    for name, converter in pattern.converters.items():
        kind = type(converter).__name__.removesuffix("Converter").lower()
        word = {"string": "str"}.get(kind, kind)
        text = text.replace(f"<{word}:{name}>", "1" if kind == "int" else "a%00b")
        text = text.replace(f"<{name}>", "a%00b")
    return text


def test_routes_of_the_api_the_console_and_the_admin_are_found() -> None:
    found = set(paths())

    assert "/ojs/v1/webhooks/subscriptions/a%00b/rotate-secret" in found
    assert "/console/queues/a%00b/" in found
    assert "/admin/auth/user/a%00b/change/" in found
    assert len(found) > 150


def test_nul_in_a_parameter_of_any_path_is_a_bad_request(store: None) -> None:
    client = Client(raise_request_exception=False)
    user = User.objects.create(username="root", is_staff=True, is_superuser=True)
    client.force_login(user)
    wrong = []
    for path in sorted(set(paths())):
        for method in METHODS:
            answer = client.generic(method, path, b"{}", content_type="application/json")
            is_page = path.startswith(("/console/", "/admin/"))
            is_named = is_page or method == "HEAD" or b"must not contain" in answer.content
            if answer.status_code != 400 or not is_named:
                wrong.append(f"{method} {path}: {answer.status_code}")
    user.delete()

    assert wrong == []


def test_nul_in_a_path_is_named_in_the_error(store: None) -> None:
    error = Client().get("/ojs/v1/webhooks/deliveries/a%00b").json()["error"]

    assert (error["code"], error["details"]["field"]) == ("invalid_request", "path")


@pytest.mark.parametrize("path", ["/ojs/v1/%00", "/v1/jobs/%00", "/%00", "/static/%00.js"])
def test_nul_in_a_path_without_a_route_is_a_bad_request(store: None, path: str) -> None:
    assert Client(raise_request_exception=False).get(path).status_code == 400
