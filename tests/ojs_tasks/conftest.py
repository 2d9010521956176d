"""Fixtures of the Python API."""

from collections.abc import Iterator

import pytest

from jobs.services.read.awaiting import listener
from ojs_tasks import registry
from ojs_tasks.codecs import choices


@pytest.fixture(autouse=True)
def no_handlers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove all registered handlers for the test."""
    monkeypatch.setattr(registry, "_handlers", {})
    monkeypatch.setattr(choices, "_choices", {})


@pytest.fixture
def listening(store: None) -> Iterator[None]:
    """End the connection of waiters after the test."""
    yield
    listener.stop()
