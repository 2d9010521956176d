"""Endpoints under /ojs/v1/queues. Spec: contract 3.5, 10."""

from typing import Any

from rest_framework.request import Request

from jobs.api import codec
from jobs.api.answer import Answer
from jobs.api.base import OJSView
from jobs.api.openapi import operation
from jobs.api.paging import QUERY, page
from jobs.api.schemas import (
    BOOLEAN,
    NUMBER,
    OBJECT,
    PAGINATION,
    QUEUE,
    TIME,
    Schema,
    array,
    component,
    integer,
    obj,
)
from jobs.domain.envelope import QUEUE_PATTERN
from jobs.domain.errors import NotFound
from jobs.domain.states import State
from jobs.domain.times import format_time
from jobs.models import Queue
from jobs.services.queues import QueueStats, pause, queues, resume, stats

WAITING = (State.AVAILABLE, State.SCHEDULED, State.PENDING, State.RETRYABLE)

STATUS: Schema = {"type": "string", "enum": ["active", "paused"]}
FACTS: Schema = {"name": QUEUE, "status": STATUS, "paused": BOOLEAN}
COUNTS: Schema = {state.value: integer(0) for state in State}
STATS: Schema = {
    "queue": obj({**FACTS, **COUNTS, "depth": integer(0)}),
    **FACTS,
    **COUNTS,
    "stats": obj(
        {
            "queue": QUEUE,
            **COUNTS,
            "dead": integer(0),
            "depth": integer(0),
            "total": integer(0),
            "completed_last_hour": integer(0),
            "failed_last_hour": integer(0),
            "avg_duration_ms": NUMBER,
            "avg_wait_ms": NUMBER,
            "throughput_per_second": NUMBER,
        }
    ),
    "computed_at": TIME,
}
QUEUE_STATS = component("QueueStats", obj(STATS))
QUEUE_LIST = obj(
    {"queues": array(component("Queue", obj({**FACTS, "created_at": TIME}))),
     "pagination": PAGINATION}
)  # fmt: skip


def encode_stats(numbers: QueueStats) -> dict[str, Any]:
    """Encode the object that stats, pause and resume share. Spec: D18."""
    counts = {state.value: numbers.jobs.get(state, 0) for state in State}
    facts: dict[str, Any] = {
        "name": numbers.name,
        "status": "paused" if numbers.paused_at else "active",
        "paused": numbers.paused_at is not None,
    }
    depth = sum(numbers.jobs.get(state, 0) for state in WAITING)
    return {
        "queue": {**facts, **counts, "depth": depth},
        **facts,
        **counts,
        "stats": {
            "queue": numbers.name,
            **counts,
            "dead": counts["discarded"],
            "depth": depth,
            "total": sum(counts.values()),
            "completed_last_hour": numbers.completed_last_hour,
            "failed_last_hour": numbers.failed_last_hour,
            "avg_duration_ms": numbers.avg_duration_ms,
            "avg_wait_ms": numbers.avg_wait_ms,
            "throughput_per_second": round(numbers.completed_last_hour / 3600, 4),
        },
        "computed_at": format_time(numbers.computed_at),
    }


def encode_queue(queue: Queue) -> dict[str, Any]:
    """Encode a list item."""
    return {
        "name": queue.name,
        "status": "paused" if queue.paused_at else "active",
        "paused": queue.paused_at is not None,
        "created_at": format_time(queue.created_at),
    }


def known_name(name: str) -> str:
    """Return a name that may be a queue's. Raises NotFound."""
    if not QUEUE_PATTERN.fullmatch(name):
        raise NotFound.of("queue", name)
    return name


class QueueCollection(OJSView):
    """List queues."""

    scopes = {"GET": "ojs:data:read"}

    @operation("listQueues", {200: QUEUE_LIST}, query=QUERY)
    def get(self, request: Request) -> Answer:
        """List queues by name."""
        window = page(request)
        found, total = queues(limit=window.limit, offset=window.offset)
        return Answer(
            {"queues": [encode_queue(queue) for queue in found], "pagination": window.answer(total)}
        )


class QueueDetail(OJSView):
    """One queue."""

    scopes = {"GET": "ojs:data:read"}

    @operation(
        "getQueue", {200: obj({**STATS, "state": STATUS, "created_at": TIME})}, refusals=(404,)
    )
    def get(self, request: Request, name: str) -> Answer:
        """Show a queue with its numbers."""
        numbers = stats(known_name(name))
        shown = encode_stats(numbers)
        return Answer(
            {**shown, "state": shown["status"], "created_at": format_time(numbers.created_at)}
        )


class QueueStatistics(OJSView):
    """Numbers of one queue."""

    scopes = {"GET": "ojs:data:read"}

    @operation("getQueueStats", {200: QUEUE_STATS}, refusals=(404,))
    def get(self, request: Request, name: str) -> Answer:
        """Show the numbers of a queue."""
        return Answer(encode_stats(stats(known_name(name))))


class QueuePause(OJSView):
    """Pause a queue."""

    scopes = {"POST": "ojs:data:cancel"}
    is_global = True

    @operation(
        "pauseQueue", {200: obj({**STATS, "paused_at": TIME})}, body=OBJECT, needs_body=False
    )
    def post(self, request: Request, name: str) -> Answer:
        """Stop handing out a queue's jobs; idempotent, makes an unknown queue."""
        self.optional_body()
        numbers, at = pause(codec.queue_name("name", name), self.principal.name)
        return Answer({**encode_stats(numbers), "paused_at": format_time(at)})


class QueueResume(OJSView):
    """Resume a queue."""

    scopes = {"POST": "ojs:data:cancel"}
    is_global = True

    @operation(
        "resumeQueue", {200: obj({**STATS, "resumed_at": TIME})}, body=OBJECT, needs_body=False
    )
    def post(self, request: Request, name: str) -> Answer:
        """Hand out a queue's jobs again; idempotent, makes an unknown queue."""
        self.optional_body()
        numbers, at = resume(codec.queue_name("name", name), self.principal.name)
        return Answer({**encode_stats(numbers), "resumed_at": format_time(at)})
