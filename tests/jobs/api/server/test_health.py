"""Health, liveness and readiness. Spec: contract 3.8, 31.1, 32.1."""

from collections.abc import Callable

import pytest
from django.db import OperationalError
from django.test import Client

from jobs import queries

SHORT = {"status", "version", "specversion", "uptime_seconds", "backend"}
FULL = SHORT | {"queues", "workers", "loops"}
PATHS = ("/health", "/ojs/v1/health")
Keys = Callable[..., dict[str, str]]


@pytest.mark.parametrize("path", PATHS)
def test_health_without_a_key_is_short(api: Client, with_keys: None, path: str) -> None:
    answer = api.get(path)

    assert answer.status_code == 200
    assert answer.json().keys() == SHORT


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("scope", ["ojs:data:read", "operator", "admin"])
def test_health_for_a_key_that_may_read_is_full(
    api: Client, new_key: Keys, path: str, scope: str
) -> None:
    assert api.get(path, headers=new_key(scope)).json().keys() == FULL


def test_health_for_other_keys_is_short(api: Client, new_key: Keys) -> None:
    for headers in (new_key("worker"), {"Authorization": "Bearer wrong"}, {"X-API-Key": "wrong"}):
        answer = api.get("/ojs/v1/health", headers=headers)

        assert answer.status_code == 200
        assert answer.json().keys() == SHORT


def test_health_where_no_key_is_asked_for_is_full(api: Client) -> None:
    assert api.get("/ojs/v1/health").json().keys() == FULL


@pytest.mark.parametrize("path", PATHS)
def test_health_without_a_database_says_so(
    api: Client, new_key: Keys, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: int) -> None:
        raise OperationalError

    monkeypatch.setattr(queries, "vitals", fail)

    answer = api.get(path, headers=new_key("admin"))

    assert answer.status_code == 503
    assert answer.json()["status"] == "degraded"
    assert answer.json()["backend"]["status"] == "unhealthy"
    assert answer.json()["backend"]["error"] == "OperationalError"


@pytest.mark.parametrize("path", ["/livez", "/healthz", "/ready", "/readyz", "/ojs/manifest"])
def test_public_path_needs_no_key(api: Client, with_keys: None, path: str) -> None:
    assert api.get(path).status_code == 200
