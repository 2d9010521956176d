"""`JobsMixin`, for `django.test.TestCase` and `unittest.TestCase`."""

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from ojs_tasks.server import is_local
from ojs_tasks.testing import helpers
from ojs_tasks.testing.memory import in_memory

if TYPE_CHECKING:
    from unittest import TestCase as Base
else:
    Base = object


class JobsMixin(Base):
    """Helpers of `ojs_tasks.testing` as methods: `class SignupTests(JobsMixin, TestCase)`.

    Without the server's apps each test has its own jobs in memory.
    """

    run_available = staticmethod(helpers.run_available)
    make_due = staticmethod(helpers.make_due)
    enqueued = staticmethod(helpers.enqueued)
    assertEnqueued = staticmethod(helpers.assert_enqueued)  # noqa: N815 - unittest's form
    assertNotEnqueued = staticmethod(helpers.assert_not_enqueued)  # noqa: N815

    def setUp(self) -> None:
        """Keep jobs in memory if the project has no database for them."""
        super().setUp()
        if not is_local():
            self.enterContext(in_memory())

    def run_now(self, **options: Any) -> AbstractContextManager[None]:
        """Run each job at its enqueue within the context; the options are those of `run_now`."""
        return helpers.run_now(**options)
