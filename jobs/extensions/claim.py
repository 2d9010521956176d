"""Hooks into the claim, and into the declarations of workers that it uses."""

from collections.abc import Collection, Sequence

from jobs.domain.dispatch.claim import ClaimPlan, Declaration, FetchRequest
from jobs.domain.job import Job
from jobs.extensions.registry import Extension, implementers


class ClaimHooks(Extension):
    """Hooks that decide which jobs a worker gets."""

    def read_declaration(self, handlers: Sequence[object], *, is_exclusive: bool) -> Declaration:
        """Return the worker's declaration of its handlers, as it is stored. Raises OJSError.

        It comes back in `FetchRequest.declaration`; the first extension that has the hook decides.
        """
        raise NotImplementedError

    def check_worker(self, worker_id: str, pool: str | None) -> None:
        """Refuse a worker that registers and must not work here. Raises OJSError.

        `pool` is the pool that it names with this report. No statement unless the settings require
        one.
        """

    def tenant_exists(self, tenant: str) -> bool:
        """Return whether a tenant exists: a FETCH may name `tenant:queue`."""
        return False

    def plan_claim(self, plan: ClaimPlan, request: FetchRequest) -> ClaimPlan:
        """Reorder or narrow a claim; data only, from the extension's own cache.

        A request that names no queues takes the queues of the plan.
        """
        return plan

    def reject_claimed(self, jobs: Sequence[Job], request: FetchRequest) -> Collection[str]:
        """Return the ids of claimed jobs that this worker must not get.

        For conditions that a plan cannot express. The server returns these jobs to their lanes
        uncounted. A claim without other jobs is planned again, so make sure that it does not claim
        them again.
        """
        return ()


def read_declaration(handlers: Sequence[object], *, is_exclusive: bool) -> Declaration | None:
    """Return a worker's declaration; None: no extension reads it. Raises OJSError."""
    for extension in implementers(ClaimHooks.read_declaration):
        return extension.read_declaration(handlers, is_exclusive=is_exclusive)
    return None
