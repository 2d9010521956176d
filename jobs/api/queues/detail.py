"""Encode a queue in full, for operators. Spec: contract 24.2."""

from collections.abc import Sequence
from typing import Any

from jobs.api.queues.queues import COUNTS, STATUS, encode_config
from jobs.api.schemas import (
    BOOLEAN,
    NUMBER,
    OBJECT,
    QUEUE,
    TIME,
    array,
    component,
    integer,
    maybe,
    obj,
)
from jobs.domain.errors import NotFound
from jobs.domain.lanes.queues import policy_of
from jobs.domain.record.objective import Window
from jobs.domain.states import State
from jobs.domain.wire.times import format_time
from jobs.services.operate.queues import QueueStats, named_stats, oldest_available
from jobs.services.record.objectives import Judged, judged
from jobs.services.record.rates import Latency, Rates, latencies_of, rates_of

SUMMARY = {
    "name": QUEUE,
    "state": STATUS,
    "status": STATUS,
    "paused": BOOLEAN,
    "counts": obj(COUNTS),
    "depth": integer(0),
    "throughput": obj(dict.fromkeys(("processed_per_minute", "failed_per_minute"), NUMBER)),
    "latency_ms": obj(dict.fromkeys(("p50", "p95", "p99"), NUMBER)),
    "created_at": TIME,
}
PAUSED_AT = {"paused_at": TIME}
QUEUE_SUMMARY = component("QueueSummary", obj(SUMMARY, PAUSED_AT))
WINDOW = obj(
    {
        "window_s": integer(1), "started": integer(0), "late": integer(0),
        "attainment": maybe(NUMBER), "burn_rate": maybe(NUMBER),
    }
)  # fmt: skip
OBJECTIVE = component(
    "QueueObjective",
    {
        "description": "How the queue meets its objective; null: without starts in the window",
        **obj(
            {
                "start_within_ms": integer(1), "percent": NUMBER, "budget_left": maybe(NUMBER),
                "windows": array(WINDOW),
            }
        ),
    },
)  # fmt: skip
OF_DETAIL = {**SUMMARY, "configuration": OBJECT, "oldest_available_at": maybe(TIME)}
DETAIL = component("QueueDetail", obj(OF_DETAIL, PAUSED_AT | {"objective": OBJECTIVE}))


def encode_queues(
    found: Sequence[QueueStats], *, tenant: str | None = None
) -> list[dict[str, Any]]:
    """Encode queues with their rates; latencies are not stored by tenant."""
    names = [queue.name for queue in found]
    rates = rates_of(names, tenant) if names else {}
    latencies = latencies_of(names) if names and tenant is None else {}
    return [
        _encode(queue, rates.get(queue.name, Rates()), latencies.get(queue.name, Latency()))
        for queue in found
    ]


def _encode(queue: QueueStats, rates: Rates, latency: Latency) -> dict[str, Any]:
    status = "paused" if queue.paused_at else "active"
    shown: dict[str, Any] = {
        "name": queue.name,
        "state": status,
        "status": status,
        "paused": queue.paused_at is not None,
        "counts": {state.value: queue.jobs.get(state, 0) for state in State},
        "depth": queue.depth,
        "throughput": {
            "processed_per_minute": rates.completed,
            "failed_per_minute": rates.failed,
        },
        "latency_ms": {"p50": latency.p50, "p95": latency.p95, "p99": latency.p99},
        "created_at": format_time(queue.created_at),
    }
    if queue.paused_at:
        shown["paused_at"] = format_time(queue.paused_at)
    return shown


def _pressure(queue: QueueStats) -> dict[str, Any]:
    """Encode a bound and its use. Spec: contract 24.2, QueueDetail."""
    bound = policy_of(queue.config).bound
    if bound is None:
        return {}
    ratio = bound.tightest(queue.depth, queue.size_bytes or 0).ratio
    state = "normal" if ratio < bound.warning_threshold else "warning"
    shown = {
        "enabled": True,
        "strategy": bound.strategy,
        "threshold": bound.warning_threshold,
        "current_depth": queue.depth,
        "state": "critical" if ratio >= 1 else state,
    }
    if bound.max_size_bytes is not None:
        shown["current_size_bytes"] = queue.size_bytes
    return {"backpressure": {**queue.config["backpressure"], **shown}}


def _objective(found: Judged) -> dict[str, Any]:
    return {
        "start_within_ms": found.objective.start_within_ms,
        "percent": found.objective.percent,
        "budget_left": _rounded(found.budget_left),
        "windows": [_window(one, found) for one in found.windows],
    }


def _window(window: Window, found: Judged) -> dict[str, Any]:
    return {
        "window_s": window.window_s,
        "started": window.started,
        "late": window.late,
        "attainment": _rounded(window.attainment),
        "burn_rate": _rounded(window.burn_rate(found.objective)),
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 6)


def queue_detail(name: str, tenant: str | None) -> dict[str, Any]:
    """Build the QueueDetail of contract 24.2. Raises NotFound."""
    found, _ = named_stats(tenant=tenant, names=[name], limit=1, offset=0)
    if not found:
        raise NotFound.of("queue", name)
    oldest = oldest_available(name, tenant)
    configuration = encode_config(name, found[0].config)["configuration"]
    if tenant is None:  # a tenant sees its own jobs alone, and the bound covers all jobs
        configuration |= _pressure(found[0])
    judgement = None if tenant else judged(name, found[0].config)  # it covers all tenants' jobs
    return {
        **({"objective": _objective(judgement)} if judgement else {}),
        **encode_queues(found, tenant=tenant)[0],
        "configuration": configuration,
        "oldest_available_at": oldest and format_time(oldest),
    }
