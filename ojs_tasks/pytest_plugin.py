"""Fixtures of pytest: `ojs_jobs`, and `ojs_run_now`. Installing the package provides them.

Nothing of Django is imported before a test uses a fixture.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Any

import pytest


class Jobs:
    """The jobs of a test: the functions of `ojs_tasks.testing`."""

    def __init__(self) -> None:
        """Look the functions up."""
        from ojs_tasks import testing  # noqa: PLC0415 - pytest imports this module in any project

        self.run_available = testing.run_available
        self.make_due = testing.make_due
        self.enqueued = testing.enqueued
        self.assert_enqueued = testing.assert_enqueued
        self.assert_not_enqueued = testing.assert_not_enqueued

    def run_now(self, **options: Any) -> AbstractContextManager[None]:
        """Run each job at its enqueue within the context; the options are those of `run_now`."""
        from ojs_tasks import testing  # noqa: PLC0415

        return testing.run_now(**options)


@pytest.fixture
def ojs_jobs(request: pytest.FixtureRequest) -> Iterator[Jobs]:
    """Give the jobs of the test: in its database, or in memory without the server's apps.

    With the apps it uses the database as pytest-django's `db` does.
    """
    from ojs_tasks.server import is_local  # noqa: PLC0415
    from ojs_tasks.testing import in_memory  # noqa: PLC0415

    if not is_local():
        with in_memory():
            yield Jobs()
        return
    if request.config.pluginmanager.has_plugin("django"):
        request.getfixturevalue("db")
    yield Jobs()


@pytest.fixture
def ojs_run_now(ojs_jobs: Jobs) -> Iterator[Jobs]:
    """Run each job of the test at its enqueue."""
    with ojs_jobs.run_now():
        yield ojs_jobs
