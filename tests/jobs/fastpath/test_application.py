"""The application around the shortened handler."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.core.signals import request_finished, request_started
from django.db import close_old_connections
from django.test import RequestFactory

from jobs.fastpath.application import Application, reduce_receivers

pytestmark = pytest.mark.usefixtures("store")


def body(path: str) -> Any:
    """Return the body of an answer, as the application gives it to the server."""
    environ = RequestFactory().get(path).environ | {"ojs.streams": True}
    return Application()(environ, lambda _status, _headers: None)


@pytest.mark.parametrize("path", ["/livez", "/ojs/v1/no-such-path", "/console/login/"])
def test_whole_bodies_are_one_block(path: str) -> None:
    (block,) = body(path)

    assert block


def test_a_stream_is_passed_on_as_it_is() -> None:
    stream = body("/ojs/v1/events/stream")

    assert not isinstance(stream, list)
    stream.close()


@pytest.fixture
def receivers() -> Iterator[None]:
    """Restore the receivers of Django's signals."""
    before = list(request_started.receivers), list(request_finished.receivers)
    yield
    request_started.receivers, request_finished.receivers = before
    for signal in (request_started, request_finished):
        signal.sender_receivers_cache.clear()


@pytest.mark.usefixtures("receivers")
def test_django_does_not_look_at_all_connections_around_a_request() -> None:
    reduce_receivers()

    assert not request_started.disconnect(close_old_connections)
    assert not request_finished.disconnect(close_old_connections)
