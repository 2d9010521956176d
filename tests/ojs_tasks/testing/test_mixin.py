"""`JobsMixin`: the helpers as methods of a test case."""

from django.test import TestCase, override_settings

from ojs_tasks import job
from ojs_tasks.testing import JobsMixin


class JobsMixinTests(JobsMixin, TestCase):
    """A test case of a project with the server's apps."""

    def test_jobs_are_looked_at_and_run(self) -> None:
        @job("a.one")
        def one(number: int) -> int:
            return number

        self.assertNotEnqueued(one)
        one.enqueue(1)
        self.assertEnqueued(one, args=[1], count=1)
        assert [run.result for run in self.run_available()] == [1]
        with self.run_now():
            assert one.enqueue(2).result() == 2


@override_settings(OJS={"SERVER": "https://jobs.example.org"})
class RemoteTests(JobsMixin, TestCase):
    """A test case of a project that reaches a server over HTTP."""

    def test_jobs_stay_in_memory(self) -> None:
        @job("a.one")
        def one() -> int:
            return 1

        one.enqueue()
        assert len(self.enqueued()) == 1
        assert [run.result for run in self.run_available()] == [1]

    def test_each_test_begins_without_jobs(self) -> None:
        assert self.enqueued() == []
