"""Registration by `@job`."""

import pytest

from jobs import handlers
from jobs.handlers import handled_queues, job


@pytest.fixture(autouse=True)
def registry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove all registered handlers for the test."""
    monkeypatch.setattr(handlers, "_registry", {})


def test_handled_queues_of_a_project_without_handlers_are_none() -> None:
    assert handled_queues() == ()


def test_handled_queues_are_those_of_the_handlers_only() -> None:
    job("a.one", queue="mail")(print)
    job("a.two", queue="billing")(print)

    assert handled_queues() == ("billing", "mail")


def test_handled_queues_begin_with_the_default_queue_if_a_handler_uses_it() -> None:
    job("a.one", queue="billing")(print)
    job("a.two")(print)

    assert handled_queues() == ("default", "billing")
