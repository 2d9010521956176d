"""Hooks into the end, the revival and the removal of watched jobs."""

from collections.abc import Sequence

from jobs.domain.outcome.transition import Transition
from jobs.extensions.registry import Extension


class TransitionHooks(Extension):
    """Hooks of an extension that follows jobs, which it stores with `watched`."""

    def observe(self, transitions: Sequence[Transition]) -> None:
        """Follow up on `watched` jobs that ended or were revived, in the transaction of the change.

        Called with the jobs' rows locked. Any error that it raises undoes the end of the jobs, too.
        """

    def retained_jobs(self, job_ids: Sequence[str]) -> set[str]:
        """Return the `watched`, ended jobs that must not be removed yet.

        Called once per batch, in the transaction that removes the other jobs, with their rows
        locked.
        """
        return set()
