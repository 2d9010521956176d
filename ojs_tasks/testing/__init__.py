"""Help for the tests of projects that use `@job`: run jobs in the test, and look at them.

    def test_signup_sends_a_mail(ojs_jobs):
        client.post("/signup", …)

        ojs_jobs.assert_enqueued("mail.send", args=["ada@example.org"])
        (run,) = ojs_jobs.run_available()
        assert (run.state, len(mail.outbox)) == ("completed", 1)

With the server's apps the jobs are in the test's database. They are claimed, run by their handlers
with the configured middleware, and acknowledged or failed by their retry policies. It works inside
a test's transaction, which a worker could not see. Only timeouts are not enforced. Without the
apps, the jobs of a test are in memory.
"""

from ojs_tasks.testing.helpers import (
    assert_enqueued,
    assert_not_enqueued,
    enqueued,
    make_due,
    run_available,
    run_now,
)
from ojs_tasks.testing.memory import in_memory
from ojs_tasks.testing.mixin import JobsMixin
from ojs_tasks.testing.records import Enqueued, Run, TooManyJobs

__all__ = [
    "Enqueued", "JobsMixin", "Run", "TooManyJobs", "assert_enqueued", "assert_not_enqueued",
    "enqueued", "in_memory", "make_due", "run_available", "run_now",
]  # fmt: skip
