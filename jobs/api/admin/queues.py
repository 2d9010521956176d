"""The queues endpoints for operators. Spec: contract 24.1, 24.2."""

from rest_framework.request import Request

from jobs.api.base import OJSView
from jobs.api.may_lag import may_lag
from jobs.api.openapi import operation
from jobs.api.queues.detail import DETAIL, QUEUE_SUMMARY, SUMMARY, encode_queues, queue_detail
from jobs.api.queues.queues import checked_name
from jobs.api.schemas import OBJECT, TIME, maybe, obj
from jobs.api.wire import members
from jobs.api.wire.admin import list_of, listed, optional_text
from jobs.api.wire.answer import Answer
from jobs.api.wire.paging import NUMBERED, admin_page
from jobs.services.operate.queues import QueueStats, named_stats, pause, resume

SWITCHED = obj({**SUMMARY, "paused_at": maybe(TIME)})


def visible_queues(tenant: str | None, *, limit: int, offset: int) -> tuple[list[QueueStats], int]:
    """Return queues by name and how many there are; with a tenant, its own numbers."""
    return named_stats(tenant=tenant, limit=limit, offset=offset)


class AdminQueues(OJSView):
    """All queues."""

    @may_lag
    @operation("adminListQueues", {200: list_of(QUEUE_SUMMARY, "queues")}, query=NUMBERED)
    def get(self, request: Request) -> Answer:
        """List queues by name, with counts, throughput and latency."""
        window, tenant = admin_page(request), self.principal.tenant
        found, total = visible_queues(tenant, limit=window.limit, offset=window.offset)
        return Answer(listed(encode_queues(found, tenant=tenant), total, window, "queues"))


class AdminQueue(OJSView):
    """One queue."""

    @operation("adminGetQueue", {200: DETAIL}, refusals=(404,))
    def get(self, request: Request, name: str) -> Answer:
        """Show a queue, its configuration and since when its oldest available job waits."""
        return Answer(queue_detail(checked_name(name), self.principal.tenant))


class SwitchView(OJSView):
    """Pauses or resumes a queue."""

    def switched(self, name: str, *, paused: bool) -> Answer:
        """Switch a queue and show it."""
        reason = optional_text(self.optional_body(), "reason")
        queue = members.queue_name("name", name)
        self.principal.require_queues("pause or resume", [queue])
        switch = pause if paused else resume
        numbers, _ = switch(queue, self.caller, reason)
        shown = encode_queues([numbers])[0]
        return Answer({**shown, "paused_at": shown.get("paused_at")})


class AdminQueuePause(SwitchView):
    """Pause a queue."""

    @operation("adminPauseQueue", {200: SWITCHED}, body=OBJECT, needs_body=False)
    def post(self, request: Request, name: str) -> Answer:
        """Stop handing out a queue's jobs; idempotent, makes an unknown queue."""
        return self.switched(name, paused=True)


class AdminQueueResume(SwitchView):
    """Resume a queue."""

    @operation("adminResumeQueue", {200: SWITCHED}, body=OBJECT, needs_body=False)
    def post(self, request: Request, name: str) -> Answer:
        """Hand out a queue's jobs again; idempotent, makes an unknown queue."""
        return self.switched(name, paused=False)
