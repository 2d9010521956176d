"""Both places of the jobs of a test: its database, and memory."""

from collections.abc import Iterator

import pytest

from ojs_tasks.testing import in_memory


@pytest.fixture(params=["database", "memory"])
def place(request: pytest.FixtureRequest) -> Iterator[str]:
    """Run the test in a transaction of the database, and in memory."""
    if request.param == "memory":
        with in_memory():
            yield "memory"
    else:
        request.getfixturevalue("db")
        yield "database"
