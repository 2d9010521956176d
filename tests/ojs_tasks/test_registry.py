"""Registration by `@job`."""

import pytest

from ojs_tasks import job, registry
from ojs_tasks.registry import handled_queues


@pytest.fixture(autouse=True)
def no_handlers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove all registered handlers for the test."""
    monkeypatch.setattr(registry, "_handlers", {})


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
