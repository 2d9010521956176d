"""The backends of these tests, in their settings."""

from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import pytest
from django.test import override_settings

from jobs.testing import Run, run_available
from ojs_tasks import registry

ROOT = "ojs_tasks.backends"
QUEUES = ["default", "urgent"]
FRAMEWORK = "django.tasks" if find_spec("django.tasks") else "django_tasks"
TASKS: dict[str, dict[str, Any]] = {
    "default": {"BACKEND": f"{ROOT}.DatabaseBackend", "QUEUES": QUEUES},
    "any": {"BACKEND": f"{ROOT}.DatabaseBackend", "QUEUES": []},
    "at_commit": {
        "BACKEND": f"{ROOT}.DatabaseBackend", "QUEUES": QUEUES, "ENQUEUE_ON_COMMIT": True
    },
    "dummy": {"BACKEND": f"{FRAMEWORK}.backends.dummy.DummyBackend", "QUEUES": []},
    "immediate": {"BACKEND": f"{FRAMEWORK}.backends.immediate.ImmediateBackend", "QUEUES": []},
    "missing": {"BACKEND": "does.not.exist"},
}  # fmt: skip

import_module(ROOT)  # so that the framework reads TASKS again with each change of the setting
with override_settings(TASKS=TASKS):
    # the module; `using` of type checkers takes no options of ours
    tasks: Any = import_module("tests.ojs_tasks.backends.tasks")


# by type; other tests may have registered handlers before
HANDLERS = {one.type: [one] for one in registry.handlers() if hasattr(one, "task")}


@pytest.fixture(autouse=True)
def no_handlers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove all registered handlers but those of the tasks."""
    monkeypatch.setattr(registry, "_handlers", dict(HANDLERS))


@pytest.fixture(autouse=True)
def tasks_setting() -> Iterator[None]:
    """Use the backends of these tests."""
    with override_settings(TASKS=TASKS):
        yield


RunTasks = Callable[[], list[Run]]


@pytest.fixture
def run_tasks(store: None) -> RunTasks:
    """Return a function that runs available tasks until none is left, in an empty store."""

    def run() -> list[Run]:
        return run_available(QUEUES, raises=False)

    return run
