"""The server without its fast path answers all requests in the same way."""

import subprocess
from collections.abc import Callable, Iterator

import httpx
import pytest

from tests.conftest import end_all, free_port, wait_until_answering
from tests.jobs.fastpath.requests import send_all
from tests.processes import DEADLINE_S

Spawn = Callable[..., subprocess.Popen[bytes]]
Serve = Callable[..., str]

WSGI = [
    "-m", "gunicorn", "--bind", "127.0.0.1:{port}", "--worker-class", "gthread", "--threads", "4",
    "--log-level", "warning", "django.core.wsgi:get_wsgi_application()",
]  # fmt: skip
ASGI = ["-m", "tests.jobs.fastpath.asgi_server", "{port}"]
PRODUCT, PLAIN = "ojs_project.settings", "tests.jobs.fastpath.plain_settings"


@pytest.fixture
def serve(spawn: Spawn, server: str) -> Iterator[Serve]:
    """Return a function that starts a server on the database of the product's server."""
    started: list[subprocess.Popen[bytes]] = []

    def start(command: list[str], settings: str) -> str:
        port = free_port()
        arguments = [part.format(port=port) for part in command]
        started.append(spawn(*arguments, DJANGO_SETTINGS_MODULE=settings))
        url = f"http://127.0.0.1:{port}"
        wait_until_answering(url)
        return url

    yield start
    end_all(started)


@pytest.mark.parametrize(
    ("command", "settings"),
    [(WSGI, PRODUCT), (WSGI, PLAIN), (ASGI, PRODUCT), (ASGI, PLAIN)],
    ids=["wsgi", "wsgi-plain-database", "asgi", "asgi-plain-database"],
)
def test_answers_are_those_of_the_product(
    serve: Serve, server: str, command: list[str], settings: str
) -> None:
    with httpx.Client(base_url=server, timeout=DEADLINE_S) as client:
        expected = send_all(client)

    with httpx.Client(base_url=serve(command, settings), timeout=DEADLINE_S) as client:
        found = send_all(client)
        manifest = client.get("/ojs/manifest").json()
        stream = client.get("/ojs/v1/events/stream")

    assert len(expected) > 60
    pairs = list(zip(found, expected, strict=True))
    assert not [pair for pair in pairs if pair[0] != pair[1]], "\n".join(
        f"{here}\n{there}" for here, there in pairs if here != there
    )
    assert manifest["conformance_level"] == 4
    assert "realtime" not in manifest["capabilities"]  # only the product's server sends streams
    assert (stream.status_code, stream.json()["error"]["code"]) == (503, "realtime_unavailable")
