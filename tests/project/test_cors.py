"""Requests by pages of other origins to a real server. Spec: contract 31.4."""

import subprocess
from collections.abc import Callable, Iterator

import httpx
import pytest

from tests.conftest import end_all, free_port, http_server, wait_until_answering
from tests.spec import spec

PAGE = "https://app.example"
API = "/ojs/v1/jobs"
JOB = {"type": "a.b", "args": []}


@pytest.fixture(scope="module")
def open_to_pages(spawn: Callable[..., subprocess.Popen[bytes]]) -> Iterator[httpx.Client]:
    """Return a client of a server that permits the pages of two origins."""
    port = free_port()
    server = spawn(
        *http_server(port), OJS_CORS_ORIGINS=f"{PAGE}, http://localhost:5173", OJS_AUTH="apikey",
    )  # fmt: skip
    url = f"http://127.0.0.1:{port}"
    wait_until_answering(url)
    with httpx.Client(base_url=url) as client:
        yield client
    end_all([server])


def preflight(client: httpx.Client, origin: str, path: str = API) -> httpx.Response:
    """Send the preflight request that a browser sends before a request with a key."""
    return client.options(
        path,
        headers={
            "Origin": origin,
            "Access-Control-Request-Method": "POST",
            "Access-Control-Request-Headers": "authorization, content-type",
        },
    )


@pytest.mark.parametrize("origin", [PAGE, "http://localhost:5173"])
@spec("contract 31.4")
def test_a_preflight_of_a_named_origin_is_answered(
    open_to_pages: httpx.Client, origin: str
) -> None:
    answer = preflight(open_to_pages, origin)

    assert answer.status_code == 200
    assert answer.headers["access-control-allow-origin"] == origin
    assert "POST" in answer.headers["access-control-allow-methods"]
    allowed = answer.headers["access-control-allow-headers"]
    assert {"authorization", "content-type", "x-api-key", "traceparent", "idempotency-key"} <= set(
        allowed.split(", ")
    )
    assert "access-control-allow-credentials" not in answer.headers
    assert answer.headers["x-request-id"]


@pytest.mark.parametrize(
    ("origin", "path"),
    [
        ("https://app.example.evil", API),
        ("http://app.example", API),
        ("null", API),
        (PAGE, "/console/login/"),
        (PAGE, "/admin/login/"),
    ],
)
@spec("contract 31.4")
def test_other_origins_and_pages_of_this_server_stay_closed(
    open_to_pages: httpx.Client, origin: str, path: str
) -> None:
    answer = preflight(open_to_pages, origin, path)

    assert "access-control-allow-origin" not in answer.headers


@spec("contract 31.4")
def test_a_page_reads_refusals_and_the_headers_of_answers(
    open_to_pages: httpx.Client,
) -> None:
    answer = open_to_pages.post(API, json=JOB, headers={"Origin": PAGE})

    assert answer.status_code == 401
    assert answer.headers["access-control-allow-origin"] == PAGE
    shown = set(answer.headers["access-control-expose-headers"].split(", "))
    assert {"X-Request-ID", "Retry-After", "Location", "X-RateLimit-Remaining"} <= shown
    assert "origin" in answer.headers["vary"].lower()


@spec("contract 31.4")
def test_without_the_setting_no_origin_is_answered(server: str) -> None:
    answer = httpx.post(f"{server}{API}", json=JOB, headers={"Origin": PAGE})

    assert "access-control-allow-origin" not in answer.headers
