"""Endpoints under /ojs/v1/queues. Spec: contract 3.5, 10."""

from collections.abc import Mapping
from typing import Any

from rest_framework.request import Request

from jobs.api.base import OJSView
from jobs.api.openapi import operation
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
    maybe,
    obj,
)
from jobs.api.schemas.queues import CHANGE, CONFIG_CHANGE
from jobs.api.wire import members
from jobs.api.wire.answer import Answer
from jobs.api.wire.paging import QUERY, page
from jobs.domain.errors import InvalidRequest, NotFound
from jobs.domain.states import State
from jobs.domain.wire.names import QUEUE_PATTERN
from jobs.domain.wire.times import format_time
from jobs.models import Queue
from jobs.services.audit.audit import record
from jobs.services.lanes.queue_config import create
from jobs.services.operate.queue_removal import STRATEGIES, delete_by
from jobs.services.operate.queues import (
    LOOKED,
    MOST,
    QueueStats,
    pause,
    priorities,
    queues,
    resume,
    stats,
)

BESIDE = ("concurrency", "max_size")  # may stand beside `name` instead of in `config`
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
            "max_depth": maybe(integer(1)),
            "total": integer(0),
            "completed_last_hour": integer(0),
            "failed_last_hour": integer(0),
            "avg_duration_ms": NUMBER,
            "avg_wait_ms": NUMBER,
            "throughput_per_second": NUMBER,
        },
        {"size_bytes": integer(0), "max_size_bytes": integer(1)},
    ),
    "computed_at": TIME,
}
MOVE: Schema = {"type": "string", "enum": ["move"]}
DELETION: Schema = {
    "description": "reject: only if all jobs have ended; discard: waiting jobs are cancelled",
    "anyOf": [
        obj({}, {"strategy": maybe({"type": "string", "enum": list(STRATEGIES[:2])})}),
        obj({"strategy": MOVE, "target_queue": QUEUE}),
    ],
}
IN_QUERY: Schema = {
    "strategy": {
        "description": "As in the body; move needs target_queue beside it",
        "type": "string", "enum": list(STRATEGIES[:2]),
    },
    "target_queue": {"description": "Where the jobs go that are moved", **QUEUE},
}  # fmt: skip
REMOVED = obj(
    {
        "name": QUEUE, "queue": QUEUE, "deleted": BOOLEAN,
        "state": {"type": "string", "enum": ["deleted", "draining"]}, "jobs_affected": integer(0),
    }
)  # fmt: skip
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
    size = {"size_bytes": numbers.size_bytes, "max_size_bytes": numbers.max_size_bytes}
    return {
        "queue": {**facts, **counts, "depth": depth},
        **facts,
        **counts,
        "stats": {
            "queue": numbers.name,
            **counts,
            "dead": counts["discarded"],
            "depth": depth,
            "max_depth": numbers.max_depth,
            "total": sum(counts.values()),
            "completed_last_hour": numbers.completed_last_hour,
            "failed_last_hour": numbers.failed_last_hour,
            "avg_duration_ms": numbers.avg_duration_ms,
            "avg_wait_ms": numbers.avg_wait_ms,
            "throughput_per_second": round(numbers.completed_last_hour / 3600, 4),
            **(size if numbers.size_bytes is not None else {}),
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


def encode_config(name: str, config: Mapping[str, Any]) -> dict[str, Any]:
    """Encode the configuration of a queue under both of its names."""
    bound = (config.get("backpressure") or {}).get("max_depth")
    shown = dict(config) if bound is None else {**config, "max_size": bound}
    return {"name": name, "queue": name, "config": shown, "configuration": shown}


def decode_new(body: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """Return the name and the configuration of a new queue."""
    name = members.queue_name("name", body.get("name"))
    config = body.get("config")
    if config is None:
        config = {}
    if not isinstance(config, Mapping):
        raise InvalidRequest.field("config", "must be an object", config)
    return name, {**{key: body[key] for key in BESIDE if key in body}, **config}


def checked_name(name: str) -> str:
    """Return a name that may be a queue's. Raises NotFound."""
    if not QUEUE_PATTERN.fullmatch(name):
        raise NotFound.of("queue", name)
    return name


class QueueCollection(OJSView):
    """List and make queues."""

    @operation("listQueues", {200: QUEUE_LIST}, query=QUERY)
    def get(self, request: Request) -> Answer:
        """List queues by name; a key bound to a tenant sees the queues with the tenant's jobs."""
        window, tenant = page(request), self.principal.tenant
        found, total = queues(limit=window.limit, offset=window.offset, tenant=tenant)
        return Answer(
            {"queues": [encode_queue(queue) for queue in found], "pagination": window.answer(total)}
        )

    @operation(
        "createQueue",
        {
            201: obj(
                {
                    **FACTS,
                    "queue": QUEUE,
                    "state": STATUS,
                    "config": OBJECT,
                    "configuration": OBJECT,
                    "created_at": TIME,
                }
            )
        },
        body=obj(
            {"name": QUEUE},
            {"config": maybe(CONFIG_CHANGE), **{name: CHANGE[name] for name in BESIDE}},
        ),
        refusals=(409,),
    )
    def post(self, request: Request) -> Answer:
        """Make a queue before its first job."""
        name, config = decode_new(self.body())
        self.principal.require_queues("configure", [name])
        queue = create(name, config, self.caller)
        facts = encode_queue(queue)
        return Answer(
            {**encode_config(name, queue.config), **facts, "state": facts["status"]}, status=201
        )


class QueueDetail(OJSView):
    """One queue."""

    @operation(
        "getQueue", {200: obj({**STATS, "state": STATUS, "created_at": TIME})}, refusals=(404,)
    )
    def get(self, request: Request, name: str) -> Answer:
        """Show a queue with its numbers; a key bound to a tenant sees those of its jobs."""
        numbers = stats(checked_name(name), self.principal.tenant)
        shown = encode_stats(numbers)
        return Answer(
            {**shown, "state": shown["status"], "created_at": format_time(numbers.created_at)}
        )

    @operation(
        "deleteQueue",
        {200: REMOVED, 202: REMOVED},
        body=DELETION,
        needs_body=False,
        query=IN_QUERY,
        refusals=(404, 409),
    )
    def delete(self, request: Request, name: str) -> Answer:
        """Delete a queue.

        202: it is drained first. It takes no new jobs, waiting jobs are cancelled or moved, and
        active jobs end.
        """
        self.principal.require_queues("delete jobs", [name])
        body = self.optional_body()
        strategy = body.get("strategy", request.query_params.get("strategy"))
        if strategy is None:
            strategy = "reject"
        if strategy not in STRATEGIES:
            raise InvalidRequest.field(
                "strategy", "must be one of " + ", ".join(STRATEGIES), strategy
            )
        target = body.get("target_queue", request.query_params.get("target_queue"))
        if target is not None:
            target = members.queue_name("target_queue", target)
        gone = delete_by(self.caller, checked_name(name), strategy, target)
        facts: dict[str, Any] = {"strategy": strategy, "jobs_affected": gone.jobs_affected}
        if strategy == "move":
            facts["target_queue"] = target
        record(self.caller, "queue.deleted", name, data=facts)
        return Answer(
            {
                "name": name,
                "queue": name,
                "deleted": not gone.is_draining,
                "state": "draining" if gone.is_draining else "deleted",
                "jobs_affected": gone.jobs_affected,
            },
            status=202 if gone.is_draining else 200,
        )


class QueueStatistics(OJSView):
    """Numbers of one queue."""

    @operation("getQueueStats", {200: QUEUE_STATS}, refusals=(404,))
    def get(self, request: Request, name: str) -> Answer:
        """Show the numbers of a queue; a key bound to a tenant sees those of its jobs alone."""
        return Answer(encode_stats(stats(checked_name(name), self.principal.tenant)))


class QueuePriorities(OJSView):
    """Available jobs by priority."""

    @operation(
        "getQueuePriorities",
        {
            200: obj(
                {
                    "queue": QUEUE,
                    "distribution": array(obj({"priority": integer(), "count": integer(0)})),
                    "counts_by_priority": {
                        "type": "object",
                        "additionalProperties": integer(0),
                    },
                    "total": integer(0),
                },
                {"total_is_estimate": BOOLEAN},
            )
        },
        refusals=(404,),
    )
    def get(self, request: Request, name: str) -> Answer:
        """Count the available jobs of a queue by priority, highest first.

        At most 10,000 are counted per priority and tenant, and 100,000 in all.
        """
        counts = priorities(checked_name(name), self.principal.tenant)
        total = sum(counts.values())
        is_estimate = total >= LOOKED or any(number >= MOST for number in counts.values())
        shown: dict[str, Any] = {
            "queue": name,
            "distribution": [{"priority": p, "count": n} for p, n in counts.items()],
            "counts_by_priority": {str(p): n for p, n in counts.items()},
            "total": total,
        }
        return Answer(shown | ({"total_is_estimate": True} if is_estimate else {}))


class QueuePause(OJSView):
    """Pause a queue."""

    @operation(
        "pauseQueue", {200: obj({**STATS, "paused_at": TIME})}, body=OBJECT, needs_body=False
    )
    def post(self, request: Request, name: str) -> Answer:
        """Stop handing out a queue's jobs; idempotent, makes an unknown queue."""
        self.optional_body()
        self.principal.require_queues("pause", [name])
        numbers, at = pause(members.queue_name("name", name), self.caller)
        return Answer({**encode_stats(numbers), "paused_at": format_time(at)})


class QueueResume(OJSView):
    """Resume a queue."""

    @operation(
        "resumeQueue", {200: obj({**STATS, "resumed_at": TIME})}, body=OBJECT, needs_body=False
    )
    def post(self, request: Request, name: str) -> Answer:
        """Hand out a queue's jobs again; idempotent, makes an unknown queue."""
        self.optional_body()
        self.principal.require_queues("resume", [name])
        numbers, at = resume(members.queue_name("name", name), self.caller)
        return Answer({**encode_stats(numbers), "resumed_at": format_time(at)})
