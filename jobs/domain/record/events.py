"""Event names and their storage codes. Spec: contract 12.4."""

from collections.abc import Iterable
from enum import IntEnum, unique
from typing import Final


@unique
class Kind(IntEnum):
    """Storage code of an event; codes 100 to 109 are for bookkeeping and are never shown.

    RETRY_EXHAUSTED and DEAD_LETTERED are never stored: they follow from a stored DISCARDED, and
    `sql/record/events.sql` makes them when events are read.
    """

    ENQUEUED = 1
    SCHEDULED = 2
    STARTED = 3
    COMPLETED = 4
    FAILED = 5
    RETRYING = 6
    DISCARDED = 7
    EXPIRED = 8
    CANCELLED = 9
    HEARTBEAT = 10
    PROGRESS = 11
    RETRY_EXHAUSTED = 12
    DEAD_LETTERED = 13
    CHECKPOINTED = 14
    QUEUE_PAUSED = 20
    QUEUE_RESUMED = 21
    WORKER_STARTED = 30
    WORKER_QUIET = 31
    WORKER_STOPPED = 32
    CRON_TRIGGERED = 40
    CRON_SKIPPED = 41
    WORKER_HEARTBEAT = 33
    WEBHOOK_DELIVERED = 60
    WEBHOOK_FAILED = 61
    WEBHOOK_DEAD = 62
    WEBHOOK_CREATED = 63
    WEBHOOK_DELETED = 64
    WEBHOOK_DISABLED = 65
    DEAD_LETTER_PRUNED = 80
    WORKFLOW_STARTED = 50
    WORKFLOW_STEP_COMPLETED = 51
    WORKFLOW_COMPLETED = 52
    WORKFLOW_FAILED = 53
    WORKFLOW_CANCELLED = 54
    BP_WARNING = 70
    BP_REJECTED = 71
    BP_DROPPED = 72
    BP_CLEARED = 73
    LIMIT_EXCEEDED = 74
    LIMIT_RELEASED = 75
    LIMIT_DROPPED = 76
    LIMIT_ADJUSTED = 77
    PRIORITY_CHANGED = 81
    PROGRESS_STALLED = 82
    PROGRESS_COMPLETED = 83
    MAINTENANCE_STARTED = 84
    MAINTENANCE_ENDED = 85
    QUEUE_STARVED = 90
    POOL_OVERLOADED = 91
    REBALANCED = 92
    TENANT_CREATED = 86
    TENANT_LIMIT_EXCEEDED = 87
    TENANT_THROTTLED = 88
    TENANT_THROTTLE_RELEASED = 89
    VERSION_HELD = 93
    VERSION_ROLLED_BACK = 94
    ROUTING_CHANGED = 95
    FEDERATION_FAILOVER = 110
    REGION_UNHEALTHY = 111
    REGION_HEALTHY = 112
    CIRCUIT_OPENED = 113
    CIRCUIT_CLOSED = 114
    FEDERATION_CONFLICT = 115  # one federation id, jobs in several regions
    ATTENTION_OPENED = 120
    ATTENTION_CLOSED = 121
    ATTENTION_CHANGED = 122  # its severity
    ATTENTION_MUTED = 123
    ATTENTION_UNMUTED = 124
    MOVED = 100  # a change of state without an event of its own
    REMOVED = 101  # a finished job was deleted; without a job: its data has the number
    LEFT_QUEUE = 102  # a waiting job was moved to another queue
    CAME_TO_QUEUE = 103  # the same for the other queue: neither a new job nor a new state
    RESTORED = 104  # an undo gave a job its earlier state back; without `from`: it was deleted


NAMES: Final = {
    Kind.ENQUEUED: "job.enqueued",
    Kind.SCHEDULED: "job.scheduled",
    Kind.STARTED: "job.started",
    Kind.COMPLETED: "job.completed",
    Kind.FAILED: "job.failed",
    Kind.RETRYING: "job.retrying",
    Kind.DISCARDED: "job.discarded",
    Kind.EXPIRED: "job.expired",
    Kind.CANCELLED: "job.cancelled",
    Kind.HEARTBEAT: "job.heartbeat",
    Kind.PROGRESS: "job.progress",
    Kind.RETRY_EXHAUSTED: "job.retry_exhausted",
    Kind.DEAD_LETTERED: "job.dead_lettered",
    Kind.CHECKPOINTED: "job.checkpointed",
    Kind.QUEUE_PAUSED: "queue.paused",
    Kind.QUEUE_RESUMED: "queue.resumed",
    Kind.WORKER_STARTED: "worker.started",
    Kind.WORKER_QUIET: "worker.quiet",
    Kind.WORKER_STOPPED: "worker.stopped",
    Kind.CRON_TRIGGERED: "cron.triggered",
    Kind.CRON_SKIPPED: "cron.skipped",
    Kind.WORKER_HEARTBEAT: "worker.heartbeat",
    Kind.WEBHOOK_DELIVERED: "webhook.delivered",
    Kind.WEBHOOK_FAILED: "webhook.failed",
    Kind.WEBHOOK_DEAD: "webhook.dead",
    Kind.WEBHOOK_CREATED: "webhook.subscription.created",
    Kind.WEBHOOK_DELETED: "webhook.subscription.deleted",
    Kind.WEBHOOK_DISABLED: "webhook.subscription.disabled",
    Kind.DEAD_LETTER_PRUNED: "dead_letter.pruned",
    Kind.WORKFLOW_STARTED: "workflow.started",
    Kind.WORKFLOW_STEP_COMPLETED: "workflow.step_completed",
    Kind.WORKFLOW_COMPLETED: "workflow.completed",
    Kind.WORKFLOW_FAILED: "workflow.failed",
    Kind.WORKFLOW_CANCELLED: "workflow.cancelled",
    Kind.BP_WARNING: "backpressure.warning",
    Kind.BP_REJECTED: "backpressure.rejected",
    Kind.BP_DROPPED: "backpressure.dropped",
    Kind.BP_CLEARED: "backpressure.cleared",
    Kind.LIMIT_EXCEEDED: "rate_limit.exceeded",
    Kind.LIMIT_RELEASED: "rate_limit.released",
    Kind.LIMIT_DROPPED: "rate_limit.dropped",
    Kind.LIMIT_ADJUSTED: "rate_limit.dynamic_adjusted",
    Kind.PRIORITY_CHANGED: "priority.changed",
    Kind.PROGRESS_STALLED: "progress.stalled",
    Kind.PROGRESS_COMPLETED: "progress.completed",
    Kind.MAINTENANCE_STARTED: "system.maintenance_enabled",
    Kind.MAINTENANCE_ENDED: "system.maintenance_disabled",
    Kind.QUEUE_STARVED: "scheduling.queue_starved",
    Kind.POOL_OVERLOADED: "scheduling.pool_overloaded",
    Kind.REBALANCED: "scheduling.rebalanced",
    Kind.TENANT_CREATED: "tenant.created",
    Kind.TENANT_LIMIT_EXCEEDED: "tenant.limit_exceeded",
    Kind.TENANT_THROTTLED: "tenant.throttled",
    Kind.TENANT_THROTTLE_RELEASED: "tenant.throttle_released",
    Kind.VERSION_HELD: "versioning.held",
    Kind.VERSION_ROLLED_BACK: "versioning.rolled_back",
    Kind.ROUTING_CHANGED: "versioning.routing_changed",
    Kind.FEDERATION_FAILOVER: "federation.failover",
    Kind.REGION_UNHEALTHY: "federation.region_unhealthy",
    Kind.REGION_HEALTHY: "federation.region_healthy",
    Kind.CIRCUIT_OPENED: "federation.circuit_opened",
    Kind.CIRCUIT_CLOSED: "federation.circuit_closed",
    Kind.FEDERATION_CONFLICT: "federation.conflict",
    Kind.ATTENTION_OPENED: "attention.opened",
    Kind.ATTENTION_CLOSED: "attention.closed",
    Kind.ATTENTION_CHANGED: "attention.changed",
    Kind.ATTENTION_MUTED: "attention.muted",
    Kind.ATTENTION_UNMUTED: "attention.unmuted",
}
ALSO: Final = {"job.progress": "progress.updated"}  # filters accept this name as well

STATE_CHANGED: Final = "job.state_changed"  # of streams only: it stands for every change of state


def matches(name: str, patterns: Iterable[str]) -> bool:
    """Return whether an event name matches one of `patterns`, which may end in `*`."""
    names = (name, ALSO.get(name, name))
    return any(
        pattern in names
        or (pattern.endswith("*") and any(one.startswith(pattern[:-1]) for one in names))
        for pattern in patterns
    )


# Histogram measures and their upper bounds in seconds. Spec: contract 32.3.
WAIT, RUN_COMPLETED, RUN_FAILED = 0, 1, 2
WAIT_BOUNDS: Final = (0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 600, 1800, 3600)
RUN_BOUNDS: Final = (
    0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300,
)  # fmt: skip
