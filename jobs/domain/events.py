"""The event vocabulary and the numbers that stand for it in the database. Spec: contract 12.4."""

from enum import IntEnum
from typing import Final


class Kind(IntEnum):
    """Storage code of an event; codes from 100 are bookkeeping and never shown."""

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
    QUEUE_PAUSED = 20
    QUEUE_RESUMED = 21
    WORKER_STARTED = 30
    WORKER_QUIET = 31
    WORKER_STOPPED = 32
    MOVED = 100  # a change of state without an event of its own
    REMOVED = 101  # a finished job was deleted


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
    Kind.QUEUE_PAUSED: "queue.paused",
    Kind.QUEUE_RESUMED: "queue.resumed",
    Kind.WORKER_STARTED: "worker.started",
    Kind.WORKER_QUIET: "worker.quiet",
    Kind.WORKER_STOPPED: "worker.stopped",
}
KINDS: Final = {name: kind for kind, name in NAMES.items()}

# Histogram measures and their upper bounds in seconds. Spec: contract 32.3.
WAIT, RUN_COMPLETED, RUN_FAILED = 0, 1, 2
WAIT_BOUNDS: Final = (0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 600, 1800, 3600)
RUN_BOUNDS: Final = (
    0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300,
)  # fmt: skip
