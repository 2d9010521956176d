"""Hooks into the enqueue."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from jobs.domain.access.caller import Caller
from jobs.domain.enqueue.draft import JobDraft
from jobs.domain.errors import OJSError
from jobs.extensions.registry import Extension, implementers


class Deduplication(Protocol):
    """Drafts of one request that may have been stored before, in the transaction of the insert."""

    def find_stored(self) -> Mapping[int, str]:
        """Return the ids of the jobs that drafts have become before, by position.

        It may be the id of another draft of the request. Locks: rows that keep other transactions
        from storing the drafts until the end of this one, in one order for all; only a schedule is
        locked before.
        """

    def record(self, stored: Mapping[int, str | None]) -> None:
        """Store the results of new drafts: a job, or None if it was refused."""


class EnqueueHooks(Extension):
    """Hooks that change, refuse, count and deduplicate drafts, in the order of their calls.

    `config_version` is the configuration version that the insert names. If the configuration
    changes before the insert, the server repeats the enqueue from `refusals` on.
    """

    def prepare(self, draft: JobDraft, caller: Caller) -> JobDraft | None:
        """Change, drop (None) or refuse (raise) one draft.

        It runs outside any transaction, without SQL except for values that are new to this process.
        """
        return draft

    def dedupe(self, drafts: Sequence[JobDraft], caller: Caller) -> Deduplication | None:
        """Return an object that finds drafts stored before; None: there can be none.

        Without SQL. Raises OJSError.
        """
        return None

    def refusals(
        self, drafts: Sequence[JobDraft], caller: Caller, config_version: int
    ) -> Mapping[int, OJSError]:
        """Return the refusals of drafts by position, and set the `warnings` of other drafts.

        Called before each insert, outside any transaction of its own, and for drafts that are
        enqueued later. Runs a statement only for values that are new to this process.
        """
        return {}

    def assign_version_keys(self, drafts: Sequence[JobDraft], config_version: int) -> None:
        """Set the version keys of drafts that are just being stored.

        Called before each insert, after `refusals`. A repeated insert calls it again, so set the
        same version key where it still holds. Runs a statement only for values that are new to this
        process.
        """

    def needs_admission(
        self, drafts: Sequence[JobDraft], caller: Caller, config_version: int
    ) -> bool:
        """Return whether `admit` must run for drafts; false keeps the enqueue at one statement.

        Use configuration of this version or a later one; then a change applies from its commit on.
        """
        return False

    def lock_admission(self, drafts: Sequence[JobDraft]) -> None:
        """Take the locks of `admit` for all of a request whose parts are admitted one by one."""

    def admit(self, drafts: Sequence[JobDraft], caller: Caller) -> None:
        """Lock, count and refuse (raise), once per request, in the transaction of the insert."""

    def enqueue_refused(self, problem: OJSError, caller: Caller) -> None:
        """Report a refusal of an enqueue, whose insert has rolled back."""


def refusals(
    drafts: Sequence[JobDraft], caller: Caller, config_version: int
) -> dict[int, OJSError]:
    """Return the refusals of drafts by position; the first extension that refuses decides."""
    found: dict[int, OJSError] = {}
    for extension in implementers(EnqueueHooks.refusals):
        found = {**extension.refusals(drafts, caller, config_version), **found}
    return found


def report_refusal(problem: OJSError, caller: Caller) -> None:
    """Report a refused enqueue to the extensions, after the rollback."""
    for extension in implementers(EnqueueHooks.enqueue_refused):
        extension.enqueue_refused(problem, caller)
