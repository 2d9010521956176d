"""The examples, each imported anew with handlers of its own."""

import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

import pytest

from ojs_tasks import registry
from tests.ojs_tasks.testing.conftest import place

__all__ = ["place"]

Example = Callable[[str], Any]


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch) -> Iterator[Example]:
    """Return a function that imports an example; its handlers end with the test."""
    monkeypatch.setattr(registry, "_handlers", {})
    names: list[str] = []

    def load(name: str) -> Any:
        names.append(f"examples.{name}")
        return import_module(names[-1])

    yield load
    for name in names:
        sys.modules.pop(name, None)
