"""GET /ojs/v1/admin/scheduling/stats. Spec: fair-scheduling 10.2; contract 20.3, D-FS-2."""

from typing import Any

from rest_framework.request import Request

from jobs.api.base import OJSView
from jobs.api.may_lag import may_lag
from jobs.api.openapi import operation
from jobs.api.schemas import (
    BOOLEAN,
    DURATION,
    NUMBER,
    QUEUE,
    SHORT_DURATION,
    Schema,
    array,
    component,
    integer,
    obj,
    text,
)
from jobs.api.wire.admin import plain
from jobs.api.wire.answer import Answer
from jobs.domain.dispatch.claim import MAX_WEIGHT
from jobs.domain.errors import InvalidRequest
from jobs.domain.wire.durations import format_duration, parse_short_duration
from scheduling.api.pool_codec import STRATEGY
from scheduling.services.stats import QueueStats, stats

DEFAULT_MS = 60_000
SHORTEST_MS, LONGEST_MS = 1_000, 86_400_000
RATIO: Schema = {"type": "number", "minimum": 0, "maximum": 1}
LATELY: Schema = {"dispatch_count_1m": integer(0), "dispatch_ratio_1m": RATIO}
OTHERWISE: Schema = {"dispatch_count": integer(0), "dispatch_ratio": RATIO}
QUEUE_STATS = component(
    "SchedulingQueueStats",
    obj(
        {
            "name": QUEUE,
            "dispatched": integer(0),
            "avg_wait_ms": {**NUMBER, "minimum": 0},
            "active_jobs": integer(0),
            "available_jobs": integer(0),
            "weight": integer(1, MAX_WEIGHT),
            "starved": BOOLEAN,
        },
        {**LATELY, **OTHERWISE},
    ),
)
MEMBERS: Schema = {"queues": array(QUEUE_STATS), "window": DURATION}
STATS = component("SchedulingStats", obj({**MEMBERS, "strategy": STRATEGY, "stats": obj(MEMBERS)}))


class SchedulingStats(OJSView):
    """Recent dispatches by queue."""

    @may_lag
    @operation(
        "getSchedulingStats",
        {200: STATS},
        query={
            "pool": text(),
            "window": {
                "description": "From one second to one day; a minute by default",
                "anyOf": [*SHORT_DURATION["anyOf"], {"const": ""}],
            },
        },
        refusals=(404,),
    )
    def get(self, request: Request) -> Answer:
        """Show the jobs that started in the window that ends now, by queue: of one pool, or of all.

        For a pool, started and active jobs are those of its workers. Starts are counted by whole
        seconds, or by whole minutes in windows of more than an hour. The members are named
        `dispatch_count_1m` and `dispatch_ratio_1m` if the window is a minute, otherwise
        `dispatch_count` and `dispatch_ratio`.
        """
        window_ms = _window(request)
        found = stats(window_ms, plain(request, "pool"))
        window = format_duration(window_ms)
        queues = [_encode(one, "_1m" if window_ms == DEFAULT_MS else "") for one in found.queues]
        return Answer(
            {
                "queues": queues,
                "window": window,
                "strategy": found.strategy.wire,
                "stats": {"queues": queues, "window": window},
            }
        )


def _window(request: Request) -> int:
    """Read the window in milliseconds. Raises InvalidRequest."""
    raw = request.query_params.get("window")
    if not raw:
        return DEFAULT_MS
    try:
        window_ms = parse_short_duration(raw)
    except ValueError as problem:
        raise InvalidRequest.field("window", str(problem), raw[:100]) from None
    if not SHORTEST_MS <= window_ms <= LONGEST_MS:
        raise InvalidRequest.field("window", "must be from one second to one day", raw[:100])
    return window_ms


def _encode(found: QueueStats, suffix: str) -> dict[str, Any]:
    return {
        "name": found.name,
        f"dispatch_count{suffix}": found.dispatched,
        f"dispatch_ratio{suffix}": found.ratio,
        "dispatched": found.dispatched,
        "avg_wait_ms": round(found.avg_wait_ms, 1),
        "active_jobs": found.active_jobs,
        "available_jobs": found.available_jobs,
        "weight": found.weight,
        "starved": found.is_starved,
    }
