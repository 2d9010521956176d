"""A subscriber's server, and settings for it."""

import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from jobs.domain.access.caller import Caller
from webhooks.models import Attempt, Delivery, Position, Subscription
from webhooks.services import subscriptions
from webhooks.services.subscriptions import Draft


class Receiver:
    """A server that records requests and gives the listed answers (status, headers).

    The last answer repeats for all further requests.
    """

    def __init__(self) -> None:
        """Serve on a free port."""
        self.requests: list[tuple[str, dict[str, str], bytes]] = []
        self.answers: list[tuple[int, dict[str, str]]] = [(200, {})]
        self.body = b"thanks"
        self.is_held = threading.Event()
        self.is_held.set()
        self.arrived = threading.Semaphore(0)
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                receiver._answer(self)

            def log_message(self, *_facts: Any) -> None:
                """Log nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def _answer(self, handler: BaseHTTPRequestHandler) -> None:
        body = handler.rfile.read(int(handler.headers["Content-Length"]))
        self.requests.append((handler.path, dict(handler.headers), body))
        self.arrived.release()
        self.is_held.wait(60)
        status, headers = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(self.body)

    @property
    def url(self) -> str:
        """The URL of the server."""
        return f"http://127.0.0.1:{self._server.server_port}"

    def stop(self) -> None:
        """Stop the server."""
        self.is_held.set()
        self._server.shutdown()
        self._server.server_close()


Configure = Callable[..., None]


@pytest.fixture
def configure(settings: Any) -> Configure:
    """Return a function that changes settings of the webhooks."""

    def choose(**chosen: object) -> None:
        settings.OJS_WEBHOOKS = {**settings.OJS_WEBHOOKS, **chosen}

    choose(ALLOW_HTTP=True, ALLOW_PRIVATE=True)
    return choose


@pytest.fixture
def empty(store: None) -> Iterator[None]:
    """Delete all subscriptions before and after a test."""
    tables = (Attempt, Delivery, Subscription, Position)
    for table in tables:
        table.objects.all().delete()
    yield
    for table in tables:
        table.objects.all().delete()


@pytest.fixture
def receiver(empty: None, configure: Configure) -> Iterator[Receiver]:
    """Return a subscriber's server."""
    made = Receiver()
    yield made
    made.stop()


Subscribe = Callable[..., Subscription]


@pytest.fixture
def subscribe(receiver: Receiver) -> Subscribe:
    """Return a function that subscribes the receiver."""

    def make(*events: str, **members: Any) -> Subscription:
        draft = {"url": receiver.url, "events": list(events) or ["*"], **members}
        return subscriptions.create(Draft(**draft), Caller("test"))[0]

    return make
