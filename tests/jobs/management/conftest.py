"""Management commands as an operator types them."""

from collections.abc import Callable
from io import StringIO

import pytest
from django.core.management import call_command

Manage = Callable[..., str]


@pytest.fixture
def manage(store: None) -> Manage:
    """Return a function that runs a command and returns its output."""

    def run(*arguments: str) -> str:
        out = StringIO()
        call_command(*arguments, stdout=out)
        return out.getvalue()

    return run
