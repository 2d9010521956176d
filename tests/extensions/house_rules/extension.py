"""Hooks of the app: cost centres of payments, and one job at a time for trial workers."""

from dataclasses import replace

from typing_extensions import override

from jobs.domain.access.caller import Caller
from jobs.domain.dispatch.claim import ClaimPlan, FetchRequest
from jobs.domain.enqueue.draft import JobDraft
from jobs.domain.errors import InvalidRequest
from jobs.extensions import ClaimHooks, EnqueueHooks


class HouseRules(EnqueueHooks, ClaimHooks):
    """The rules of this company."""

    @override
    def prepare(self, draft: JobDraft, caller: Caller) -> JobDraft:
        """Refuse a payment without a cost centre."""
        if draft.queue == "payments" and "cost_centre" not in draft.meta:
            raise InvalidRequest.field("meta.cost_centre", "is required in the queue 'payments'")
        return draft

    @override
    def plan_claim(self, plan: ClaimPlan, request: FetchRequest) -> ClaimPlan:
        """Give a worker on trial one job per FETCH."""
        is_on_trial = request.worker_id is not None and request.worker_id.startswith("trial-")
        return replace(plan, limit=min(plan.limit, 1)) if is_on_trial else plan
